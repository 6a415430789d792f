"""Each format: detected by its files, and read to what the files say."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz
from tests.data.conftest import SKOS
from tests.listening import Recorder

from everylabel.data import available_splits, detect_format, load_dataset, load_filter, load_labelled, load_labels
from everylabel.data.dataset import Dataset, Label, Translation
from everylabel.errors import ConfigError, DataError
from everylabel.run import Run

Make = Callable[..., Path]


def labels_of(dataset: Dataset) -> list[list[str]]:
    pairs = dataset.required_pairs
    return [[dataset.labels[int(i)].id for i in pairs[row].indices] for row in range(len(dataset))]


def test_every_folder_is_detected(make: Make, folders: dict[str, tuple[str, dict[str, bytes]]]) -> None:
    for name, (kind, _) in folders.items():
        assert detect_format(make(name)) == kind, name


def test_splits_can_share_a_vocabulary(make: Make, folders: dict[str, tuple[str, dict[str, bytes]]]) -> None:
    shared = 0
    for name in folders:
        path = make(name)
        first, *others = available_splits(path)
        labels = load_dataset(path, first).labels
        for split in others:
            usual, found = load_dataset(path, split), load_dataset(path, split, labels=labels)
            assert found.labels is labels
            assert (usual.labels, usual.documents.ids) == (found.labels, found.documents.ids), name
            assert labels_of(usual) == labels_of(found) if usual.pairs is not None else found.pairs is None
            shared += 1
    assert shared > 4


def test_a_vocabulary_that_is_shared_is_not_read_again(make: Make) -> None:
    path = make("native")
    labels = load_dataset(path, "train").labels
    (path / "labels.jsonl").write_text("no vocabulary any more")
    assert labels_of(load_dataset(path, "test", labels=labels)) == [["a"]]


@pytest.mark.parametrize("gz", [False, True])
def test_native(make: Make, gz: bool) -> None:
    path = make("native", gz=gz)
    train = load_dataset(path)
    assert available_splits(path) == ["train", "test"]
    assert train.labels[0] == Label("a", "apples", "a fruit", ("pome",), ("c",))
    assert train.documents.ids == ["1", "2", "3"]
    assert train.documents.titles == ["Orchard", "", ""]
    assert train.documents.texts == ['red "apples", ripe', "a brown bear\twith a tab", "nothing known"]
    assert labels_of(train) == [["a", "c"], ["b"], []]
    assert load_dataset(path, "test").documents.texts == ["grüne Äpfel"]
    assert train.name == "native"


def test_a_native_file_uses_the_vocabulary_beside_it(make: Make) -> None:
    path = make("native") / "test.jsonl"
    assert available_splits(path) == ["test"]
    assert len(load_dataset(path, "anything").labels) == 3


def test_bag_of_words(make: Make) -> None:
    train = load_dataset(make("bow"))
    assert train.documents.texts == ["", "", ""]
    assert train.documents.features is not None
    np.testing.assert_array_equal(train.documents.features.toarray(), [[1.5, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0.25, 0]])
    assert labels_of(train) == [["0", "2"], ["1"], []]


def test_xmc_split(make: Make) -> None:
    path = make("xmc_split")
    train = load_dataset(path)
    assert train.labels.names == ["apples", "bears", "crops"]
    assert labels_of(train) == [["0", "2"], ["1"], []]
    assert train.documents.features is not None
    assert train.documents.features.shape == (3, 4)
    (path / "Y.txt").rename(path / "Yf.txt")
    assert load_labels(path).names == ["apples", "bears", "crops"]
    (path / "Y_Yf.txt").write_text("3 3\n0:1 2:2\n1:1\n2:1\n")
    assert load_labels(path).names == ["crops apples", "bears", "crops"]


@pytest.mark.parametrize("gz", [False, True])
def test_xmc_raw_text(make: Make, gz: bool) -> None:
    path = make("xmc_raw", gz=gz)
    train = load_dataset(path)
    assert train.labels.names == ["apples", "bears", "crops"]
    assert train.documents.texts == ["red", "bear"]
    assert train.documents.titles == ["Orchard", ""]
    assert labels_of(train) == [["0", "2"], ["1"]]
    found = load_filter(path, "train", 2, 3)
    assert found is not None
    np.testing.assert_array_equal(found.toarray(), [[0, 0, 1], [0, 1, 0]])
    assert load_filter(path, "test", 2, 3) is None
    with pytest.raises(DataError, match=r"filter_labels_train.*:2: expected a document below 1"):
        load_filter(path, "train", 1, 3)


@pytest.mark.parametrize("name", ["pecos", "text2text"])
def test_pecos(make: Make, name: str) -> None:
    train = load_dataset(make(name))
    assert train.documents.texts[:2] == ["red apples", "a bear"]
    assert train.labels.names == ["apples", "bears", "crops"]
    assert labels_of(train) == [["0", "2"], ["1"], []]


def test_ready_features_of_pecos_archives(make: Make) -> None:
    path = make("pecos")
    features = csr_matrix(np.array([[0.5, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 0.25, 0]]))
    (path / "tfidf-attnxml").mkdir()
    save_npz(path / "tfidf-attnxml" / "X.trn.npz", features)
    assert load_dataset(path).documents.features is None
    train = load_dataset(path, features="tfidf-attnxml")
    assert train.documents.texts[:2] == ["red apples", "a bear"]
    assert not train.documents.is_bag_of_words
    assert train.documents.features is not None
    np.testing.assert_array_equal(train.documents.features.toarray(), features.toarray().astype(np.float32))
    assert load_dataset(path, features="tfidf-attnxml", limit=1).documents.features.shape == (1, 4)  # type: ignore[union-attr]
    save_npz(path / "tfidf-attnxml" / "X.trn.npz", features[:2])
    with pytest.raises(DataError, match=r"expected 2 lines, as tfidf-attnxml/X\.trn\.npz has rows"):
        load_dataset(path, features="tfidf-attnxml")
    with pytest.raises(DataError, match=r"other/X\.trn\.npz: expected the features of the train documents"):
        load_dataset(path, features="other")
    with pytest.raises(ConfigError, match="native data have no ready features"):
        load_dataset(make("native"), features="tfidf-attnxml")
    with pytest.raises(DataError, match=r"--features needs texts as X\.trn\.txt"):
        load_dataset(make("text2text"), features="tfidf-attnxml")


def test_attentionxml_collects_labels_of_all_splits(make: Make) -> None:
    path = make("attentionxml")
    train, test = load_dataset(path), load_dataset(path, "test")
    assert train.documents.titles == ["Orchard", ""]
    assert train.documents.texts == ["red apples", "a bear"]
    assert train.labels.ids == test.labels.ids == ["a", "b", "c", "d"]
    assert labels_of(test) == [["a", "d"]]


def test_libmultilabel_with_and_without_ids(make: Make) -> None:
    path = make("libmultilabel")
    train, test = load_dataset(path), load_dataset(path, "test")
    assert train.documents.ids == ["1", "2"]
    assert train.documents.texts == ["red\tapples", "a bear"]
    assert labels_of(train) == [["a", "c"], ["b"]]
    assert test.documents.texts == ["green"]


def test_annif_tsv(make: Make) -> None:
    train = load_dataset(make("annif_tsv"))
    assert train.documents.texts == ["red apples", "a bear"]
    assert labels_of(train) == [["http://x/a", "http://x/c"], ["http://x/b"]]
    assert train.labels.names == ["apples", "bears", "crops"]


def test_annif_csv_in_two_languages(make: Make) -> None:
    path = make("annif_csv")
    train = load_dataset(path)
    assert train.documents.ids == ["7", "8"]
    assert train.documents.texts == ['red, "ripe" apples', "a bear"]
    assert labels_of(train) == [["http://x/a", "http://x/b"], []]
    finnish = load_labels(path, language="fi")
    assert finnish.names == ["omenat", "karhut"]
    assert (finnish.language, finnish.languages) == ("fi", ("en",))
    assert finnish[0].translations == (Translation("en", "apples"),)
    assert list(finnish.notations) == list(load_labels(path).notations) == ["1", ""]


def test_annif_tsv_has_notations(tmp_path: Path) -> None:
    (tmp_path / "subjects.tsv").write_text("<http://x/a>\tapples\t63.1\n<http://x/b>\tbears\n")
    labels = load_labels(tmp_path / "subjects.tsv")
    assert labels.names == ["apples", "bears"]
    assert labels.notations == ["63.1", ""]


def test_native_labels_have_all_that_a_label_has(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(
        '{"id": "a", "name": "ships", "notation": "7", "uri": "http://x/a", "types": ["t"], "schemes": ["s"],'
        ' "mine": 1, "related": ["b"], "language": "en", "translations": [{"language": "fi", "text": "laivat"}],'
        ' "deprecated": true, "replaced_by": ["b"]}\n{"id": "b", "name": "b", "translations": null}\n'
    )
    about: dict[str, Any] = {
        "translations": (Translation("fi", "laivat"),),
        "deprecated": True,
        "replaced_by": ("b",),
        "language": "en",
    }
    ships = Label("a", "ships", notation="7", uri="http://x/a", types=("t",), schemes=("s",), related=("b",), **about)
    assert load_labels(file) == [ships, Label("b", "b")]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('"notation": 7', "the notation of a label is an int"),
        ('"types": "x"', 'expected lists of texts under "types"'),
        ('"translations": [["fi", "x"]]', 'expected "translations" as a list of'),
        ('"translations": [{"language": "fi"}]', "expected a translation"),
        ('"translations": [{"language": "f!", "text": "x"}]', "expected a language such as fi"),
        ('"deprecated": "yes"', "deprecated is a str"),
    ],
)
def test_what_a_native_label_cannot_have_is_a_bad_row(tmp_path: Path, said: str, message: str) -> None:
    (tmp_path / "labels.jsonl").write_text(f'{{"id": "a", "name": "a", {said}}}\n{{"id": "b", "name": "b"}}\n')
    with pytest.raises(DataError, match=rf"labels\.jsonl:1: .*{re.escape(message)}.*; correct the line"):
        load_labels(tmp_path / "labels.jsonl")
    assert load_labels(tmp_path / "labels.jsonl", on_bad_row="skip").ids == ["b"]


def test_pairs_of_a_deprecated_label_go_to_its_replacement_and_that_is_said(make: Make) -> None:
    replaced = SKOS.replace("owl:deprecated true", "owl:deprecated true ; dct:isReplacedBy <http://x/c>")
    files = {
        "thesaurus.ttl": f"@prefix dct: <http://purl.org/dc/terms/> .\n{replaced}",
        "train.tsv": "a bear\t<http://x/b> <http://x/a>\nbears and crops\t<http://x/b> <http://x/c>\n",
    }
    path, recorder = make("replaced", files), Recorder()
    data = load_dataset(path, run=Run(reporter=recorder))
    assert labels_of(data) == [["http://x/a", "http://x/c"], ["http://x/c"]]
    (said,) = [line for line in recorder.said if "are deprecated" in line]
    assert said.endswith("replaced: 2 labels of documents are deprecated, and read as the labels that replaced them")
    known = load_labelled(path / "train.tsv", load_labels(path), run=Run(reporter=recorder))
    assert labels_of(known) == labels_of(data)


def test_annif_json_lines_name_labels_by_uri_or_name(make: Make) -> None:
    train = load_dataset(make("annif_jsonl"))
    assert train.documents.titles == ["Orchard", ""]
    assert labels_of(train) == [["http://x/a", "http://x/b"], []]


def test_annif_folder(make: Make) -> None:
    data = load_dataset(make("annif_folder"))
    assert data.documents.ids == ["one", "three", "two"]
    assert data.documents.texts[0] == "red apples\nripe"
    assert labels_of(data) == [["http://x/a"], [], ["http://x/b"]]


def test_skos(make: Make) -> None:
    path = make("annif_skos")
    english, finnish = load_labels(path), load_labels(path / "thesaurus.ttl", language="fi")
    translations = (Translation("fi", "omenat"), Translation("fi", "omput", "alternative"))
    about: dict[str, Any] = {"translations": translations, "language": "en"}
    assert english[0] == Label("http://x/a", "apples", "a fruit", ("pomes",), ("http://x/c",), **about)
    assert english.ids == ["http://x/a", "http://x/b", "http://x/c"]
    assert english.deprecated.tolist() == [False, True, False]
    assert finnish.names == ["omenat", "bears", "crops"]
    assert list(finnish.name_languages) == ["fi", "en", ""]


def test_csv(make: Make) -> None:
    path = make("csv")
    train = load_dataset(path)
    assert train.documents.titles == ["Orchard", ""]
    assert train.documents.texts == ["red\napples", "a bear"]
    assert labels_of(train) == [["a", "c"], ["b"]]
    assert load_dataset(path, "test").pairs is None  # no label column, so nothing is labelled


def test_csv_columns_are_chosen(tmp_path: Path) -> None:
    file = tmp_path / "reports.csv"
    file.write_text("body,tags\nred apples,a|c\n")
    data = load_dataset(file, text_column="body", label_column="tags", label_separator="|")
    assert labels_of(data) == [["a", "c"]]
    with pytest.raises(DataError, match=r"reports\.csv: expected a column 'text'.*body, tags.*text_column"):
        load_dataset(file)
    with pytest.raises(ConfigError, match="label_separator"):
        load_dataset(file, label_separator="")


def test_parquet_with_lists_and_parts(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for part, (text, labels) in enumerate([("red", ["a", "c"]), ("bear", None)]):
        table = pyarrow.table({"text": [text], "labels": pyarrow.array([labels], pyarrow.list_(pyarrow.string()))})
        parquet.write_table(table, tmp_path / f"train-0000{part}-of-00002.parquet")
    data = load_dataset(tmp_path)
    assert data.documents.texts == ["red", "bear"]
    assert labels_of(data) == [["a", "c"], []]


def test_a_vocabulary_of_ones_own(make: Make, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("malus\nursus\nmesses\n")
    assert load_dataset(make("bow"), vocabulary=names).labels.names == ["malus", "ursus", "messes"]
    listed = tmp_path / "own.csv"
    listed.write_text("id,name\na,malus\nb,ursus\nc,messes\nd,more\n")
    assert load_dataset(make("attentionxml"), vocabulary=listed).labels.names == ["malus", "ursus", "messes", "more"]


def test_collected_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,labels\nx,10;9\ny,b\n")
    assert load_dataset(tmp_path / "x.csv").labels.ids == ["9", "10", "b"]


def test_no_label_at_all_means_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n{"text": "b", "labels": []}\n')
    assert load_dataset(tmp_path / "x.jsonl").pairs is None


def test_what_cannot_be_read_is_explained(make: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: expected a data folder or file"):
        load_dataset(tmp_path / "nowhere")
    (tmp_path / "odd").mkdir()
    with pytest.raises(DataError, match="an empty folder"):
        detect_format(tmp_path / "odd")
    (tmp_path / "odd" / "notes.doc").write_text("x")
    with pytest.raises(DataError, match=r"notes\.doc"):
        detect_format(tmp_path / "odd")
    with pytest.raises(DataError, match=r"no split 'dev'.*train, test"):
        load_dataset(make("native"), "dev")
    with pytest.raises(ConfigError, match=r"unknown format 'xml'.*native"):
        load_dataset(tmp_path / "native", format="xml")


def test_a_huge_header_is_damage_not_memory(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("1 1 99999999999\n0 0:1\n")
    with pytest.raises(DataError, match=r"x\.txt.*99,999,999,999"):
        load_dataset(tmp_path / "x.txt")


def test_optional_libraries_are_not_imported() -> None:
    code = "import sys, everylabel.data.formats.load; assert not {'rdflib', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("library", "extra"), [("rdflib", "skos"), ("pyarrow", "parquet")])
def test_a_missing_library_names_its_extra(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    path = make("annif_skos") if extra == "skos" else tmp_path / "x.parquet"
    with pytest.raises(DataError, match=rf"pip install everylabel\[{extra}\]"):
        load_dataset(path)
