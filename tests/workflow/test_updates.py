"""A model that is changed: in memory, in a folder, and by two at the same time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cli.conftest import LABELS, bytes_of, write_lines
from tests.listening import Recorder

import everylabel
from everylabel.data import load_labelled
from everylabel.data.dataset import Label
from everylabel.errors import ConfigError, DataError, ModelError
from everylabel.run import Run
from everylabel.workflow.labels import add_labels, describe_label, find_label, list_labels, remove_labels
from everylabel.workflow.learn import history, learn
from everylabel.workflow.models import changing

NEW = [("paddle steamers and their crews", ["seafaring"]), ("how a hive is kept in winter", ["beekeeping"])]


@pytest.fixture
def own(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "own"))


def ids_of(model: Path) -> list[str]:
    return [label.id for label in list_labels(everylabel.load(model))]


def test_labels_come_and_go_in_a_folder(own: Path) -> None:
    assert add_labels(own, [Label("ice", "Ice shelves")]) == (1, 5)
    assert ids_of(own) == [*(label for label, _ in LABELS), "ice"]
    assert remove_labels(own, ["ICE SHELVES", "sea"]) == (2, 3)
    assert ids_of(own) == ["rail", "sky", "new"]


def test_labels_of_a_file(own: Path, tmp_path: Path, run: Run, recorder: Recorder) -> None:
    write_lines(tmp_path / "new.jsonl", [{"id": "ice", "name": "Ice shelves"}])
    assert add_labels(own, tmp_path / "new.jsonl", run=run) == (1, 5)
    assert recorder.started == ["reading new.jsonl (kB)"]


def test_a_model_in_memory_is_changed_there_alone(own: Path) -> None:
    method, before = everylabel.load(own), bytes_of(own)
    add_labels(method, [Label("ice", "Ice shelves")])
    remove_labels(method, ["sea"])
    assert [(label.id, label.documents) for label in list_labels(method)] == [
        ("rail", 1),
        ("sky", 1),
        ("new", 0),
        ("ice", 0),
    ]
    assert bytes_of(own) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda model: add_labels(model, [Label("ice", "Ice shelves"), Label("sea", "Again")]),
        lambda model: remove_labels(model, ["rail", "nonsense"]),
        lambda model: learn(model, NEW),
    ],
)
def test_what_cannot_be_changed_changes_nothing(own: Path, change: Callable[[Path], object]) -> None:
    before = bytes_of(own)
    with pytest.raises((DataError, ConfigError)):
        change(own)
    assert bytes_of(own) == before
    assert add_labels(own, [Label("ice", "Ice shelves")]).n_labels == 5  # and the lock is gone


def test_of_updates_at_the_same_time_none_is_lost(own: Path) -> None:
    """Each reads the model, changes it and writes it: without a lock the last one would win."""

    def work(worker: int) -> None:
        for i in range(5):
            add_labels(own, [Label(f"{worker}-{i}", f"Label {i} of worker {worker}")])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert sorted(ids_of(own)[4:]) == sorted(f"{worker}-{i}" for worker in range(3) for i in range(5))


def test_what_somebody_else_put_there_meanwhile_stays(own: Path, tmp_path: Path) -> None:
    """By `mv`, which asks for no lock."""
    everylabel.load(own).add_labels([Label("theirs", "Theirs")]).save(tmp_path / "theirs")
    changed = "was changed by somebody else meanwhile; nothing was written"
    with pytest.raises(ModelError, match=changed), changing(own):  # noqa: PT012
        shutil.rmtree(own)
        (tmp_path / "theirs").rename(own)
    assert ids_of(own)[-1] == "theirs"


def test_a_folder_that_cannot_be_replaced_is_found_before_the_change(own: Path) -> None:
    (own / "plain.json").rename(own / "kept")
    (own / "plain.json").symlink_to("kept")  # fine: what it points to stays
    add_labels(own, [Label("ice", "Ice shelves")])
    assert (own / "kept").is_file()
    (own / "arrays" / f"{'0' * 24}.npy").mkdir()
    with pytest.raises(ModelError, match="in the place of one of ours"), changing(own):
        raise AssertionError


def test_documents_are_learned_in_a_folder_or_in_memory(
    tagger: Path, tmp_path: Path, run: Run, recorder: Recorder
) -> None:
    write_lines(tmp_path / "new.jsonl", [{"text": text, "labels": labels} for text, labels in NEW])
    in_memory = everylabel.load(tagger)
    by_file = learn(tagger, tmp_path / "new.jsonl", run=run)
    by_pairs = learn(in_memory, NEW)
    by_data = learn(everylabel.load(tagger), load_labelled(tmp_path / "new.jsonl", in_memory.labels_))
    assert by_file == by_pairs
    assert (by_data.documents, by_data.pairs) == (2, 2)
    assert recorder.started[0] == "reading new.jsonl (kB)"
    assert [event["what"] for event in history(tagger)] == ["fitted", "learned"]
    assert [event["what"] for event in history(in_memory)] == ["fitted", "learned"]


def test_what_only_a_tagger_can(own: Path) -> None:
    with pytest.raises(ConfigError, match=f"{own}: method 'popularity' cannot learn from new documents"):
        learn(own, NEW)
    with pytest.raises(ConfigError, match=r"^method 'popularity' keeps no history"):
        history(everylabel.load(own))
    with pytest.raises(ConfigError, match=f"{own}: method 'popularity' has no descriptions of labels"):
        describe_label(everylabel.load(own), "sea", own)


def test_a_label_is_found_by_its_id_or_its_name(own: Path) -> None:
    known = everylabel.load(own).labels_
    assert find_label(known, "sea") == find_label(known, "seaFARING") == "sea"
    with pytest.raises(DataError, match="did you mean 'Seafaring'"):
        find_label(known, "Seafarin")
