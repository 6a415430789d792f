"""What holds for every test, however pytest was started: Ctrl-C is heard, work is spread, kernels are compiled once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> Iterator[None]:
    """Heard by tests and by what they start, also where pytest was started with SIGINT ignored (`&` in a script, some
    CI runners): Python keeps it so, and children inherit it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing can be made; for root, who may write anywhere, one that the system keeps."""
    if os.name == "posix" and os.geteuid() == 0:
        yield Path("/proc") / str(os.getpid())
        return
    folder = tmp_path / "unwritable"
    folder.mkdir(0o555)
    yield folder
    folder.chmod(0o755)


@pytest.fixture(scope="session")
def gone() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def pytest_configure() -> None:
    settings.register_profile("everylabel", deadline=None)  # a machine may be busy, and a kernel compiled in an example
    settings.load_profile("everylabel")
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.compiling import compile_in_turn

        compile_in_turn()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For `--dist loadgroup`: the tests of a file stay in one worker, for what they share, unless marked otherwise.

    Those that may take longest begin first, or all workers but one would wait for them at the end.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=_time_limit, reverse=True)


def _time_limit(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0
