"""A connection to Ray: one of this machine that ends with the command, or a cluster that is there."""

from __future__ import annotations

import logging
import os
import platform
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from everylabel import __version__
from everylabel.errors import ClusterError, ConfigError
from everylabel.parallel import n_threads

LOCAL, RUNNING = "local", "auto"
NAMESPACE = "everylabel"
OF_MEMORY = "RAY_task_oom_retries", "3"  # times that a task that took too much is run again; Ray's default is for ever
SILENT = ("ray", "ray.data", "ray.serve", "ray.tune", "ray.train")  # loggers: what matters comes as an error


@dataclass(frozen=True)
class Node:
    id: str
    name: str
    cores: int
    gpus: int
    memory: int  # bytes that tasks may ask for


@dataclass(frozen=True)
class Cluster:
    """What there is to work with."""

    nodes: tuple[Node, ...]

    @property
    def cores(self) -> int:
        return sum(node.cores for node in self.nodes)

    @property
    def gpus(self) -> int:
        return sum(node.gpus for node in self.nodes)

    def without(self, nodes: Collection[str]) -> Cluster:
        return Cluster(tuple(node for node in self.nodes if node.id not in nodes))

    def __str__(self) -> str:
        gpus = f", {self.gpus} GPUs" if self.gpus else ""
        memory = sum(node.memory for node in self.nodes) / 1e9
        return f"{len(self.nodes)} nodes, {self.cores} cores{gpus}, {memory:.0f} GB"


def require_ray() -> None:
    if find_spec("ray") is None:
        raise ConfigError("--ray needs Ray: pip install 'everylabel[ray]'")


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """`local`: Ray starts on this machine, and ends with the block. `auto`: the cluster that this machine is a part of.
    Else that of an address, HOST:PORT. A connection that this process has already is taken, and stays."""
    require_ray()
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's coming default, and a warning without it
    os.environ.setdefault(*OF_MEMORY)  # before Ray is loaded, who looks only then
    import ray

    ours = not ray.is_initialized()
    if ours:
        _connect(address)
    try:
        yield cluster()
    finally:
        if ours:
            ray.shutdown()


def cluster() -> Cluster:
    """As it is now; nodes that have gone are left out."""
    import ray

    found = [
        Node(
            node["NodeID"],
            node["NodeManagerHostname"],
            int(node["Resources"].get("CPU", 0)),
            int(node["Resources"].get("GPU", 0)),
            int(node["Resources"].get("memory", 0)),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]
    return Cluster(tuple(sorted(found, key=lambda node: (node.name, node.id))))


def check_version(wanted: str) -> None:
    """In a task: models and jobs are those of one version."""
    if wanted != __version__:
        raise ClusterError(
            f"everylabel {__version__} is installed on {node_name()}, and {wanted} where the command was given; "
            "install the same everywhere"
        )


def on_this_node() -> Any:
    """Where an actor is put that the command depends on: it ends when this node does, and no earlier."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def is_head() -> bool:
    """Is this process on the node that was started first?"""
    import ray

    here = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == here and "node:__internal_head__" in node["Resources"] for node in ray.nodes())


def node_name() -> str:
    return platform.node() or "an unnamed node"


def _connect(address: str) -> None:
    import ray

    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # beside our lines; Ray's log files say more
    options: dict[str, Any] = {"namespace": NAMESPACE, "log_to_driver": False, "logging_level": logging.ERROR}
    retries = OF_MEMORY[0]
    options["runtime_env"] = {"env_vars": {retries: os.environ[retries]}}  # tasks that hand out parts of theirs
    if address == LOCAL:
        options |= {"num_cpus": n_threads(), "include_dashboard": False}
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Ray's own future
            ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        why = " ".join(str(error).split())[:300]
        raise ClusterError(
            f"no connection to Ray at {address!r} ({why}); start it with `ray start --head`, give its HOST:PORT, or "
            "--ray local for this machine alone"
        ) from None
