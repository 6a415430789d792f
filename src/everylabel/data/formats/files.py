"""Files as documents, one each: `.txt`, `.md`, `.html`, `.epub`, and with the extra `files` `.pdf`, `.docx`, `.odt`.

A single file, or a folder with all that is below it; hidden files are left out. The id is the path inside the folder,
the title that of the document, where it has one. There are no labels: a folder with subjects beside its texts is
Annif's (`annif_folder.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from everylabel.data.formats import vocabulary
from everylabel.data.formats.lines import content_of
from everylabel.data.formats.reading import READERS, Content, Reader
from everylabel.data.formats.rows import WHOLE, Entry, Row, Source, decoded, suffix_of

NAME = "files"
NUMBERED = False
SUFFIXES = (".txt", ".md", *READERS)
OTHER_DATA = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".npz")  # beside these a text file is a note, no document
FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---[ \t]*\r?\n", re.DOTALL)
HEADING = re.compile(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*\r?$", re.MULTILINE)
SHOWN = 5


def detect(path: Path) -> bool:
    if path.is_file():
        return path.suffix.lower() in SUFFIXES and path.suffix.lower() != ".txt"
    labels = vocabulary.find(path)
    if any(suffix_of(file) in OTHER_DATA and file != labels for file in path.iterdir()):
        return False
    return any(document_files(path))


def document_files(folder: Path) -> Iterator[Path]:
    return (file for file in visible(folder) if file.suffix.lower() in SUFFIXES)


def visible(folder: Path) -> Iterator[Path]:
    """Files at any depth whose path has no hidden part."""
    for file in folder.rglob("*"):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file


def splits(_path: Path) -> list[str]:
    return [WHOLE]


def read_labels(source: Source) -> Iterator[Entry]:
    """Never None: no label is to be collected from the documents, which take long to read."""
    return vocabulary.found_labels(source) or iter(())


def read_documents(source: Source, _split: str) -> Iterator[Row]:
    path = source.path
    if path.is_file():
        files, root = [path], path.parent
    else:
        files, root = sorted(document_files(path)), path
        tell_left_out(source)
    with Reader() as reader:
        for file in source.run.steps("reading files", files):
            name = file.relative_to(root).as_posix()
            found = content(file, name, reader, source)
            if found is not None:
                yield Row(name, found.text, found.title, None, None, name, 1)


def tell_left_out(source: Source) -> None:
    taken = {*SUFFIXES, *vocabulary.SUFFIXES}
    others = sorted({file.suffix.lower() or file.name for file in visible(source.path)} - taken)
    if others:
        more = " and others" if len(others) > SHOWN else ""
        source.run.say(
            f"{source.path}: reading {', '.join(SUFFIXES)}; files left out: {', '.join(others[:SHOWN])}{more}"
        )


def content(file: Path, name: str, reader: Reader, source: Source) -> Content | None:
    """Title and text of one file; None after it was reported as a bad row."""
    if file.suffix.lower() in READERS:
        try:
            return reader.content(file)
        except ValueError as error:
            problem, _, fix = str(error).partition("; ")
            source.bad.add(name, problem, fix)
            return None
    text = decoded(content_of(file), f"{name}:1", source.bad)
    if text is None or file.suffix.lower() != ".md":
        return None if text is None else Content("", text)
    return markdown(text)


def markdown(text: str) -> Content:
    """The title is that of the front matter, else the first heading, which is left out of the text then."""
    front = FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    named = re.search(r"^title:[ \t]*(.+?)[ \t]*\r?$", front[1], re.MULTILINE) if front else None
    if named:
        return Content(named[1].strip("\"'"), body)
    heading = HEADING.search(body)
    if heading is None:
        return Content("", body)
    return Content(heading[1], (body[: heading.start()] + body[heading.end() :]).strip("\r\n"))
