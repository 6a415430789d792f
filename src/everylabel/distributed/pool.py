"""The pool of actors that tag files, by Ray Data: one file at a time each, a row of what became of it.

An actor has one core and maps the model. The pool grows when nodes join. What is wrong with a file is a part of its
row: the others go on. What a node is to blame for says so in the row, so that the file is given to others (tag.py).
After the files come rows without one: who gets them has nothing to do, and helps with what takes long elsewhere.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from everylabel import __version__
from everylabel.data.formats.layout import Layout
from everylabel.data.formats.rows import OnBadRow
from everylabel.distributed.begun import Begun
from everylabel.distributed.carry import Carried
from everylabel.distributed.cluster import Cluster, check_version, node_name, on_this_node
from everylabel.distributed.errors import NodeError, said_where, told_here
from everylabel.distributed.progress import Far
from everylabel.distributed.shards import Shard, readable, writable
from everylabel.errors import ClusterError, EverylabelError
from everylabel.run import Run
from everylabel.store import load
from everylabel.workflow.tag import suggest
from everylabel.workflow.tag_file import TaggedFile, tag_file

TRIED = 5  # times that a file is begun again after its actor was killed
HELPS = 4  # a core: rows without a file
EVERY = 0.5  # seconds until somebody without work asks again
NODE = "ray.io/node-id"  # a label that Ray gives each node


@dataclass(frozen=True)
class Asked:
    """How files are read and tagged. `options`: of `workflow.tag.suggest`."""

    options: Mapping[str, Any] = field(default_factory=dict)
    on_bad_row: OnBadRow = "error"
    layout: Layout = field(default_factory=Layout)


class Row(NamedTuple):
    """What became of a file. `node`: who is to blame, if it is not the file."""

    name: str
    n_docs: int = 0
    n_bad: int = 0
    error: str = ""
    code: int = 0
    node: str = ""


class _Tagging:
    """An actor of the pool."""

    def __init__(
        self, model: Carried, asked: Asked, output: str, begun: Any, reporter: Far | None, version: str
    ) -> None:
        import ray

        self._node = ray.get_runtime_context().get_node_id()
        self._asked, self._output, self._begun = asked, output, begun
        self._run = Run(reporter=reporter)
        self._broken: EverylabelError | None = None
        try:
            with said_where():
                check_version(version)
                self._suggest = partial(suggest, load(model.folder()), **asked.options)
        except EverylabelError as error:  # Ray would call it an actor that died
            self._broken = error

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        if self._broken is not None and not isinstance(self._broken, NodeError):
            raise self._broken  # of all files
        helping = not row["source"]
        shard = self._slow_one() if helping else Shard(row["source"], row["name"])
        return self._row_of(shard, helping)._asdict()

    def _row_of(self, shard: Shard, helping: bool) -> Row:
        import ray

        n_killed = 0 if helping else ray.get(self._begun.begin.remote(shard, self._node)) - 1
        try:
            done = self._tagged(shard, n_killed)
        except NodeError as error:
            self._broken = error  # other files would end so, too
            return Row(shard.name, error=str(error), code=error.exit_code, node=self._node)
        except EverylabelError as error:
            return Row(shard.name, error=str(error), code=error.exit_code)
        except Exception as error:  # of a library for addresses, and the like
            logging.getLogger(__name__).exception(shard.source)
            said = f"{shard.source}: {type(error).__name__}: {error} (on node {node_name()})"
            return Row(shard.name, error=said, code=EverylabelError.exit_code, node=self._node)
        return Row(shard.name, done.n_docs, done.n_bad)

    def _tagged(self, shard: Shard, n_killed: int) -> TaggedFile:
        if self._broken is not None:
            raise self._broken
        asked = self._asked
        with said_where():
            if n_killed > TRIED:  # Ray itself would go on for ever
                raise ClusterError(
                    f"{shard.source}: who tags it is killed each time, {n_killed} times so far: is it large?"
                )
            with readable(shard.source) as source, writable(self._output, shard.name) as target:
                return tag_file(
                    source, target, self._suggest, on_bad_row=asked.on_bad_row, run=self._run, **asked.layout
                )

    def _slow_one(self) -> Shard:
        """Waits until there is one; whoever has all results ends that."""
        import ray

        while (found := ray.get(self._begun.slow.remote(self._node))) is None:
            time.sleep(EVERY)
        return Shard(*found)


def rows(
    shards: Sequence[Shard],
    model: Carried,
    asked: Asked,
    output: str,
    reporter: Far | None,
    there: Cluster,
    without: Collection[str] = (),
) -> Iterator[Row]:
    """One a file, as soon as it is done. `without`: nodes that are given none."""
    os.environ.setdefault("RAY_DATA_LOG_LEVEL", "CRITICAL")  # the display is ours
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # where it has been imported before
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = False
    context.autoscaling_config.actor_pool_util_upscaling_threshold = 1.0  # all at work: an actor more, if there is room
    begun = ray.remote(num_cpus=0, scheduling_strategy=on_this_node())(Begun).remote(shards)
    n_actors = max(1, min(there.cores, len(shards)))
    files = [*shards, *[Shard("", "")] * (HELPS * n_actors)]
    tagged = ray.data.from_items([file._asdict() for file in files], override_num_blocks=len(files)).map(
        _Tagging,
        fn_constructor_args=(model, asked, output, begun, reporter, __version__),
        compute=ray.data.ActorPoolStrategy(
            min_size=1, max_size=len(files), initial_size=n_actors, max_tasks_in_flight_per_actor=1
        ),
        num_cpus=1,
        label_selector={NODE: f"!in({','.join(without)})"} if without else None,
    )
    batches: Any = tagged.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)  # each at once
    left = {shard.name: shard for shard in shards}
    with told_here("tagging"), closing(iter(batches)) as found:
        for row in chain.from_iterable(batch.to_pylist() for batch in found):
            if (shard := left.pop(row["name"], None)) is not None:
                begun.end.remote(shard)
                yield Row(**row)
            if not left:  # somebody may still be at work on a file that others had done before
                return
