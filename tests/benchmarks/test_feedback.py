"""The simulation of people who correct tags, on the sample: it goes on where it was, and a table says what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.run.feedback import WAYS, Sizes, Stream, corrected, run
from benchmarks.tables import feedback as page
from tests.tagger.conftest import on_one_thread

import everylabel
from everylabel.data import sample
from everylabel.tagger.tagger import Tagger

SIZES = Sizes(first=100, stream=60, batch=20, full_fit=40, chosen=40, tested=30)


def new() -> Tagger:
    return Tagger(experts=("tfidf", "knn"))


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    folder = tmp_path_factory.mktemp("feedback")
    sample(folder / "sample")
    return Stream.of(folder, "sample", SIZES, folder / "work")


@pytest.mark.timeout(400)
def test_every_way_has_a_curve_that_can_be_interrupted(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: dict[str, Any] = {}
    with on_one_thread():
        for way in WAYS:

            def keep(points: list[dict[str, Any]], name: str = f"sample, {way}") -> None:
                found[name] = {"points": points}
                if len(points) == 2 and not found.get("interrupted"):
                    found["interrupted"] = {"points": []}
                    raise KeyboardInterrupt

            found.pop("interrupted", None)
            with pytest.raises(KeyboardInterrupt):
                run(stream, way, new, [], keep)
            run(stream, way, new, found[f"sample, {way}"]["points"], keep)
    found.pop("interrupted")
    points = {name: one["points"] for name, one in found.items()}
    assert [len(one) for one in points.values()] == [4, 4, 4, 4, 3, 3]
    for one in points.values():
        assert [point["documents"] for point in one] == [20 * i for i in range(len(one))]
        assert all(0 < point["test"] <= 1 for point in one)
        assert all(point["typed"] < point["labels"] for point in one[:-1])
    assert len({one[0]["test"] for one in points.values()}) == 1  # all begin with one model
    assert len({point["test"] for point in points["sample, fixed"]}) == 1
    assert [point["model"] for point in points["sample, full fit"]] == ["fitted-0"] * 2 + ["fitted-40"] * 2
    assert points["sample, learning"][-1]["model"] != "fitted-0"
    record = {"conditions": found, "command": "", "machine": dict.fromkeys(("cores", "cpu", "memory_gib"), 1)}
    record["versions"] = {}
    monkeypatch.setattr(page, "read_result", lambda name: record if name == "feedback" else None)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert page.PAGE.text().count("\n| sample, ") == len(WAYS)
    page.write_figures()
    assert (tmp_path / "figures" / "feedback-sample.png").stat().st_size > 1000


def test_a_person_who_knows_the_truth(stream: Stream) -> None:
    batch = stream.later.subset(range(5))
    ranking = everylabel.load(stream.first_model(new)).rank(batch.documents, 10)
    for i, one in enumerate(corrected(batch, ranking)):
        true = {batch.labels[int(label)].id for label in batch.required_pairs[i].indices}
        shown = {batch.labels[int(label)].id for label in ranking.ids[i]}
        assert set(one.labels) == true
        assert set(one.accepted) | set(one.rejected) == shown
        assert not set(one.added) & shown
    assert corrected(batch, ranking, with_rejected=False)[0].rejected == ()
