"""Shells complete commands, options and methods' names, as quickly as --help answers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUN = "import sys; sys.argv = ['everylabel', *sys.argv[1:]]; from everylabel.cli.main import main; main()"


def everylabel(*arguments: str, **environment: str) -> str:
    """As the installed command, whose name shells go by."""
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment).stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("everylabel fi", ["fit"]),
        ("everylabel labels re", ["remove"]),
        ("everylabel fit --calibrate", ["--calibrate-share"]),
        ("everylabel fit DATA --method pop", ["popularity"]),
    ],
)
def test_what_bash_completes(line: str, expected: list[str]) -> None:
    words = len(line.split()) - 1
    found = everylabel(_EVERYLABEL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(words))
    assert found.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell: str) -> None:
    found = everylabel("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert f"complete_{shell}" in found
    assert "everylabel" in found
