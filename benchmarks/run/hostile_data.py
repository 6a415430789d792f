"""One small data set of every format, and all that is read of one: what hostile trials of data begin from."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

from tests.data.conftest import FOLDERS, SKOS

from everylabel.data import available_splits, load_dataset
from everylabel.data.inspect import inspect
from everylabel.errors import EverylabelError


def data_sets() -> dict[str, tuple[str, dict[str, bytes]]]:
    """Name -> (format, files)."""
    found = {
        name: {file: content.encode() if isinstance(content, str) else content for file, content in files.items()}
        for name, (_, files) in FOLDERS.items()
    }
    formats = {name: kind for name, (kind, _) in FOLDERS.items()}
    documents = {"train.tsv": b"red apples\t<http://x/a>\n"}
    found["annif_rdf"] = {"thesaurus.rdf": _skos("xml"), **documents}
    found["annif_nt"] = {"thesaurus.nt": _skos("nt"), **documents}
    found["parquet"] = {"train.parquet": _parquet(), "labels.jsonl": found["native"]["labels.jsonl"]}
    found["native_gz"] = {f"{name}.gz": gzip.compress(data) for name, data in found["native"].items()}
    others = {"annif_rdf": "annif", "annif_nt": "annif", "parquet": "parquet", "native_gz": "native"}
    return {name: ((formats | others)[name], files) for name, files in found.items()}


def read_all(folder: Path, kind: str) -> None:
    """As it looks, and as what it was: every split with its labels, as it is and with bad rows skipped, and inspected.

    The last refusal is that of the trial."""
    refusal: EverylabelError | None = None
    for format in (None, kind):
        try:
            for split in available_splits(folder, format=format):
                _read(folder, split, format)
            inspect(folder, format=format)
        except EverylabelError as error:
            refusal = error
    if refusal is not None:
        raise refusal


def _read(folder: Path, split: str, format: str | None) -> None:
    load_dataset(folder, split, format=format, on_bad_row="skip")
    dataset = load_dataset(folder, split, format=format)
    assert len(dataset.documents.texts) == len(dataset)
    assert dataset.pairs is None or dataset.pairs.shape == (len(dataset), len(dataset.labels))


def _skos(kind: str) -> bytes:
    from rdflib import Graph

    return Graph().parse(data=SKOS, format="turtle").serialize(format=kind).encode()


def _parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet

    rows = {"id": ["1", "2"], "text": ["red apples", "a bear"], "labels": [["a", "c"], ["b"]]}
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(rows), stream)
    return stream.getvalue()
