"""What only a real process shows: pipes that close, Ctrl-C, a terminal, encodings."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import write_lines

import everylabel
from everylabel.store import locked

COMMAND = [sys.executable, "-m", "everylabel.cli.main"]


def test_version() -> None:
    out = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
    assert out.startswith("everylabel 0.")


def test_a_reader_that_goes_away_is_no_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a text\n" * 5000)
    with subprocess.Popen(
        [*COMMAND, "tag", str(model), str(tmp_path / "texts.txt"), "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["id"] == "0"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_ctrl_c_says_that_nothing_is_half_written(model: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "tag", str(model), "--quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"a text\n" * 3000)  # more than a batch: the first answers come before the end of input
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.stderr.read().decode().strip() == "everylabel: interrupted; nothing was left half written"
        assert process.wait() == 130


def test_each_line_of_a_pipe_is_answered_before_the_next_one(model: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "tag", str(model), "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for i in range(3):
            process.stdin.write(b"a text\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == str(i)
        process.stdin.close()
        assert process.wait() == 0


def test_output_is_utf_8_in_any_locale(data: Path, tmp_path: Path) -> None:
    labels = (data / "labels.jsonl").read_text().replace("Seafaring", "Schifffahrt über See")
    other = tmp_path / "data"
    other.mkdir()
    (other / "labels.jsonl").write_text(labels, encoding="utf-8")
    (other / "train.jsonl").write_bytes((data / "train.jsonl").read_bytes())
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "LC_ALL": "C"}
    model = str(tmp_path / "model")
    subprocess.run([*COMMAND, "fit", str(other), "-m", "popularity", "-o", model, "-q"], env=environment, check=True)
    out = subprocess.run(
        [*COMMAND, "tag", model, "-k", "1"], input=b"text", capture_output=True, env=environment, check=True
    ).stdout
    assert json.loads(out)["labels"][0]["name"] == "Schifffahrt über See"


def test_a_terminal_gets_tables(model: Path, data: Path) -> None:
    shown = in_terminal("tag", str(model), str(data))
    assert "Seafaring" in shown
    assert "score" in shown
    assert '{"id"' not in shown


def test_a_terminal_gets_json_when_asked(model: Path, data: Path) -> None:
    assert '{"id": "test0"' in in_terminal("tag", str(model), str(data), "--json")


def in_terminal(*arguments: str) -> str:
    """The command's output with all three streams on a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen([*COMMAND, *arguments], stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 4096):
                shown += part
        except OSError:  # how Linux says that the other end was closed
            pass
        assert process.wait() == 0, shown.decode()
    os.close(leader)
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no locks of files")
def test_commands_that_change_one_model_at_once_wait_for_each_other(model: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(model, tmp_path / "own"))
    writers = []
    with locked(own):
        for name in ("moon", "sun"):
            write_lines(tmp_path / f"{name}.jsonl", [{"id": name, "name": name}])
            command = [*COMMAND, "labels", "add", str(own), str(tmp_path / f"{name}.jsonl")]
            writers.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        for writer in writers:
            assert writer.stderr is not None
            assert "another command is changing this model; waiting until it is done" in writer.stderr.readline()
    for writer in writers:
        said, errors = writer.communicate()
        assert (writer.returncode, said[:13]) == (0, "added 1 label"), errors
    assert sorted(everylabel.load(own).labels_.ids) == ["moon", "new", "rail", "sea", "sky", "sun"]
