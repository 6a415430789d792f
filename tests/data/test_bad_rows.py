"""What a bad row says, and what skipping does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from everylabel.data import BadRows, load_dataset
from everylabel.errors import ConfigError, DataError

Make = Callable[..., Path]
GOOD = b'{"id": "1", "text": "x", "labels": ["a"]}\n'
LABELS = b'{"id": "a", "name": "apples"}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b'{"text": "x", "labels": ["q9"]}',
            r"train\.jsonl:2: label 'q9' is not in labels\.jsonl; add it, or pass --on-",
        ),
        (b'{"text": "x\xff"}', r"train\.jsonl:2: expected UTF-8, got byte 0xff at position 12; save the file as UTF-8"),
        (b'{"text": 7}', r'train\.jsonl:2: expected a text under "text", got 7'),
        (b'{"body": "x"}', r"train\.jsonl:2: .*the keys \['body'\]"),
        (b'{"text": "x", "labels": "a"}', r"train\.jsonl:2: expected a list of label ids"),
        (b'{"text": "x", "title": []', r"train\.jsonl:2: expected one JSON object a line"),
        (b'{"text": "x", "title": [1]}', r'train\.jsonl:2: expected a text under "title"'),
        (b'{"text": "x", "id": {}}', r"train\.jsonl:2: expected a text or a number under"),
        (b'{"text": "\\ud800"}', r"train\.jsonl:2: expected Unicode text, got half a surrogate pair"),
        (b"[" * 100_000, r"train\.jsonl:2: expected one JSON object"),
        (b"[1]", r"train\.jsonl:2: expected a JSON object"),
    ],
)
def test_native_rows(make: Make, line: bytes, message: str) -> None:
    path = make("data", {"labels.jsonl": LABELS, "train.jsonl": GOOD + line + b"\n" + GOOD})
    with pytest.raises(DataError, match=message):
        load_dataset(path)
    bad = BadRows("skip")
    assert len(load_dataset(path, bad_rows=bad)) == 2
    assert bad.count == 1
    assert bad.messages[0].startswith("train.jsonl:2: ")
    assert "--on-bad-row" not in bad.messages[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"name": "x"}', r'labels\.jsonl:2: expected a label with a text under "id"'),
        (b'{"id": "a", "name": "again"}', r"labels\.jsonl:2: label id 'a' occurs twice"),
        (b'{"id": "b", "name": 3}', r"labels\.jsonl:2: expected texts"),
        (b'{"id": "b", "parents": "a"}', r"labels\.jsonl:2: expected lists"),
    ],
)
def test_vocabulary_rows(make: Make, line: bytes, message: str) -> None:
    path = make("data", {"labels.jsonl": LABELS + line + b"\n", "train.jsonl": GOOD})
    with pytest.raises(DataError, match=message):
        load_dataset(path)
    assert load_dataset(path, on_bad_row="skip").labels.ids == ["a"]


@pytest.mark.parametrize(
    ("folder", "file", "content", "message"),
    [
        ("bow", "train.txt", b"1 2 3\n7 0:1\n", r"train\.txt:2: expected labels from 0 to 2, got '7'"),
        ("bow", "train.txt", b"1 2 3\n1 5:1\n", r"train\.txt:2: expected indices from 0 to 1, got 5 to 5"),
        ("bow", "train.txt", b"1 2 3\n1 0:x\n", r"train\.txt:2: expected pairs 'index:value' of numbers"),
        ("bow", "train.txt", b"1 2 3\n1 0:nan\n", r"train\.txt:2: expected finite values"),
        ("xmc_split", "trn_X_Y.txt", b"3 3\n0:1\n", r"expected as many rows in each of .*differ from row 2"),
        ("xmc_raw", "trn.json", b'{"target_ind": [-1]}', r"trn\.json:1: expected texts .* whole numbers"),
        ("pecos", "X.trn.txt", b"one\n", r"X\.trn\.txt: expected 3 lines"),
        ("pecos", "Y.trn.npz", b"PK\x03\x04", r"Y\.trn\.npz: expected a sparse matrix"),
        ("text2text", "train.txt", b"x,1\ttext\n", r"train\.txt:1: expected 'label,label<TAB>text'"),
        (
            "attentionxml",
            "train_labels.txt",
            b"a\n",
            r"train_texts\.txt: expected as many lines as in train_labels\.txt",
        ),
        (
            "libmultilabel",
            "train.txt",
            b"1\ta\tx\n" * 100 + b"y\tz\n",
            r"train\.txt:101: expected id<TAB>labels<TAB>text",
        ),
        ("annif_tsv", "train.tsv", b"x\t<http://x/q>\n", r"train\.tsv:1: label 'http://x/q' is not in vocabulary\.tsv"),
        ("annif_skos", "thesaurus.ttl", b"<a", r"thesaurus\.ttl: expected SKOS as turtle"),
        ("csv", "train.csv", b"text,labels\nx\n", r"train\.csv:2: expected 2 columns"),
        ("csv", "train.csv", b'text,labels\n"x,a\n', r"train\.csv:2: expected well-formed quotes"),
        ("csv", "train.csv", b"text,labels\n\xffx,a\n", r"train\.csv:2: expected UTF-8, got byte 0xff"),
        ("native", "train.jsonl", b"\xff\xfe{\x00", r"train\.jsonl: expected UTF-8 text, got UTF-16"),
    ],
)
def test_rows_of_other_formats(make: Make, folder: str, file: str, content: bytes, message: str) -> None:
    path = make(folder)
    kind = {"bow": "xmc-bow", "text2text": "pecos", "annif_tsv": "annif", "annif_skos": "annif"}
    (path / file).write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_dataset(path, format=kind.get(folder, folder.replace("_", "-")))


def test_an_unknown_policy(make: Make) -> None:
    with pytest.raises(ConfigError, match="'error' or 'skip'"):
        load_dataset(make("native"), on_bad_row="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [0, 2, 11, -9, -1])
def test_truncated_gzip_names_the_file(make: Make, cut: int) -> None:
    path = make("native", gz=True)
    file = path / "train.jsonl.gz"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"train\.jsonl\.gz: expected a whole gzip file.*interrupted"):
        load_dataset(path, on_bad_row="skip")


def test_marks_line_ends_and_long_lines(make: Make) -> None:
    long = b'{"id": "2", "text": "' + b"word " * 2_000_000 + b'", "labels": ["a"]}\r\n'
    content = b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + b"\r\n" + long
    data = load_dataset(make("data", {"labels.jsonl": b"\xef\xbb\xbf" + LABELS, "train.jsonl": content}))
    assert data.documents.ids == ["1", "2"]
    assert len(data.documents.texts[1]) == 10_000_000
    table = b"text,labels\r\n" + b"x" * 10_000_000 + b",a\r\n"
    assert len(load_dataset(make("table", {"train.csv": table})).documents.texts[0]) == 10_000_000
