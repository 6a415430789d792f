"""Failures of tasks as errors of one line: ours with the node's name, Ray's as what happened and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from everylabel.distributed.cluster import node_name
from everylabel.errors import ClusterError, EverylabelError

MOST_SAID = 300  # characters of Ray's words
AGAIN = "give the command again: it goes on from what is done"


@contextmanager
def said_where() -> Iterator[None]:
    """In a task: an error of ours says where it happened."""
    try:
        yield
    except EverylabelError as error:
        raise type(error)(f"{error} (on node {node_name()})") from None
    except OSError as error:
        where = error.filename or "input or output"
        raise EverylabelError(f"{where}: {error.strerror or error} (on node {node_name()})") from None


@contextmanager
def told_here(what: str) -> Iterator[None]:
    """Where tasks are waited for: their errors as they would have been raised here, and what Ray has lost in words."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        raise plain(error, what) from None


def plain(error: BaseException, what: str) -> BaseException:
    from ray.exceptions import OutOfMemoryError, RayError, RayTaskError, UserCodeException

    if isinstance(error, RayTaskError):
        cause: BaseException = error.cause
        if isinstance(cause, UserCodeException):  # Ray Data's word for what went wrong inside
            cause = cause.__cause__ or cause
        elif isinstance(cause, RayError):
            return plain(cause, what)
        if isinstance(cause, EverylabelError | KeyboardInterrupt):
            return cause
        cause.add_note(f"in {what}, on a node of the cluster:\n{error}")
        return cause
    if isinstance(error, OutOfMemoryError):
        return ClusterError(f"{what}: the memory of a node was not enough; give nodes more, or fewer cores; {AGAIN}")
    why = " ".join(str(error).split())[:MOST_SAID]
    return ClusterError(f"{what}: a worker or a node was lost, and trying again was in vain ({why}); {AGAIN}")
