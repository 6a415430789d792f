"""Input that would take all memory or time: refused in one line, while little of it was read."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz

from everylabel.data import load_dataset, load_documents, load_labels, stream_documents, whole_text
from everylabel.data.formats import limits
from everylabel.data.formats.limits import MB, VARIABLE
from everylabel.errors import ConfigError, DataError

BOMB = 4_000 * MB  # unpacked; 4 to 12 MB on the disk
LIMIT = 1_500 * MB  # of a process's whole memory, in which Python, numpy and scipy take some 500 MB of addresses


def bomb(file: Path, piece: bytes, head: bytes = b"") -> Path:
    """A gzip file of one piece again and again; it is packed once, and has no end, which nobody should reach."""
    packer = zlib.compressobj(9, wbits=31)
    begin = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(piece * (MB // len(piece))) + packer.flush(zlib.Z_FULL_FLUSH)
    file.write_bytes(begin + BOMB // MB * block)
    assert file.stat().st_size < BOMB / 250
    return file


ATTEMPT = """
import resource, sys
from everylabel.errors import EverylabelError
from everylabel.data import load_dataset, load_documents, load_labels, whole_text
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]),) * 2)
try:
    print(len({load}(sys.argv[2])))
except EverylabelError as error:
    print(type(error).__name__, error)
"""


def in_little_memory(load: str, file: Path) -> str:
    """What it says in a process that cannot have more."""
    code = ATTEMPT.format(load=load)
    command = [sys.executable, "-c", code, "", str(file), str(LIMIT)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=110, env=environment).stdout


@pytest.mark.parametrize(
    ("load", "name", "piece"),
    [
        ("load_documents", "one-line.txt.gz", b"a"),
        ("load_documents", "blank-lines.txt.gz", b"\n"),
        ("load_documents", "short-lines.txt.gz", b"a" * 19 + b"\n"),
        ("load_dataset", "data.jsonl.gz", b'{"text": "' + b"a" * 17 + b'"}\n'),
        ("load_dataset", "data.csv.gz", b"a" * 17 + b",b\n"),
        ("load_labels", "labels.ttl.gz", b"# "),
        ("whole_text", "text.gz", b"a"),
    ],
)
def test_a_gzip_bomb(load: str, name: str, piece: bytes, tmp_path: Path) -> None:
    """The same whatever is in it: a line without an end, lines without words, or documents."""
    head = b"text,labels\n" if ".csv" in name else b""
    said = in_little_memory(load, bomb(tmp_path / name, piece, head))
    assert said.startswith("DataError ")
    assert name in said
    assert "unpacks to more than 200 times its size" in said
    assert len(said.splitlines()) == 1


def test_a_bomb_in_a_pipe(tmp_path: Path) -> None:
    file = bomb(tmp_path / "documents.gz", b"a\n")
    with file.open("rb") as stream, pytest.raises(DataError, match="<stdin>: this file unpacks to more than 200 times"):
        for _ in stream_documents(stream, size=256):
            pass
    with file.open("rb") as stream, pytest.raises(DataError, match="standard input: this file unpacks to more"):
        whole_text(stream)


def test_a_sparse_matrix_that_unpacks_to_more_than_it_can_hold(tmp_path: Path) -> None:
    n = 8 * MB
    nothing = csr_matrix((np.zeros(n, np.int8), np.zeros(n, np.int32), np.array([0, n])), shape=(1, 1))
    save_npz(tmp_path / "Y.trn.npz", nothing)
    assert (tmp_path / "Y.trn.npz").stat().st_size < n / 100
    (tmp_path / "X.trn.txt").write_text("a text\n")
    with pytest.raises(DataError, match=r"Y\.trn\.npz: this file unpacks to more than 200 times its size"):
        load_dataset(tmp_path)


def test_texts_that_are_packed_well_are_no_bomb(tmp_path: Path) -> None:
    """The same sentence a hundred thousand times, each with its number: 1 to some 30."""
    lines = "".join(
        f"{i} the history of the lighthouses on the coast of the island, {i % 7} \n" for i in range(150_000)
    )
    file = tmp_path / "documents.txt.gz"
    file.write_bytes(gzip.compress(lines.encode()))
    assert len(lines) > limits.WATCHED_FROM
    assert len(load_documents(file)) == 150_000


# --- lines


def from_pipe(file: Path) -> Any:
    with subprocess.Popen(["cat", str(file)], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        return load_documents(cast(BinaryIO, cat.stdout))


Reader = Callable[[Path], Any]
READERS: dict[str, Reader] = {
    "file": load_documents,
    "stream": lambda file: load_documents(io.BytesIO(file.read_bytes())),
    "pipe": from_pipe,
    "whole": whole_text,
    "csv": lambda file: load_dataset(file.rename(file.with_suffix(".csv"))),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_line_without_an_end(reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    file = tmp_path / "documents.txt"
    short = b"text\n" + b"x" * (MB - 10)
    file.write_bytes(short + b"\n")
    if reader not in ("whole", "csv"):
        assert len(READERS[reader](file)) == 2
    file.write_bytes(short + b"x" * 100)
    with pytest.raises(DataError, match=rf"expected lines of at most 1 MB.*set the environment variable {VARIABLE}"):
        READERS[reader](file)


def test_a_cell_whose_quote_is_never_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    file = tmp_path / "data.csv"
    file.write_bytes(b'text,labels\n"' + b"a line\n" * 300_000)
    with pytest.raises(DataError, match=r"data\.csv:\d+: .*field larger than field limit"):
        load_dataset(file)


@pytest.mark.parametrize("nonsense", ["0", "many", "-1", "1.5"])
def test_a_limit_that_is_none(nonsense: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, nonsense)
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(ConfigError, match=f"{VARIABLE} must be a whole number of MB"):
        load_documents(tmp_path / "a.txt")


# --- XML

RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">'
    '<skos:Concept rdf:about="http://x/1"><skos:prefLabel>{}</skos:prefLabel></skos:Concept></rdf:RDF>'
)
LAUGHS = '<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    ("declared", "text", "why"),
    [
        (LAUGHS, "&l9;", "'l1' is made of others"),
        (f'<!ENTITY a "{"a" * 100_000}">', "&a;" * 10_000, "'a' is one of more than 1,000, or longer than"),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;", "'a' is read from elsewhere"),
        ('<!ENTITY a PUBLIC "x" "http://localhost:1/a">', "&a;", "'a' is read from elsewhere"),
        ('<!ENTITY % a SYSTEM "http://localhost:1/a"> %a;', "x", "'a' is read from elsewhere"),
        ("<!ENTITY % a '<!ENTITY b \"x\">'> %a;", "&b;", "'a' is made of others"),
        ('<!ENTITY a "&#38;b;&#38;b;"><!ENTITY b "x">', "&a;", "'a' is made of others"),
        ("".join(f'<!ENTITY a{i} "x">' for i in range(2_000)), "x", "is one of more than 1,000"),
    ],
)
def test_entities_that_could_take_all_memory(declared: str, text: str, why: str, tmp_path: Path) -> None:
    """Refused at once, and nothing is expanded or opened."""
    pytest.importorskip("rdflib")
    file = tmp_path / "vocabulary.rdf"
    for encoding in ("utf-8", "utf-16"):
        head = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE r [{declared}]>'
        file.write_bytes((head + RDF.format(text)).encode(encoding))
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        with pytest.raises(DataError, match="the XML entity") as error:
            load_labels(file)
        assert why in str(error.value)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - used < 2


def test_entities_for_namespaces_are_read(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    head = '<!DOCTYPE rdf:RDF PUBLIC "x" "http://localhost:1/x.dtd" [<!ENTITY ns "http://example.org/ns#">]>'
    (tmp_path / "vocabulary.rdf").write_text(head + RDF.format("&ns;x"))
    assert load_labels(tmp_path / "vocabulary.rdf").names == ["http://example.org/ns#x"]


# --- JSON


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"text": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"text": "x", "labels": [' + b"9" * 100_000 + b"]}",
        b'{"id": 1e999, "text": "x"}',
        b'{"text": NaN}',
        b'{"text": "\xff\xfe"}',
        b'{"text": "\\ud800"}',
        b'\x00{"text": "x"}',
    ],
    ids=lambda line: line[:14].decode("latin-1"),
)
def test_json_that_is_hostile(line: bytes, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(b'{"text": "fine"}\n' + line + b"\n")
    with pytest.raises(DataError, match=r"data\.jsonl:2: ") as error:
        load_dataset(file)
    assert len(str(error.value)) < 500
    assert load_dataset(file, on_bad_row="skip").documents.texts == ["fine"]


@pytest.mark.parametrize("encoding", ["utf-NaN8", "utf-32", "idna", "hex", "x" * 500])
def test_an_encoding_that_nobody_knows_is_a_refusal(tmp_path: Path, encoding: str) -> None:
    """Or entities would be hidden behind it: rdflib reads on as UTF-8."""
    file = tmp_path / "vocabulary.rdf"
    file.write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE a [<!ENTITY b "&c;&c;">]>\n<a>&b;</a>\n')
    with pytest.raises(DataError, match=r"vocabulary\.rdf: (XML in an encoding|expected SKOS)"):
        load_labels(file)
