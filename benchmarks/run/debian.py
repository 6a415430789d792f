"""Corpora of another kind: descriptions of Debian's packages in several languages, with tags and dependencies.

python -m benchmarks.run.debian [--to FOLDER]

Needs a Debian with apt; fetches package lists and the tags' names into FOLDER (benchmarks/work/debian), 30 MB, and
writes data sets there in native layout:

| data set | a document | labels |
|---|---|---|
| debtags-en, -it, -ru | a package's description in that language | its debtags, about 600, described in English |
| debian-depends | a package's description | packages that it depends on, by name and short description |

Packages of one source are all in train, dev or test (8 : 1 : 1): they have nearly the same descriptions.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.record import WORK
from benchmarks.run.command import plain_parser

FOLDER = WORK / "debian"
LANGUAGES = ("en", "it", "ru")
HELPER = "/usr/lib/apt/apt-helper"
Stanza = dict[str, str]


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder of the data sets")
    to: Path = parser.parse_args().to
    fetch(to)
    packages = {one["Package"]: one for one in stanzas(listed(to, "*_bookworm_main_binary-*_Packages*"))}
    tags = {one["Tag"]: one["Description"] for one in stanzas(vocabulary(to)) if "Tag" in one}
    texts = {
        language: {
            one["Package"]: one[f"Description-{language}"]
            for one in stanzas(listed(to, f"*_bookworm_main_i18n_Translation-{language}*"))
        }
        for language in LANGUAGES
    }
    tagged = {name: words(one["Tag"]) for name, one in packages.items() if "Tag" in one}
    for language in LANGUAGES:
        write(to / f"debtags-{language}", packages, texts[language], tagged, tags)
    needed = {name: words(one.get("Depends", "")) for name, one in packages.items()}
    named = {name: f"{name}\n{one['Description']}" for name, one in packages.items()}
    write(to / "debian-depends", packages, texts["en"], needed, named)


def corpus_folder(data: Path, name: str) -> Path | None:
    """Among the data sets, or among those that were made here; None: it is in neither."""
    return next((at for at in (data / name, FOLDER / name) if at.is_dir()), None)


def required_folder(data: Path, name: str) -> Path:
    found = corpus_folder(data, name)
    if found is None:
        raise SystemExit(f"there is no {name} in {data}; `python -m benchmarks.run.debian` makes those of Debian")
    return found


def fetch(to: Path) -> None:
    """By apt, into folders of its own: nothing on this machine changes."""
    lists, cache = to / "lists", to / "cache"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (cache / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    own = [f"Dir::State::lists={lists.resolve()}", f"Dir::Cache={cache.resolve()}"]
    own.append(f"Acquire::Languages={','.join(LANGUAGES)}")
    options = [part for option in own for part in ("-o", option)]
    if not list(lists.glob("*Packages*")):
        subprocess.run(["apt-get", *options, "update"], check=True)
    if not list(to.glob("debtags_*.deb")):
        subprocess.run(["apt-get", *options, "download", "debtags"], check=True, cwd=to)
    subprocess.run(["dpkg", "-x", next(to.glob("debtags_*.deb")).name, "debtags"], check=True, cwd=to)


def listed(to: Path, pattern: str) -> str:
    found = next((to / "lists").glob(pattern))
    return subprocess.run([HELPER, "cat-file", str(found)], check=True, capture_output=True, text=True).stdout


def vocabulary(to: Path) -> str:
    return (to / "debtags/usr/share/debtags/vocabulary").read_text(encoding="utf-8")


def stanzas(text: str) -> Iterator[Stanza]:
    """Fields by name; lines that go on begin with a space, and " ." is an empty one."""
    for block in text.split("\n\n"):
        fields = re.findall(r"^([\w-]+): ?(.*(?:\n[ \t].*)*)", block, re.MULTILINE)
        if fields:
            yield {name: re.sub(r"\n[ \t]\.?", "\n", value) for name, value in fields}


def words(field: str) -> list[str]:
    """Of a list by commas the first alternatives, without versions; braces make several tags of one."""
    field = re.sub(r"([\w:+.-]*)\{([^}]*)\}", lambda f: ",".join(f[1] + one for one in f[2].split(",")), field)
    return sorted({one.split("|")[0].split("(")[0].split(":any")[0].strip() for one in field.split(",")} - {""})


def write(
    folder: Path,
    packages: dict[str, Stanza],
    texts: dict[str, str],
    labels: dict[str, list[str]],
    names: dict[str, str],
) -> None:
    rows: dict[str, list[Any]] = {"train": [], "dev": [], "test": []}
    used = set()
    for package, own in labels.items():
        known = [label for label in own if label in names]
        if package in texts and known:
            title, _, text = texts[package].partition("\n")
            row = {"id": package, "title": title, "text": text.strip(), "labels": known}
            rows[split_of(packages[package].get("Source", package).split()[0])].append(row)
            used.update(known)
    folder.mkdir(parents=True, exist_ok=True)
    described = ((label, *names[label].partition("\n")[::2]) for label in sorted(used))
    write_rows(folder / "labels.jsonl.gz", ({"id": i, "name": n, "description": d.strip()} for i, n, d in described))
    for split, own_rows in rows.items():
        write_rows(folder / f"{split}.jsonl.gz", own_rows)
    print(folder.name, {split: len(own_rows) for split, own_rows in rows.items()}, "labels", len(used))


def split_of(source: str) -> str:
    place = hashlib.sha256(source.encode()).digest()[0] % 10
    return {8: "dev", 9: "test"}.get(place, "train")


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    main()
