"""What names, ids, titles and texts of others do to a screen: nothing. What a pipe gets is the value as it is."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.conftest import Run, write_lines
from tests.cli.test_process import in_terminal

from everylabel.cli.output import print_table
from everylabel.cli.printable import printable, printable_json, printable_lines

CLEAR, REVERSED, CSI = "\x1b[2J", "\u202e", "\x9b"
HOSTILE = f"{CLEAR}x{REVERSED}gpj{CSI}31m\nforged: line\r\x07\u2066\ufeff"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Data and a model whose ids, names, titles and texts are hostile."""
    from typer.testing import CliRunner

    from everylabel.cli.app import app

    folder = tmp_path_factory.mktemp("hostile")
    labels = [{"id": f"id{HOSTILE}", "name": f"name{HOSTILE}"}, {"id": "b", "name": "plain"}]
    rows = [
        {"id": f"doc{HOSTILE}{i}", "title": f"title{HOSTILE}", "text": HOSTILE, "labels": [labels[0]["id"]]}
        for i in range(3)
    ]
    (folder / "data").mkdir()
    write_lines(folder / "data" / "labels.jsonl", labels)
    for split in ("train", "test"):
        write_lines(folder / "data" / f"{split}.jsonl", [*rows, rows[0]])
    arguments = ["fit", str(folder / "data"), "-m", "popularity", "-o", str(folder / "model"), "-q"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    return folder / "data", folder / "model"


def commands_in(shown: str) -> set[str]:
    """What a terminal would obey, but for the ends of lines and what rich says by itself (bold, and back)."""
    for own in ("\x1b[1m", "\x1b[0m"):
        shown = shown.replace(own, "")
    return {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\r\n"}


def test_a_terminal_obeys_nothing_that_stands_in_the_data(hostile: tuple[Path, Path]) -> None:
    data, model = map(str, hostile)
    commands = ["tag", model, data], ["labels", "list", model], ["inspect", data, "-q"], ["tag", model, data, "--json"]
    for arguments in commands:
        shown = in_terminal(*arguments)
        assert commands_in(shown) == set(), arguments
        assert "\nforged" not in shown
    assert r"name\x1b[2Jx\u202egpj\x9b31m\nforged: line\r\x07\u2066\ufeff" in in_terminal("labels", "list", model)


def test_json_in_a_pipe_is_the_value_as_it_is(run: Run, hostile: tuple[Path, Path]) -> None:
    data, model = hostile
    out = run("tag", model, data).stdout
    assert json.loads(out.splitlines()[0])["labels"][0]["name"] == f"name{HOSTILE}"
    assert REVERSED in out
    listed = run("labels", "list", model, "--json").stdout
    assert json.loads(listed)[0]["id"] == f"id{HOSTILE}"


def test_an_error_and_a_note_obey_nothing_either(run: Run, hostile: tuple[Path, Path], tmp_path: Path) -> None:
    result = run("tag", hostile[1], tmp_path / f"no{CLEAR}{REVERSED}file")
    assert result.exit_code == 3
    assert commands_in(result.stderr) == set()
    assert r"no\x1b[2J\u202efile" in result.stderr
    wrong = tmp_path / f"bad{CSI}.jsonl"
    wrong.write_text("no json\n" * 2)
    result = run("tag", hostile[1], wrong, "--on-bad-row", "skip")
    assert result.exit_code == 0
    assert len(result.stderr.splitlines()) == 3  # a heading, and a line for each bad row
    assert commands_in(result.stderr) == set()


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "Ünïcode",
        "e\u0301",
        "漢字",
        "👩🏽\u200d🚀",
        "\u0645\u06cc\u200c\u062e",
        "\u200f\u05e2\u05d1",
        "a\u00a0b",
        "co\u00adop",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == text


@given(st.text())
def test_no_text_is_a_command(text: str) -> None:
    found = printable(text)
    assert not {unicodedata.category(c) for c in found} & {"Cc", "Zl", "Zp", "Cs"}
    assert not set(found) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert printable(found) == found
    assert printable_lines(text).split("\n") == [printable(line) for line in text.split("\n")]


@given(st.text(st.characters(codec="utf-8")))
def test_json_on_a_terminal_has_the_same_value(text: str) -> None:
    found = printable_json(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(found) == {"a": text}
    assert not {"\x7f", "\x9b", "\u2028", "\u202e"} & set(found)


def test_columns_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    """However wide a character is, and however long a name: what is not a terminal has no width."""
    names = ["plain", "漢字かな", "e\u0301te\u0301", "a\x1bb", "👩🏽\u200d🚀", "x" * 300]
    print_table(("id", "name", "n"), [(str(i), name, str(10**i)) for i, name in enumerate(names)], left=(0, 1))
    lines = capsys.readouterr().out.splitlines()
    assert len({cell_len(line) for line in lines}) == 1
    assert [line.split()[1] for line in lines[1:]] == [printable(name) for name in names]


def test_names_of_labels_begin_below_each_other(run: Run, model: Path) -> None:
    header, *rows = run("labels", "list", model).stdout.splitlines()
    at = header.index("name")
    assert {(row[at - 1], row[at] != " ") for row in rows} == {(" ", True)}
