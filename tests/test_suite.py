"""The suite itself: it does not depend on how it was started, and no test can hang it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ASK = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"


def test_ctrl_c_is_heard_here_and_in_children() -> None:
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True).stdout == "True\n"


def run_ignoring_ctrl_c(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Pytest as a script's background job, or some CI runners, start it."""
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_started_with_ctrl_c_ignored() -> None:
    assert run_ignoring_ctrl_c("-c", ASK).stdout == "False\n"  # that is how it starts, indeed
    name = f"tests/test_suite.py::{test_ctrl_c_is_heard_here_and_in_children.__name__}"
    done = run_ignoring_ctrl_c("-m", "pytest", "-p", "no:cacheprovider", name)
    assert done.returncode == 0, done.stdout


def test_a_test_that_hangs_fails(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text("import subprocess\ndef test(): subprocess.run(['sleep', '60'])\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--timeout", "0.5", str(tmp_path)], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 1
    assert "Timeout" in done.stdout


def test_every_test_has_a_time_limit(request: pytest.FixtureRequest) -> None:
    assert 0 < float(request.config.getini("timeout")) <= 120
    assert request.config.pluginmanager.hasplugin("timeout")
