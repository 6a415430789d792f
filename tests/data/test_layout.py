"""What somebody says about the layout of data: columns, separators, limits; and tables as spreadsheets write them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.listening import Recorder

from everylabel.data import available_splits, detect_format, load_dataset, load_documents, load_labels
from everylabel.data.dataset import Dataset
from everylabel.errors import ConfigError, DataError
from everylabel.run import Run

Make = Callable[..., Path]
EXCEL = (
    "\ufeffNr;Titel;Abstract;Subjects\r\n"
    '1;Bienen;"Honig; ""Waben""";bees|honey\r\n'
    "2;Schiffe;Segeln auf dem Meer;ships|sea\r\n"
    ";;;\r\n"
)


def labels_of(data: Dataset) -> list[list[str]]:
    assert data.pairs is not None
    return [[data.labels.ids[i] for i in row.indices] for row in data.pairs]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.tsv", EXCEL),
        ("x.csv", EXCEL),
        ("x.csv", "sep=;\r\n" + EXCEL.removeprefix("\ufeff")),
        ("x.txt", EXCEL.replace('"Honig; ""Waben"""', "Honig").replace(";", "\t")),
        ("x.csv", EXCEL.replace(";", ",")),
    ],
)
def test_named_columns_settle_the_format_and_any_separator_of_cells_is_found(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    said = {"text_column": "Abstract", "title_column": "Titel", "label_column": "subjects", "label_separator": "|"}
    data = load_dataset(tmp_path / name, **said)  # type: ignore[arg-type]
    assert data.documents.titles == ["Bienen", "Schiffe"]
    assert data.documents.texts[0].startswith("Honig")
    assert sorted(labels_of(data)[1]) == ["sea", "ships"]


def test_a_table_is_not_read_as_libmultilabel(tmp_path: Path) -> None:
    file = tmp_path / "x.tsv"
    file.write_text("title\tabstract\tkeywords\nBees\thoney and wax\tbees\n")
    assert detect_format(file) == "csv"
    with pytest.raises(DataError, match="the columns title, abstract, keywords; name it with --text-column"):
        load_dataset(file)
    file.write_text("a b\tred apples\n")
    assert detect_format(file) == "libmultilabel"


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
@pytest.mark.parametrize("option", ["text_column", "title_column", "label_column"])
def test_a_mistyped_column_is_an_error_that_lists_those_there_are(tmp_path: Path, name: str, option: str) -> None:
    file = tmp_path / name
    if name == "x.parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"text": ["x"], "title": ["t"], "labels": ["a"]}), file)
    else:
        file.write_text("text,title,labels\nx,t,a\n" if name == "x.csv" else '{"text": "", "title": "", "labels": []}')
    with pytest.raises(DataError, match=rf"{name}: expected a column 'tiltle', got the columns text, title, labels"):
        load_dataset(file, **{option: "tiltle"})  # type: ignore[arg-type]


def test_a_near_column_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,subjects\nx,a\n")
    with pytest.raises(DataError, match="did you mean 'subjects'"):
        load_dataset(tmp_path / "x.csv", label_column="subject")


def test_keys_of_json_lines_are_columns(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"body": "x"}\n{"body": "y", "head": "Y", "tags": "a, b"}\n')
    named = load_dataset(
        tmp_path / "x.jsonl", text_column="body", title_column="head", label_column="tags", label_separator=","
    )
    assert (named.documents.texts, named.documents.titles) == (["x", "y"], ["", "Y"])
    assert labels_of(named) == [[], ["a", "b"]]


def test_a_folder_of_tables(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("body\ttags\nred apples\ta\n")
    assert available_splits(tmp_path, text_column="body") == ["train"]
    assert load_dataset(tmp_path, text_column="body", label_column="tags").labels.ids == ["a"]


def test_columns_of_data_that_have_none(make: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="libmultilabel data have no columns, and --text-column names one"):
        load_dataset(make("libmultilabel"), format="libmultilabel", text_column="x")
    (tmp_path / "odd").mkdir()
    with pytest.raises(DataError, match="odd: expected files with columns"):
        load_dataset(tmp_path / "odd", text_column="x")


def test_a_stream_may_be_a_table() -> None:
    def stream(text: str) -> io.BytesIO:
        return io.BytesIO(text.encode())

    assert load_documents(stream(EXCEL), text_column="Abstract", title_column="Titel").titles == ["Bienen", "Schiffe"]
    assert load_documents(stream("text,x\na,b\n"), format="csv").texts == ["a"]
    assert load_documents(stream('{"body": "a"}\n'), text_column="body").texts == ["a"]
    with pytest.raises(DataError, match=r"<stdin>: expected a column 'Abstrct'.*Nr, Titel, Abstract, Subjects"):
        load_documents(stream(EXCEL), text_column="Abstrct")
    with pytest.raises(ConfigError, match="<stdin>: expected the format native or csv, got 'annif'"):
        load_documents(stream("x"), format="annif")


@pytest.mark.parametrize("name", ["native", "csv", "annif_tsv", "bow", "pecos", "libmultilabel"])
def test_a_limit_takes_the_first_documents_and_says_so(make: Make, name: str) -> None:
    path, recorder = make(name), Recorder()
    whole, first = load_dataset(path), load_dataset(path, limit=1, run=Run(reporter=recorder))
    assert first.documents.ids == whole.documents.ids[:1]
    assert f"{path}, train: only the first 1 documents are read (--limit)" in recorder.said
    quiet = Recorder()
    load_dataset(path, limit=len(whole), run=Run(reporter=quiet))
    assert not any("train: only" in line for line in quiet.said)


def test_a_limit_of_documents_to_tag_and_of_labels(make: Make) -> None:
    assert load_documents(io.BytesIO(b"a\nb\nc\n"), limit=2).texts == ["a", "b"]
    assert len(load_documents(make("native"), "train", limit=2)) == 2
    assert load_labels(make("annif_tsv") / "vocabulary.tsv", limit=2).names == ["apples", "bears"]
    with pytest.raises(ConfigError, match="limit must be at least 1"):
        load_documents(io.BytesIO(b"a"), limit=0)


def test_cells_that_hold_several_labels_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,labels\nx,a|b\ny,c|d\nz,a\n")
    recorder = Recorder()
    load_dataset(tmp_path / "x.csv", run=Run(reporter=recorder))
    assert any("'a|b' seem to be several; split them with --label-separator '|'" in line for line in recorder.said)
    silent = Recorder()
    load_dataset(tmp_path / "x.csv", label_separator="|", run=Run(reporter=silent))
    assert silent.said == []


def test_a_table_without_labels_says_which_columns_there_are(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,tags\nx,a\n")
    recorder = Recorder()
    assert load_dataset(tmp_path / "x.csv", run=Run(reporter=recorder)).pairs is None
    assert any("no document has a label; it has the columns text, tags" in line for line in recorder.said)


def test_text_of_another_encoding_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(EXCEL, encoding="utf-16")
    with pytest.raises(DataError, match="text in UTF-16, which must be saved as UTF-8"):
        load_dataset(tmp_path / "x.tsv")
    with pytest.raises(DataError, match="got UTF-16"):
        load_dataset(tmp_path / "x.tsv", text_column="Abstract")
    (tmp_path / "y.csv").write_text("text\ngrün\n", encoding="cp1252")
    with pytest.raises(DataError, match=r"y\.csv:2: expected UTF-8, got byte 0xfc.*save the file as UTF-8"):
        load_dataset(tmp_path / "y.csv")


def test_a_spreadsheet_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match="a spreadsheet, which must be saved as CSV"):
        load_dataset(tmp_path / "x.xlsx")
