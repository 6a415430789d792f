"""Tags as plain values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import everylabel
from everylabel.data.dataset import Documents
from everylabel.errors import ConfigError, DataError
from everylabel.workflow.pictures import read_curves
from everylabel.workflow.tag import Cut, check_explains, tag

TEXTS = ["The lighthouse keepers and the ships they watched over", "Bees, hives and honey"]


def test_tags_are_plain_and_best_first(fitted_tagger: Path) -> None:
    method = everylabel.load(fitted_tagger)
    found = tag(method, TEXTS, Cut(3))
    assert json.loads(json.dumps(found)) == found
    assert [len(row) for row in found] == [3, 3]
    ranking = method.rank(TEXTS, 3)
    assert [[one["id"] for one in row] for row in found] == [
        [method.labels_[i].id for i in row] for row in ranking.ids.tolist()
    ]
    assert [one["score"] for one in found[0]] == pytest.approx(ranking.scores[0].tolist(), abs=1e-6)
    assert set(found[0][0]) == {"id", "name", "score"}
    assert tag(method, Documents.of(TEXTS), Cut(3)) == found
    assert tag(method, []) == []


def test_explained_tags_are_the_same_tags(fitted_tagger: Path) -> None:
    method = everylabel.load(fitted_tagger)
    plain, found = tag(method, TEXTS, Cut(3)), tag(method, TEXTS, Cut(3), explain=True)
    assert json.loads(json.dumps(found)) == found
    assert [[one["id"] for one in row] for row in found] == [[one["id"] for one in row] for row in plain]
    first = found[0][0]
    assert first["probability"] == first["score"]
    assert first["band"] in ("head", "middle", "tail", "unseen")
    assert any(one["evidence"] for row in found for one in row)


def test_cuts(fitted_tagger: Path) -> None:
    method = everylabel.load(fitted_tagger)
    all_of_them = tag(method, TEXTS, Cut(20))
    least = all_of_them[0][2]["score"]
    assert [one for one in all_of_them[0] if one["score"] >= least] == tag(method, TEXTS, Cut(20, least - 1e-6))[0]
    assert len(tag(method, TEXTS, Cut(20, best=True))[0]) < 20
    assert Cut(best=True).by_probability
    assert not Cut().by_probability


def test_only_a_tagger_says_why(model: Path) -> None:
    method = everylabel.load(model)
    with pytest.raises(ConfigError, match=r"^method 'popularity' cannot say why"):
        tag(method, TEXTS, explain=True)
    with pytest.raises(ConfigError, match=f"{model}: method 'popularity' cannot say why"):
        check_explains(method, model)


def test_curves_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"step": 1, "loss": null}\n')
    with pytest.raises(DataError, match="no loss curve here"):
        read_curves([tmp_path])
    (tmp_path / "b.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    assert read_curves([tmp_path]) == {"b": [{"step": 1, "loss": 0.5}]}
    (tmp_path / "of-de").mkdir()
    (tmp_path / "of-de" / "b.jsonl").write_text('{"step": 1, "loss": 0.25}\n')
    assert list(read_curves([tmp_path])) == ["b", "of-de/b"]  # an expert's are in a folder of its name
