"""Trials in a process that may die of them: a warmed-up one forks another, which does one after the other and says how
each ended. When it dies, by a signal or because it does not answer, that is a find, and a new one goes on behind it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from everylabel.errors import EverylabelError

REFUSED, RIGHT = "refused", "right"  # all other outcomes are finds
_ALARM = 20.0  # seconds of processor time of a trial
_SILENCE = 300.0  # seconds until a process that says nothing is ended
_ROOM = 4 << 30  # bytes of address space more than a clean trial: who asks for more is refused by the system
_TIMES = 2.0  # a clean trial's memory
_AT_ONCE = 500  # cases of one process: what it remembers of each is not what a case takes

Trial = Callable[[random.Random], None]
"""Does one; an EverylabelError is a refusal."""


class WrongResultError(Exception):
    """Something came out that must not."""


class Outcome(NamedTuple):
    case: int
    what: str
    peak_mb: float


def trials(name: str, trial: Trial, clean: Callable[[], None], first: int, last: int) -> Iterator[Outcome]:
    """The cases first..last of a name; `clean` is a trial that nothing was changed for."""
    clean()
    case = first
    while case < last:
        end = min(case + _AT_ONCE, last)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(name, trial, clean, case, end, writer)
        os.close(writer)
        for outcome in _heard(reader, child):
            yield outcome
            case = outcome.case + 1
        os.close(reader)
        _, status = os.waitpid(child, 0)
        if case < end:
            how = f"signal {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else f"exit {status}"
            yield Outcome(case, how, 0.0)
            case += 1


def _heard(reader: int, child: int) -> Iterator[Outcome]:
    rest = b""
    while True:
        if not select.select([reader], [], [], _SILENCE)[0]:
            os.kill(child, signal.SIGKILL)  # a process of our own that does not answer
        said = os.read(reader, 1 << 16)
        if not said:
            return
        *lines, rest = (rest + said).split(b"\n")
        yield from (Outcome(*json.loads(line)) for line in lines)


def _work(name: str, trial: Trial, clean: Callable[[], None], first: int, last: int, writer: int) -> None:
    """In the child, which ends here."""
    code = 1
    try:
        faulthandler.disable()
        signal.signal(signal.SIGPROF, _too_slow)
        clean()
        _forget_peak()
        clean()
        usual = _peak_mb()
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + _ROOM, size + _ROOM))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for case in range(first, last):
            _forget_peak()
            what = _outcome(trial, random.Random(f"{name} {case}"))
            peak = _peak_mb()
            if peak > _TIMES * usual:
                what = f"memory: {peak:.0f} MB, usually {usual:.0f} ({what})"
            os.write(writer, json.dumps([case, what, round(peak, 1)]).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _outcome(trial: Trial, rng: random.Random) -> str:
    signal.setitimer(signal.ITIMER_PROF, _ALARM)
    try:
        trial(rng)
        return RIGHT
    except EverylabelError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, (MemoryError, TimeoutError, WrongResultError)):
                return f"{type(cause).__name__}: {cause}"[:300]
            cause = cause.__cause__ or cause.__context__
        return REFUSED if "\n" not in str(error) else f"several lines: {error}"[:300]
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(_number: int, _frame: Any) -> None:
    raise TimeoutError(f"not done after {_ALARM:.0f} s")


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """In a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def check_ranking(found: Any, n_docs: int, k: int, n_labels: int) -> None:
    """What every ranking keeps, whatever the weights are."""
    ids, scores = found
    if ids.shape != (n_docs, k) or scores.shape != (n_docs, k):
        raise WrongResultError(f"a ranking of the shape {ids.shape}")
    there = ids >= 0
    if (ids < -1).any() or (ids >= n_labels).any() or (there[:, 1:] & ~there[:, :-1]).any():
        raise WrongResultError("a ranking of labels that are not there")
    if not np.isfinite(scores[there]).all() or (scores[there] < 0).any() or (scores[there] > 1).any():
        raise WrongResultError(f"scores that are none: {scores[there].min()} to {scores[there].max()}")
    if (there[:, 1:] & (scores[:, 1:] > scores[:, :-1])).any():
        raise WrongResultError("a ranking out of order")
    if any(len(set(row[row >= 0].tolist())) < (row >= 0).sum() for row in ids):
        raise WrongResultError("a label twice in a ranking")


def seconds_since(begun: float) -> float:
    return round(time.perf_counter() - begun, 1)
