"""JSON lines, the base of four formats: one object a line, checked so that a wrong type is a bad row, not a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from everylabel.data.formats.layout import USUAL, Columns
from everylabel.data.formats.lines import first_lines, lines
from everylabel.data.formats.rows import BadRows, Row, decoded, shown
from everylabel.run import Run

Object: TypeAlias = dict[str, Any]
SAMPLED = 1000  # lines looked at for their keys
_TEXTS, _TEXTS_AND_NUMBERS = frozenset({str}), frozenset({str, int})


def parse(raw: bytes, where: str, bad: BadRows) -> Object | None:
    """The object of one line, or None after it was reported as a bad row."""
    text = decoded(raw, where, bad)
    if text is None:
        return None
    try:
        value = json.loads(text)
        if b"\\u" in raw:  # only an escape can bring half a surrogate pair, which no file can be written with
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        bad.add(where, "expected Unicode text, got half a surrogate pair (\\ud800 to \\udfff)", "remove that escape")
    except (ValueError, RecursionError) as error:
        bad.add(where, f"expected one JSON object a line, got {shown(text)} ({error})", "correct the line")
    else:
        if isinstance(value, dict):
            return value
        bad.add(where, f"expected a JSON object {{...}}, got {shown(value)}", "correct the line")
    return None


def objects(path: Path, bad: BadRows, run: Run) -> Iterator[tuple[int, Object]]:
    """Line numbers from 1 and objects; blank lines are passed over."""
    name = path.name
    for number, raw in enumerate(lines(path, run), 1):
        if not raw or raw.isspace():
            continue
        value = parse(raw, f"{name}:{number}", bad)
        if value is not None:
            yield number, value


def first_object(path: Path) -> Object:
    """The first line's object to tell formats apart; empty when it is none."""
    skipped = BadRows("skip")
    return next((parse(line.encode(), path.name, skipped) or {} for line in first_lines(path)), {})


def first_keys(path: Path) -> list[str]:
    """The keys of the first objects, which are the columns of such a file; not every object must have each."""
    skipped = BadRows("skip")
    found = (parse(line.encode(), path.name, skipped) or {} for line in first_lines(path, SAMPLED))
    return list(dict.fromkeys(key for value in found for key in value))


def strings(value: object) -> list[str] | None:
    """A list of texts or whole numbers as a list of texts; None when it is something else."""
    if not isinstance(value, list):
        return None
    kinds = set(map(type, value))
    if kinds <= _TEXTS:
        return value
    return [str(item) for item in value] if kinds <= _TEXTS_AND_NUMBERS else None


def split_labels(cell: str, separator: str) -> list[str]:
    if cell.startswith("["):
        try:
            listed = strings(json.loads(cell))
        except (ValueError, RecursionError):
            listed = None
        if listed is not None:
            return listed
    return [label.strip() for label in cell.split(separator) if label.strip()]


def document(
    value: Object,
    file: str,
    line: int,
    bad: BadRows,
    keys: Columns = USUAL,
    separator: str | None = None,
    fields: Sequence[str] = (),
) -> Row | None:
    """A document {"id"?, "title"?, "text", "labels"?}; without an id it gets its line number, counted from 0.

    Labels are a list; with a separator they may also be one text to be split. `fields`: other keys whose texts are
    kept; where there is one of them, there may be no text.
    """
    kept = {name: value[name] for name in fields if isinstance(value.get(name), str)}
    if kept:
        value = {keys.text: "", **value}
    text, title, given = value.get(keys.text), value.get(keys.title or "") or "", value.get(keys.labels or "")
    doc_id = value.get("id")
    if isinstance(given, str) and separator is not None:
        given = split_labels(given, separator)
    labels = None if given is None else strings(given)
    if doc_id is None:
        doc_id = line - 1
    if not isinstance(text, str):
        got = f"{shown(text)}" if keys.text in value else f"the keys {shown(list(value))}"
        problem = f'expected a text under "{keys.text}", got {got}'
    elif not isinstance(title, str):
        problem = f'expected a text under "{keys.title}", got {shown(title)}'
    elif type(doc_id) is not str and type(doc_id) is not int:
        problem = f'expected a text or a number under "id", got {shown(doc_id)}'
    elif given is not None and labels is None:
        problem = f'expected a list of label ids under "{keys.labels}", got {shown(given)}'
    else:
        return Row(str(doc_id), text, title, labels, None, file, line, kept if fields else None)
    bad.add(f"{file}:{line}", problem, "correct the line")
    return None
