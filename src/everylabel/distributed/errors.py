"""Failures of tasks as errors of one line: ours with the node's name, Ray's as what happened and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from everylabel.distributed.cluster import node_name
from everylabel.errors import ClusterError, EverylabelError

MOST_SAID = 300  # characters of Ray's words
OF_NODES = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE}
AGAIN = "give the command again: it goes on from what is done"


class NodeError(EverylabelError):
    """A disk that is full, and the like: on another node it may work."""


@contextmanager
def said_where() -> Iterator[None]:
    """In a task: an error of ours, or of the system, says where it happened."""
    try:
        yield
    except EverylabelError as error:
        raise type(error)(f"{error} (on node {node_name()})") from None
    except OSError as error:
        where = error.filename or "input or output"
        kind = NodeError if error.errno in OF_NODES else EverylabelError
        raise kind(f"{where}: {error.strerror or error} (on node {node_name()})") from None
    except MemoryError as error:
        raise ClusterError(f"the memory was not enough: {error} (on node {node_name()})") from None


@contextmanager
def told_here(what: str) -> Iterator[None]:
    """Where tasks are waited for: their errors as they would have been raised here, and what Ray has lost in words."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        raise plain(error, what) from None


def plain(error: BaseException, what: str) -> BaseException:
    """What is neither ours nor Ray's is a bug, and keeps its traceback."""
    from ray.exceptions import RayError, RayTaskError, UserCodeException

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
    return ClusterError(f"{what}: {_happened(error)}; {AGAIN}")


def _happened(error: BaseException) -> str:
    from ray.exceptions import (
        NodeDiedError,
        ObjectLostError,
        ObjectStoreFullError,
        OutOfDiskError,
        OutOfMemoryError,
        RayActorError,
        WorkerCrashedError,
    )

    why = " ".join(str(error).split())[:MOST_SAID]
    if isinstance(error, OutOfMemoryError):
        return "the memory of a node was not enough, and trying again was in vain; give nodes more, or fewer cores"
    if isinstance(error, OutOfDiskError | ObjectStoreFullError):
        return f"Ray's object store has no room on a node ({why}); make room on its disk"
    if isinstance(error, WorkerCrashedError | RayActorError | NodeDiedError | ObjectLostError):
        return f"a worker or a node was lost, and trying again was in vain ({why})"
    return f"Ray could not do it: {type(error).__name__} ({why})"
