"""The same three labels and four documents, in every format that can hold them."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.sparse import csr_matrix, save_npz

NATIVE = {
    "labels.jsonl": (
        '{"id": "a", "name": "apples", "description": "a fruit", "alternatives": ["pome"], "parents": ["c"]}\n'
        '{"id": "b", "name": "bears"}\n'
        '{"id": "c", "name": "crops"}\n'
    ),
    "train.jsonl": (
        '{"id": "1", "title": "Orchard", "text": "red \\"apples\\", ripe", "labels": ["a", "c"]}\n'
        '{"id": "2", "text": "a brown bear\\twith a tab", "labels": ["b"]}\n'
        '{"id": "3", "text": "nothing known"}\n'
    ),
    "test.jsonl": '{"id": "4", "text": "grüne Äpfel", "labels": ["a"]}\n',
}
BOW = {
    "train.txt": "3 4 3\n0,2 0:1.5 3:2\n1 1:1\n 2:0.25\n",
    "test.txt": "1 4 3\n0 0:1\n",
}
XMC_SPLIT = {
    "trn_X_Xf.txt": "3 4\n0:1.5 3:2\n1:1\n\n",
    "trn_X_Y.txt": "3 3\n0:1 2:1\n1:1\n\n",
    "tst_X_Xf.txt": "1 4\n0:1\n",
    "tst_X_Y.txt": "1 3\n0:1\n",
    "Y.txt": "apples\nbears\ncrops\n",
}
XMC_RAW = {
    "lbl.json": '{"uid": "L0", "title": "apples"}\n{"uid": "L1", "title": "bears"}\n{"uid": "L2", "title": "crops"}\n',
    "trn.json": (
        '{"uid": "1", "title": "Orchard", "content": "red", "target_ind": [0, 2], "target_rel": [1.0, 1.0]}\n'
        '{"uid": "2", "title": "bear", "content": "", "target_ind": [1, 2], "target_rel": [1.0, 0.0]}\n'
    ),
    "tst.json": '{"uid": "4", "title": "t", "content": "green", "target_ind": [0], "target_rel": [1.0]}\n',
    "filter_labels_train.txt": "0 2\n1 1\n",
}
TEXT2TEXT = {"output-items.txt": "apples\nbears\ncrops\n", "train.txt": "0,2:0.5\tred apples\n1\ta bear\n\tnone\n"}
ATTENTION = {
    "train_texts.txt": "Orchard/SEP/red apples\na bear\n",
    "train_labels.txt": "a c\nb\n",
    "test_texts.txt": "green\n",
    "test_labels.txt": "a d\n",
}
LIBMULTILABEL = {"train.txt": "1\ta c\tred\tapples\n2\tb\ta bear\n", "test.txt": "a\tgreen\n"}
ANNIF_TSV = {
    "vocabulary.tsv": "<http://x/a>\tapples\t1.1\n<http://x/b>\tbears\n<http://x/c>\tcrops\n",
    "train.tsv": "red apples\t<http://x/a> <http://x/c>\na bear\t<http://x/b>\n",
}
ANNIF_CSV = {
    "vocab.csv": "uri,notation,label_en,label_fi\nhttp://x/a,1,apples,omenat\nhttp://x/b,,bears,karhut\n",
    "train.csv": 'document_id,text,subject_uris\n7,"red, ""ripe"" apples",<http://x/a> <http://x/b>\n8,a bear,\n',
}
ANNIF_JSONL = {
    "vocabulary.tsv": "<http://x/a>\tapples\n<http://x/b>\tbears\n",
    "train.jsonl": (
        '{"document_id": "7", "text": "red", "subjects": [{"uri": "http://x/a"}, {"label": "bears"}],'
        ' "metadata": {"title": "Orchard"}}\n{"text": "none"}\n'
    ),
}
ANNIF_FOLDER = {
    "vocabulary.tsv": "<http://x/a>\tapples\n<http://x/b>\tbears\n",
    "one.txt": "red apples\nripe",
    "one.tsv": "<http://x/a>\tapples\n",
    "two.txt": "a bear",
    "two.key": "bears\n",
    "three.txt": "unknown",
}
CSV = {"train.csv": 'id,title,text,labels\n1,Orchard,"red\napples",a;c\n2,,a bear,"[""b""]"\n', "test.csv": "text\nx\n"}
SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://x/a> a skos:Concept ; skos:prefLabel "apples"@en, "omenat"@fi ; skos:altLabel "pomes"@en, "omput"@fi ;
  skos:definition "a fruit"@en ; skos:broader <http://x/c> .
<http://x/b> a skos:Concept ; skos:prefLabel "bears"@en ; owl:deprecated true .
<http://x/c> a skos:Concept ; skos:prefLabel "crops" .
"""
ANNIF_SKOS = {"thesaurus.ttl": SKOS, "train.tsv": "red apples\t<http://x/a>\n"}


def npz(rows: list[list[int]]) -> bytes:
    content = io.BytesIO()
    save_npz(content, csr_matrix(rows, dtype="float32"))
    return content.getvalue()


PECOS: dict[str, str | bytes] = {
    "X.trn.txt": "red apples\na bear\nnone\n",
    "Y.trn.npz": npz([[1, 0, 1], [0, 1, 0], [0, 0, 0]]),
    "output-items.txt": "apples\nbears\ncrops\n",
}

FOLDERS: dict[str, tuple[str, dict[str, str] | dict[str, str | bytes]]] = {  # name: (format, files)
    "native": ("native", NATIVE),
    "bow": ("xmc-bow", BOW),
    "xmc_split": ("xmc-split", XMC_SPLIT),
    "xmc_raw": ("xmc-raw", XMC_RAW),
    "pecos": ("pecos", PECOS),
    "text2text": ("pecos", TEXT2TEXT),
    "attentionxml": ("attentionxml", ATTENTION),
    "libmultilabel": ("libmultilabel", LIBMULTILABEL),
    "annif_tsv": ("annif", ANNIF_TSV),
    "annif_csv": ("annif", ANNIF_CSV),
    "annif_jsonl": ("annif", ANNIF_JSONL),
    "annif_skos": ("annif", ANNIF_SKOS),
    "annif_folder": ("annif-folder", ANNIF_FOLDER),
    "csv": ("csv", CSV),
}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder by its name above, or given files; `gz` compresses every file of text."""

    def build(name: str, files: dict[str, bytes] | None = None, *, gz: bool = False) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file, content in (files or FOLDERS[name][1]).items():
            data = content.encode() if isinstance(content, str) else content
            packed = gz and not file.endswith(".npz")
            (folder / (f"{file}.gz" if packed else file)).write_bytes(gzip.compress(data) if packed else data)
        return folder

    return build


@pytest.fixture(scope="session")
def folders() -> dict[str, tuple[str, dict[str, bytes]]]:
    return {
        name: (
            kind,
            {file: content.encode() if isinstance(content, str) else content for file, content in files.items()},
        )
        for name, (kind, files) in FOLDERS.items()
    }
