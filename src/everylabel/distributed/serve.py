"""The server on a cluster, by Ray Serve: the app in front, and behind it replicas that rank.

The front is one process: it has pages, keys, decisions and learning, and hands all ranking on. Replicas are as many as
are asked for (autoscaling), two at least where there are cores, each on one core, with the models mapped; each collects
what is asked at a time into batches, and exchanges a model that was replaced in its folder while it answers, as a
server alone does: an update goes from replica to replica without a request that fails. A replica that dies is replaced
by Serve, and what it was asked is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from everylabel import __version__
from everylabel.distributed.cluster import Cluster, check_version, is_head
from everylabel.errors import ConfigError

NAME = "everylabel"
AT_A_TIME = 64  # requests of a replica
LEAST = 2  # replicas, where there are cores for them: if one dies there is another
WANTED = 16  # requests of a replica, above which there are more of them
TRIED = 3  # times that a request is asked, where replicas die
Ask = Callable[..., Awaitable[Any]]


class Ranker(Protocol):
    """What a replica has: made there, by a function that was sent."""

    async def ask(self, *asked: Any) -> Any: ...

    def close(self) -> None: ...


class Ranking:
    """A replica that ranks."""

    def __init__(self, make: Callable[[], Ranker], version: str) -> None:
        check_version(version)
        self._ranker = make()

    async def ask(self, *asked: Any) -> Any:
        return await self._ranker.ask(*asked)

    def __del__(self) -> None:
        with suppress(AttributeError):  # it was never made
            self._ranker.close()


class Front:
    """The app."""

    def __init__(self, make_app: Callable[[Ask], Any], ranking: Any) -> None:
        self._make_app, self._ranking = make_app, ranking

    def __serve_build_asgi_app__(self) -> Any:
        return self._make_app(self._ask)

    async def _ask(self, *asked: Any) -> Any:
        from ray.exceptions import RayActorError

        for tried in range(TRIED):
            try:
                return await self._ranking.ask.remote(*asked)
            except RayActorError:  # it died with the request
                if tried == TRIED - 1:
                    raise
        raise AssertionError


def start(
    make_app: Callable[[Ask], Any], make_ranker: Callable[[], Ranker], there: Cluster, *, host: str, port: int
) -> None:
    """Returns when requests are answered. Replicas: from two, if there are so many cores, to as many as there are."""
    from ray import serve

    if not is_head():
        raise ConfigError("a cluster answers requests at its head: give the command where `ray start --head` was")
    most = max(1, there.cores)
    ranking = serve.deployment(
        name="ranking",
        max_ongoing_requests=AT_A_TIME,
        autoscaling_config={"min_replicas": min(LEAST, most), "max_replicas": most, "target_ongoing_requests": WANTED},
        ray_actor_options={"num_cpus": 1},
    )(Ranking)
    front = serve.deployment(
        name="front", num_replicas=1, max_ongoing_requests=1_024, ray_actor_options={"num_cpus": 0}
    )(serve.ingress()(Front))
    quiet = {"log_level": "ERROR", "enable_access_log": False}  # the app counts and logs its requests itself
    serve.start(http_options={"host": host, "port": port}, logging_config=quiet)
    app = front.bind(make_app, ranking.bind(make_ranker, __version__))
    serve.run(app, name=NAME, route_prefix="/", logging_config=quiet)


def wait() -> None:
    """Until Ctrl-C or a signal; the cluster serves no more then."""
    from ray import serve

    try:
        while True:
            time.sleep(1)
    finally:
        serve.shutdown()
