"""BibTeX entries, by bibtexparser (extra `catalogue`): title, abstract, keywords; new keywords are put into the file.

Keywords are separated by semicolons where there are any, else by commas; one that has such itself is in braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everylabel.data.formats import catalogue, vocabulary
from everylabel.data.formats.catalogue import Given, Record, Subject, Subjects, Tagging
from everylabel.data.formats.lines import created
from everylabel.data.formats.rows import WHOLE, Row, Source, suffix_of
from everylabel.errors import DataError

NAME = "bibtex"
NUMBERED = False
SUFFIXES = (".bib", ".bibtex")
SPECIAL = re.compile(r"([&%$#_])")
KEYWORDS = re.compile(r"\bkeywords\s*=\s*", re.IGNORECASE)

read_labels = vocabulary.found_labels


def detect(path: Path) -> bool:
    return path.is_file() and suffix_of(path) in SUFFIXES


def splits(_path: Path) -> list[str]:
    return [WHOLE]


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    return catalogue.rows_of(read_records(source), source)


def read_records(source: Source) -> Iterator[Record]:
    return (record for record, _ in _records(source))


def write_subjects(source: Source, target: Path, subjects: Subjects, _tagging: Tagging) -> int:
    text, at, parts, n_added = catalogue.text_in(source.path), 0, [], 0
    for record, raw in _records(source):
        new = catalogue.missing(record, subjects)
        place = text.find(raw, at)
        if place < 0 and new:
            source.bad.add(catalogue.where(source.path, record.number), "it is not found again", "save the file anew")
        if place < 0 or not new:
            continue
        parts += [text[at:place], with_keywords(raw, new)]
        at, n_added = place + len(raw), n_added + len(new)
    with created(target) as out:
        out.write("".join([*parts, text[at:]]).encode())
    return n_added


def _records(source: Source) -> Iterator[tuple[Record, str]]:
    """Each entry, with its text in the file."""
    catalogue.require("bibtexparser", source.path)
    import logging

    from bibtexparser.entrypoint import parse_string
    from bibtexparser.middlewares import LatexDecodingMiddleware
    from bibtexparser.model import Entry, ParsingFailedBlock

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what is wrong is said by us
    plain = LatexDecodingMiddleware(allow_inplace_modification=True)
    library, number = parse_string(catalogue.text_in(source.path)), 0
    for block in library.blocks:
        if isinstance(block, ParsingFailedBlock):
            number += 1
            problem = f"expected a BibTeX entry (line {(block.start_line or 0) + 1}): {block.error}"
            source.bad.add(catalogue.where(source.path, number), " ".join(problem.split()), "correct it")
        elif isinstance(block, Entry):
            number += 1
            keywords = [field.value for field in block.fields if field.key.lower() == "keywords"]
            given = [Given(_plain(one)) for value in keywords for one in separated(str(value))]
            decoded = plain.transform_entry(block, library)
            yield _record(decoded if isinstance(decoded, Entry) else block, number, given), block.raw or ""


def _record(entry: Any, number: int, given: list[Given]) -> Record:
    values = {field.key.lower(): " ".join(str(field.value).split()) for field in entry.fields}
    return Record(number, entry.key or str(number), values.get("title", ""), values.get("abstract", ""), given)


def separated(keywords: str) -> list[str]:
    """At semicolons, else commas, that are in no braces."""
    separator = ";" if ";" in _outside(keywords) else ","
    found, depth, start = [], 0, 0
    for at, letter in enumerate(keywords):
        depth += (letter == "{") - (letter == "}")
        if letter == separator and depth == 0:
            found.append(keywords[start:at])
            start = at + 1
    return [one.strip() for one in (*found, keywords[start:]) if one.strip()]


def with_keywords(raw: str, new: list[Subject]) -> str:
    """An entry with more keywords; its other letters stay."""
    value = _value_place(raw)
    if value is None:
        names = _joined(new, ",")
        body = raw.rstrip()
        inside = body[:-1].rstrip()
        comma = "" if inside.endswith(",") else ","
        indent = "\n  " if "\n" in raw else " "
        return f"{inside}{comma}{indent}keywords = {{{names}}}{body[len(inside) : -1] or ''}{raw[len(body) - 1 :]}"
    start, end = value
    separator = ";" if ";" in _outside(raw[start + 1 : end - 1]) else ","
    names = _joined(new, separator)
    if raw[start] in '{"':
        empty = not raw[start + 1 : end - 1].strip()
        return f"{raw[: end - 1]}{'' if empty else separator + ' '}{names}{raw[end - 1 :]}"
    return f"{raw[:end]} # {{{separator} {names}}}{raw[end:]}"  # a string of a name, or several


def _joined(new: list[Subject], separator: str) -> str:
    names = []
    for one in new:
        name = SPECIAL.sub(r"\\\1", re.sub(r"[{}\\~^\"\s]+", " ", one.name).strip())
        names.append(f"{{{name}}}" if re.search("[,;]", name) else name)
    return f"{separator} ".join(names)


def _value_place(raw: str) -> tuple[int, int] | None:
    """Where the value of the field keywords begins and ends, if the entry has one. A name in another value is none."""
    depth, quoted, at = 0, False, 0
    while at < len(raw):
        letter = raw[at]
        if letter == "\\":
            at += 2
            continue
        if letter == '"' and depth == 1:
            quoted = not quoted
        elif letter in "{}" and not (quoted and depth == 1 and letter == "}"):
            depth += 1 if letter == "{" else -1
        elif depth == 1 and not quoted and (found := KEYWORDS.match(raw, at)) and not raw[at - 1].isalnum():
            return found.end(), _end_of_value(raw, found.end())
        at += 1
    return None


def _end_of_value(raw: str, start: int) -> int:
    """After the closing brace or quote of its first part; of one without, before the comma or brace behind it."""
    opening = raw[start : start + 1]
    depth, at = 0, start
    while at < len(raw):
        letter = raw[at]
        if letter == "\\":
            at += 2
            continue
        depth += (letter == "{") - (letter == "}")
        closed = letter == ('"' if opening == '"' else "}") and at > start
        if opening in ("{", '"') and closed and depth == 0:
            return at + 1
        if opening not in ("{", '"') and ((letter == "," and depth == 0) or depth < 0):
            return start + len(raw[start:at].rstrip())
        at += 1
    raise DataError("an entry without end")


def _outside(text: str) -> str:
    """Without what is in braces."""
    return re.sub(r"\{[^{}]*\}", "", text)


def _plain(keyword: str) -> str:
    return re.sub(r"\\([&%$#_])", r"\1", keyword).replace("{", "").replace("}", "").strip()
