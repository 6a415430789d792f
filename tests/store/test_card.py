"""A model folder says what it is: a card that is ours is kept up to date, one that somebody wrote is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.store.conftest import DATA, TEXTS, fitted

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, Translation
from everylabel.errors import ConfigError
from everylabel.metrics.ranking import evaluate
from everylabel.store import check
from everylabel.store.card import is_card
from everylabel.tagger.tagger import Tagger
from everylabel.workflow.card import write_results


def front_of(card: Path) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load(card.read_text(encoding="utf-8").split("---\n")[1])
    return found


def test_a_card_says_what_hubs_and_people_ask(model: Path) -> None:
    card = model / "README.md"
    front, text = front_of(card), card.read_text(encoding="utf-8")
    assert (front["library_name"], front["pipeline_tag"], front["license"]) == (
        "everylabel",
        "text-classification",
        "unknown",
    )
    assert "everylabel" in list(front["tags"])  # type: ignore[call-overload]
    assert "Fitted on 4 documents; 4 labels, of which 4 are suggested" in text
    assert "| tail | 1 to 9 | 4 |" in text
    assert "Not measured yet" in text
    assert 'everylabel.load("MODEL").rank' in text
    assert is_card(card)


def test_languages_are_those_of_the_labels(tmp_path: Path) -> None:
    labels = LabelSet.of(
        [Label("a", "Boot", translations=(Translation("no", "båt", "name"), Translation("x", "?", "name")))]
    )
    everylabel.method("bm25").fit(Dataset(Documents.of(["ein Boot"]), labels)).save(tmp_path / "model")
    assert front_of(tmp_path / "model" / "README.md")["language"] == ["no"]


def test_a_tagger_tells_its_plan_and_history(tmp_path: Path) -> None:
    tagger = Tagger(experts=("bm25",)).fit(Dataset(Documents.of(TEXTS), DATA.labels))
    tagger.add_labels([Label("new", "A new one")]).save(tmp_path / "model")
    text = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "## Plan\n\n    plan: " in text
    assert "labels added: labels 1" in text


def test_our_card_is_kept_up_to_date_and_the_users_front_matter_stays(model: Path) -> None:
    card = model / "README.md"
    card.write_text(card.read_text().replace("license: unknown", "license: cc-by-4.0\nbase: 'mine'"))
    assert is_card(card)
    everylabel.load(model).add_labels([Label("new", "A new one")]).save(model)
    assert "5 labels, of which 5 are suggested" in card.read_text()
    assert front_of(card)["license"] == "cc-by-4.0"
    assert front_of(card)["base"] == "mine"
    once = card.read_bytes()
    everylabel.load(model).save(model)
    assert card.read_bytes() == once


@pytest.mark.parametrize("change", ["appended", "own", "bytes", "link", "folder"])
def test_what_somebody_wrote_is_never_written_to(model: Path, tmp_path: Path, change: str) -> None:
    card = model / "README.md"
    if change == "appended":
        card.write_text(card.read_text() + "\nAsk Mary.\n")
    else:
        card.unlink()
    if change in ("own", "bytes"):
        card.write_bytes(b"# My model" if change == "own" else b"\xff\xfe<!--")
    if change == "link":
        (tmp_path / "elsewhere.md").write_text("mine")
        card.symlink_to(tmp_path / "elsewhere.md")
    if change == "folder":
        card.mkdir()
        (card / "notes").write_text("mine")
    before = "" if change == "folder" else card.read_bytes()
    fitted().save(model)
    everylabel.load(model).add_labels([Label("new", "A new one")]).save(model)
    assert ("" if change == "folder" else card.read_bytes()) == before
    assert card.is_symlink() == (change == "link")
    assert change != "folder" or (card / "notes").read_text() == "mine"
    assert not is_card(card)


def test_a_card_is_no_part_of_the_model(model: Path) -> None:
    (model / "README.md").write_text("---\n!!python/object/apply:os.system ['false']\n---\n")
    assert check(model).files == 3
    assert len(everylabel.load(model).labels_) == 4
    (model / "README.md").unlink()
    assert len(everylabel.load(model).labels_) == 4


def test_results_are_there_until_the_model_changes(model: Path) -> None:
    method, card = everylabel.load(model), model / "README.md"
    scores = evaluate(method.rank(TEXTS, 4), DATA.required_pairs, method.counts_, method.n_train_)
    write_results(model, method, scores, "my `data`, test")
    assert "on 4 documents of `my data , test`" in card.read_text()
    assert "| all | 4 | 7 | 100.0 | 100.0 |" in card.read_text()
    assert is_card(card)
    method.save(model)
    assert "Not measured yet" in card.read_text()
    card.write_text("mine")
    with pytest.raises(ConfigError, match="was written or changed by somebody"):
        write_results(model, method, scores, "data")
    assert card.read_text() == "mine"


def test_halves_of_characters_do_not_stop_a_save(tmp_path: Path) -> None:
    labels = LabelSet.of([Label("a", "Boot \ud800")])
    Tagger(experts=("bm25",)).fit(Dataset(Documents.of(["ein \ud800 Boot"]), labels)).save(tmp_path / "model")
    assert is_card(tmp_path / "model" / "README.md")
    assert json.loads((tmp_path / "model" / "manifest.json").read_text())["n_labels"] == 1
