"""Vocabulary files of any kind, told apart by their suffix; used by every format and by the option `vocabulary`.

- `.jsonl`: as in the native layout;
- `.tsv`: Annif's `<uri><TAB>name[<TAB>notation]`;
- `.csv`: Annif's `uri,notation,label_en,label_fi,...`, or the columns `id,name,description`, `notation` too;
- `.ttl`, `.rdf`, `.nt`, `.jsonld`: SKOS, by rdflib;
- `.txt`: one name a line; the id is the name, or the line's number from 0 where the documents hold numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from everylabel.data.dataset import Label, Translation
from everylabel.data.formats import native, skos
from everylabel.data.formats.delimited import table
from everylabel.data.formats.lines import created, lines
from everylabel.data.formats.rows import BadRows, Entry, Source, Target, decoded, existing, shown, stem_of, suffix_of
from everylabel.data.label import is_language
from everylabel.errors import DataError
from everylabel.run import Run

SUFFIXES = (".jsonl", ".csv", ".tsv", *skos.SUFFIXES)
STEMS = ("labels", "vocab", "vocabulary", "subjects")


def find(folder: Path) -> Path | None:
    """The vocabulary in a folder: `labels.jsonl`, then files named like one, then any SKOS file."""
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and is_named_like_one(file)]
    return existing(folder, "labels.jsonl") or next(iter(sorted(files, key=is_any_thesaurus)), None)


def is_named_like_one(file: Path) -> bool:
    return is_any_thesaurus(file) or (suffix_of(file) in SUFFIXES and stem_of(file).lower() in STEMS)


def is_any_thesaurus(file: Path) -> bool:
    """Known by its suffix alone: it may be about something else than the data beside it."""
    return suffix_of(file) in skos.SUFFIXES and stem_of(file).lower() not in STEMS


def beside(path: Path) -> Path | None:
    """The vocabulary in the data's folder, or in that of the data's file."""
    file = find(path if path.is_dir() else path.parent)
    return None if file == path else file


def found_labels(source: Source) -> Iterator[Entry] | None:
    """The labels of the vocabulary beside the data; None when there is none."""
    file = beside(source.path)
    return None if file is None else read(file, source.bad, source.run, source.options.language)


def read(file: Path, bad: BadRows, run: Run, language: str = "en", numbered: bool = False) -> Iterator[Entry]:
    suffix = suffix_of(file)
    if suffix == ".jsonl":
        return native.read_vocabulary(file, bad, run)
    if suffix in skos.SUFFIXES:
        return skos.read_vocabulary(file, language)
    if suffix == ".tsv":
        return read_tsv(file, bad, run)
    if suffix == ".csv":
        return read_csv(file, bad, run, language)
    if suffix == ".txt":
        return read_numbered(file, bad, run) if numbered else read_names(file, bad, run)
    raise DataError(f"{file}: expected a vocabulary ending in {', '.join(SUFFIXES)} or .txt, got {suffix!r}; rename it")


def named_lines(file: Path, bad: BadRows, run: Run) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(lines(file, run), 1):
        text = decoded(raw, f"{file.name}:{number}", bad)
        if text is not None:
            yield number, text


def read_numbered(file: Path, bad: BadRows, run: Run) -> Iterator[Entry]:
    for number, name in named_lines(file, bad, run):
        yield Entry(Label(str(number - 1), name.strip()), f"{file.name}:{number}")


def read_names(file: Path, bad: BadRows, run: Run) -> Iterator[Entry]:
    for number, name in named_lines(file, bad, run):
        if name.strip():
            yield Entry(Label(name.strip(), name.strip()), f"{file.name}:{number}")


def read_tsv(file: Path, bad: BadRows, run: Run) -> Iterator[Entry]:
    for number, line in named_lines(file, bad, run):
        if not line.strip():
            continue
        uri, _, rest = line.partition("\t")
        name, _, notation = (part.strip() for part in rest.partition("\t"))
        yield Entry(Label(bare_uri(uri), name, notation=notation), f"{file.name}:{number}")


def read_csv(file: Path, bad: BadRows, run: Run, language: str) -> Iterator[Entry]:
    for number, cells in table(file, bad, run).rows:
        label_id = cells.get("uri") or cells.get("id")
        if not label_id:
            bad.add(f"{file.name}:{number}", f"expected a column 'uri' or 'id', got {shown(cells)}", "add the id")
            continue
        names = names_by_language(cells)
        spoken = skos.language_of([*names, ""] if cells.get("name") or cells.get("label") else [*names], language)
        label = Label(
            id=bare_uri(label_id),
            name=names.pop(spoken) if spoken else cells.get("name") or cells.get("label") or "",
            description=cells.get("description", ""),
            notation=cells.get("notation", "").strip(),
            translations=tuple(Translation(other, name) for other, name in names.items()),
            language=spoken,
        )
        yield Entry(label, f"{file.name}:{number}")


def names_by_language(cells: dict[str, str]) -> dict[str, str]:
    """Of the columns `label_en` and so on, those that have one, in their order."""
    columns = {column.removeprefix("label_"): cell for column, cell in cells.items() if column.startswith("label_")}
    return {language: cell for language, cell in columns.items() if cell and is_language(language)}


def bare_uri(uri: str) -> str:
    """Without the angle brackets around it."""
    return uri.strip().removeprefix("<").removesuffix(">")


def one_line(text: str) -> str:
    """A text for formats that know neither line breaks nor tabs in one."""
    return " ".join(part for part in text.replace("\t", "\n").splitlines() if part)


def write_names(target: Target) -> None:
    """One name a line, in the order of the labels' numbers."""
    with created(target.path) as out:
        for label in target.labels.labels:
            out.write(one_line(label.name).encode() + b"\n")
