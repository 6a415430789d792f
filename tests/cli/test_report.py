"""`everylabel report`: one page that says what `evaluate` says, and more."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.cli.conftest import LABELS, TEST, Run, write_data, write_lines
from tests.report.test_page import HOSTILE, checked, words

import everylabel
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset, Documents
from everylabel.methods.base import Method, State
from everylabel.metrics.scores import percent
from everylabel.report.page import SECTIONS, SHOWN, SHOWN_BY_BAND
from everylabel.run import Run as WorkRun
from everylabel.tagger.explain import Evidence
from everylabel.tagger.tags import Tag
from everylabel.text.views import Views
from everylabel.types import Ranking

UGLY = HOSTILE.replace("\ud800", "")  # half a surrogate pair is refused when data are read
BANDS = ("head", "middle", "tail", "unseen")


class Plan:
    def lines(self) -> list[str]:
        return ["few pairs: bm25 leads", "  <knn> helps"]


@dataclass(kw_only=True)
class Blend(Method):
    """What the report asks of a model that is made of others."""

    name: ClassVar[str] = "blend"

    def _fit(self, dataset: Dataset, run: WorkRun) -> None:
        self.experts_ = {name: everylabel.method(name).fit(dataset, run=run) for name in ("bm25", "tfidf")}
        self.costs_ = {"bm25": 1.0, "tfidf": 3.0}
        self.plan_ = Plan()

    def _rank(self, views: Views, k: int) -> Ranking:
        return Ranking.mean([part.rank(views, k) for part in self.experts_.values()], k)

    def tag(self, texts: Documents, k: int = 5) -> list[list[Tag]]:
        found = self.rank(texts, k)
        evidence = [Evidence("phrase", f"because of {HOSTILE}", 0.25, "bm25")]
        return [
            [Tag(self.labels_[i].id, "", 0.5, "tail", evidence) for i in row if i >= 0] for row in found.ids.tolist()
        ]

    def history(self) -> list[dict[str, Any]]:
        return [{"when": "2026-01-02", "what": "fit", "pairs": 5}]

    def _state(self) -> State:
        return {}

    def _restore(self, state: State) -> None:
        raise NotImplementedError


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    sample(folder / "data")
    return folder / "data"


@pytest.fixture(scope="module")
def linear(sampled: Path) -> Path:
    everylabel.method("xr-linear").fit(load_dataset(sampled)).save(sampled.parent / "model")
    return sampled.parent / "model"


def rows(page: str) -> list[list[str]]:
    found = re.findall("<tr.*?</tr>", page, flags=re.DOTALL)
    return [[re.sub("<.*?>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)] for row in found]


def part_of(page: str, section: str) -> str:
    return page.partition(f'<section id="{section}">')[2].partition("</section>")[0]


def test_the_numbers_are_those_of_evaluate(run: Run, linear: Path, sampled: Path, tmp_path: Path) -> None:
    result = run("report", linear, sampled, "-o", tmp_path / "new" / "r.html", "--json", "--quiet", "--no-curve")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found, expected = json.loads(result.stdout), json.loads(run("evaluate", linear, sampled, "--json", "-q").stdout)
    own = found["systems"]["xr-linear"]
    for key in ("values", "bands", "curve", "n_docs", "n_zero_shot_docs"):
        assert own[key] == expected[key]
    assert list(found["systems"]) == ["xr-linear", "popularity"]
    assert found["differences"]["popularity"]["nDCG@5"]["difference"] == pytest.approx(
        own["values"]["nDCG@5"] - found["systems"]["popularity"]["values"]["nDCG@5"]
    )
    assert found["calibration"]["all"] == expected["calibration"]["all"]

    page = (tmp_path / "new" / "r.html").read_text(encoding="utf-8")
    assert set(SECTIONS) <= set(checked(page).ids)
    table = rows(part_of(page, "results"))
    assert ["xr-linear", *(percent(expected["values"][key]) for key in SHOWN)] in table
    by_band = [percent(expected["bands"][band][key]) for band in BANDS for key in SHOWN_BY_BAND]
    assert ["xr-linear", *by_band] in table
    text = words(page)
    for part in ("126, 103 of them seen in training", "training documents 252", "nDCG@5 : better than popularity"):
        assert part in text
    assert "not calibrated" in text
    assert "--no-curve" in part_of(page, "learning-curve")
    assert "http" not in page


def test_the_floor_is_the_method_of_that_name(run: Run, linear: Path, sampled: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    systems = json.loads(run("report", linear, sampled, "-o", page, "--json").stdout)["systems"]
    everylabel.method("popularity").fit(load_dataset(sampled)).save(tmp_path / "model")
    alone = json.loads(run("report", tmp_path / "model", sampled, "-o", page, "--json").stdout)
    assert alone["systems"]["popularity"]["values"] == systems["popularity"]["values"]
    assert list(alone["systems"]) == ["popularity"]
    assert "nothing to compare it with" in words(page.read_text(encoding="utf-8"))


def test_a_model_made_of_parts(run: Run, sampled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blend = Blend().fit(load_dataset(sampled))
    monkeypatch.setattr("everylabel.store.load", lambda _: blend)
    result = run("report", "MODEL", sampled, "-o", tmp_path / "r.html", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    names = set(found["systems"])
    assert names == {"blend", "bm25", "tfidf", "popularity"}
    assert list(found["systems"])[:: len(names) - 1] == ["blend", "popularity"]
    assert set(found["differences"]["bm25"]) == {"nDCG@5", "PSP@5", "ZSR@100", "tail-F1@5", "sign_test@5"}
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    text = words(page)
    for part in ("parts bm25, tfidf", "bm25 1.0 25.0", "few pairs: bm25 leads <knn> helps", "2026-01-02 fit 5"):
        assert part in text
    assert "because of &lt;/small&gt;&lt;script&gt;" in part_of(page, "examples")
    assert names <= {row[0] for row in rows(part_of(page, "cost"))}
    for name in names:
        assert name in part_of(page, "trade-off")


def test_the_learning_curve(run: Run, model: Path, sampled: Path, data: Path, tmp_path: Path) -> None:
    result = run("report", model, sampled, "-o", tmp_path / "r.html", "--json", "--documents", 30)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [point["documents"] for point in found["learning_curve"]] == [32, 63, 126, 252]
    assert found["systems"]["popularity"]["n_docs"] == 30
    section = part_of((tmp_path / "r.html").read_text(encoding="utf-8"), "learning-curve")
    assert "<svg" in section
    assert "popularity, as it is" in section
    test_only = tmp_path / "test.jsonl"
    test_only.write_bytes((data / "test.jsonl").read_bytes())
    result = run("report", model, test_only, "-o", tmp_path / "r.html")
    assert result.exit_code == 0, result.output
    assert "no labelled training documents" in words((tmp_path / "r.html").read_text(encoding="utf-8"))
    broken = tmp_path / "broken"
    shutil.copytree(data, broken)
    (broken / "train.jsonl").write_text('{"id": "0", "text": "?", "labels": ["nobody knows it"]}\n', encoding="utf-8")
    result = run("report", model, broken, "-o", tmp_path / "r.html")
    assert result.exit_code == 0, result.output
    assert "There is none:" in words((tmp_path / "r.html").read_text(encoding="utf-8"))


def test_the_same_documents_are_shown_again(run: Run, linear: Path, sampled: Path, tmp_path: Path) -> None:
    pages = []
    for name in ("a", "b"):
        assert run("report", linear, sampled, "-o", tmp_path / name, "--documents", 40).exit_code == 0
        pages.append((tmp_path / name).read_text(encoding="utf-8"))
    for section in ("results", "trade-off", "calibration", "frequency", "examples"):
        assert part_of(pages[0], section) == part_of(pages[1], section)
    assert 4 <= pages[0].count("<article>") <= 16


def test_hostile_texts_are_escaped(run: Run, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    write_lines(data / "labels.jsonl", [{"id": key, "name": f"{name} {UGLY}"} for key, name in LABELS])
    texts = [
        {"id": UGLY + str(i), "title": UGLY, "text": UGLY + text, "labels": labels}
        for i, (text, labels) in enumerate(TEST)
    ]
    write_lines(data / "test.jsonl", texts)
    everylabel.method("tfidf").fit(load_dataset(data)).save(tmp_path / "model")
    result = run("report", tmp_path / "model", data, "-o", tmp_path / "r.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "r.html").read_bytes().decode("utf-8")
    checked(page)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\x00" not in page


def test_labels_that_the_model_does_not_know(run: Run, model: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    write_lines(data / "labels.jsonl", [{"id": "other", "name": "Not in the model"}, {"id": "sea", "name": "S"}])
    write_lines(data / "test.jsonl", [{"id": "0", "text": "a", "labels": ["sea", "other"]}, {"id": "1", "text": "b"}])
    assert run("report", model, data, "-o", tmp_path / "r.html").exit_code == 0
    text = words((tmp_path / "r.html").read_text(encoding="utf-8"))
    for part in (
        "Not in the model unseen, not in the model's vocabulary",
        "1 labels of the data are not",
        "1 without a label",
    ):
        assert part in text


def test_data_without_labels_are_refused_and_nothing_is_written(run: Run, model: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    write_lines(data / "test.jsonl", [{"id": "0", "text": "a"}, {"id": "1", "text": "b"}])
    page = tmp_path / "r.html"
    result = run("report", model, data, "-o", page)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "none of the 2 documents of 'test' has a label; choose another part with --split" in result.stderr
    assert not page.exists()
    assert run("report", model, data, "-o", tmp_path).exit_code == 2
    assert run("report", model, data, "-o", page, "--documents", 0).exit_code == 2


def test_only_a_report_is_overwritten(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    """A thesis by another name is found before the work, and stays."""
    page = tmp_path / "thesis.html"
    page.write_text("<!DOCTYPE html><html>three years of work</html>", encoding="utf-8")
    result = run("report", model, data, "-o", page, "--no-curve")
    assert result.exit_code == 3
    assert f"{page}: this file is there, and is no report of everylabel, so it is not overwritten" in result.stderr
    assert page.read_text(encoding="utf-8").endswith("three years of work</html>")
    page.write_bytes(b"")
    for _ in range(2):  # in the place of an empty file, and of a report
        assert run("report", model, data, "-o", page, "--no-curve", "-q").exit_code == 0
        assert "everylabel" in page.read_text(encoding="utf-8")


def test_without_matplotlib(run: Run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("report", model, data, "-o", tmp_path / "r.html")
    assert result.exit_code == 4
    assert "pip install 'everylabel[plots]'" in result.stderr
    assert not (tmp_path / "r.html").exists()
