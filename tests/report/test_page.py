"""The report as a page: valid HTML, nothing from outside, every text escaped, and words that say what numbers say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from math import nan

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Documents, Label
from everylabel.errors import DataError
from everylabel.metrics.ranking import find_hits
from everylabel.metrics.reliability import Bin, Reliability
from everylabel.metrics.scores import CurvePoint, Scores
from everylabel.metrics.significance import SignTest
from everylabel.report.differences import Change, System, sentence
from everylabel.report.examples import Choice, Evidence, Example, Missed, Suggestion, beginning, choose, describe
from everylabel.report.page import NEW_LABELS, SECTIONS, SHOWN, Report, render
from everylabel.report.page_parts import Html, document, safe, table, tag
from everylabel.report.plots import frequency_plot, inline_svg, learning_curve_plot, reliability_plot, trade_off_plot
from everylabel.tagger.tags import Tag
from everylabel.types import Ranking

HOSTILE = "</small><script>alert(\"1\")</script> & 'x' \ud800 \x00 <b>"
VOID = {"meta"}


class Checker(HTMLParser):
    """Every tag is closed, in order; ids are unique; addresses point into the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> was never opened"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for key, value in attrs:
            assert key != "src"
            assert not key.startswith("on")
            self.ids += [value or ""] if key == "id" else []
            self.links += [value or ""] if key == "href" else []
            for target in re.findall(r"url\((.*?)\)", value or ""):
                self.links.append(target)


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert all(link.startswith("#") and link[1:] in checker.ids for link in checker.links)
    assert not {"script", "link", "img", "iframe", "object"} & checker.tags
    assert "@import" not in page
    page.encode("utf-8")
    return checker


def scores(level: float, *, zero_shot: int = 7) -> Scores:
    bands = {
        name: {"labels": 5, "docs": 9, "F1@5": level, "P@5": level, "R@10": level, "R@100": level}
        for name in ("head", "middle", "tail", "unseen", "all")
    }
    values = dict.fromkeys(SHOWN, level) | ({} if zero_shot else {"ZSR@10": nan, "ZSR@100": nan})
    return Scores(values, 30, 2, zero_shot, bands, [CurvePoint(12, 9.0, level), CurvePoint(8, 1.0, level)])


def example(text: str = "a text") -> Example:
    evidence = (Evidence("phrase", text, 0.5, text), Evidence("phrase", "more", 0.25, text))
    suggestions = (Suggestion(text, "tail", 0.25, True, evidence), Suggestion("other", "head", 0.125, False, ()))
    missed = (Missed(text, "tail", 17, True), Missed("b", "unseen", None, True), Missed("c", "unseen", None, False))
    return Example(text, "", text, "tail", False, (text,), (text, "b", "c"), suggestions, missed)


def report(name: str = "model") -> Report:
    changes = {"nDCG@5": Change(0.1, 0.001, (0.05, 0.15)), "PSP@5": Change(-0.1, 0.01, (-0.2, -0.05))}
    systems = {
        name: System(scores(0.5), 12.0),
        "part": System(
            scores(0.4), 3.0, changes | {"ZSR@100": Change(0.01, 0.6, (-0.1, 0.1))}, SignTest(1200, 80, 1e-5)
        ),
        "popularity": System(scores(0.0), 1e5, {"tail-F1@5": Change(0.3, 1e-9)}),
    }
    found = {"seen": Reliability((Bin(0.2, 0.3, 50),)), "unseen": Reliability(())}
    figures = {
        "frequency": frequency_plot({"model": scores(0.5), "part": scores(0.4)}),
        "trade-off": trade_off_plot({"model": (0.5, 0.5), "part": (0.4, 0.4)}),
        "calibration": reliability_plot(found, 10),
        "learning-curve": learning_curve_plot([(10, 0.1), (20, 0.3)], "xr-linear", {"model": 0.5}),
    }
    return Report(
        title=f"{name} on data",
        about={"method": name},
        systems=systems,
        reliability=found,
        pictures={key: inline_svg(figure, key) for key, figure in figures.items()},
        examples=[example()],
        depth=100,
        footer={"command": f"everylabel report {name}"},
        learning_curve=[(10, 0.1), (20, 0.3)],
        costs={"blend": 3.0, "xr-linear": 1.0},
        plan=["use xr-linear", "because there are pairs"],
        history=[{"when": "today", "what": "fit", "pairs": 3}, {"when": "now", "what": "learn", "gain": 0.123456}],
    )


def words(page: str) -> str:
    return " ".join(" ".join(checked(page).texts).split())


def test_every_section_is_there_and_the_page_needs_nothing_else() -> None:
    page = render(report())
    checker = checked(page)
    assert set(SECTIONS) <= set(checker.ids)
    assert "http" not in page
    assert page.startswith("<!DOCTYPE html>\n")
    assert page.count("<svg") == 4


def test_what_the_page_says() -> None:
    text = words(render(report()))
    for expected in (
        "over the 7 documents with one",
        "nDCG@5 : better than part (+10.0)",
        "PSP@5 : worse than part (-10.0)",
        "ZSR@100 : no difference beyond chance from part (+1.0)",
        "▲ +10.0 +5.0 to +15.0, p = 0.001",
        "▼ -10.0",
        "▲ +30.0 p < 0.001",
        "▲ 1,200 to 80 p < 0.001",
        "of the 5 comparisons",
        "tail, rank 17",
        "unseen, not in the top 100",
        "unseen, not in the model's vocabulary",
        "✓ right 0.25 a text tail phrase (a text): a text 0.50; more 0.25",
        "blend 3.0 75.0 xr-linear 1.0 25.0 all 4.0 100.0",
        "because there are pairs",
        "now learn 0.1235",
        "everylabel report model",
    ):
        assert expected in text


def test_texts_are_escaped_wherever_they_stand() -> None:
    hostile = replace(
        report(HOSTILE),
        remarks=[HOSTILE],
        examples=[example(HOSTILE)],
        calibration_remark=HOSTILE,
        learning_curve_remark=HOSTILE,
        costs={HOSTILE: 1.0},
        plan=[HOSTILE],
        history=[{"when": HOSTILE, HOSTILE: HOSTILE}],
        pictures={"frequency": report().pictures["frequency"]},
        learning_curve=(),
    )
    page = render(hostile)
    checked(page)
    assert "<script" not in page
    assert "<b> " not in page
    assert "\\ud800" in page
    assert "\x00" not in page


def test_a_model_without_parts_unseen_labels_or_anything_to_tell() -> None:
    bare = replace(
        report(),
        systems={"popularity": System(scores(0.1, zero_shot=0), 5.0)},
        pictures={"frequency": report().pictures["frequency"]},
        examples=[],
        learning_curve=(),
        learning_curve_remark="ask for it with --curve",
        costs={},
        plan=(),
        history=(),
    )
    text = words(render(bare))
    for expected in (
        "nothing to compare it with",
        "no zero-shot recall to draw",
        "ask for it with --curve",
        "No document has such a label",
        "does not keep what its fitting cost",
        "has no plan",
        "Nothing was changed",
        "popularity 10.0 10.0 10.0 10.0 10.0 - -",
    ):
        assert expected in text


def test_a_difference_is_one_only_beyond_chance() -> None:
    assert [Change(0.1, 0.04).verdict, Change(-0.1, 0.04).verdict] == ["better", "worse"]
    assert [Change(0.1, 0.05).verdict, Change(0.0, 0.0).verdict, Change(0.1, nan).verdict] == ["unclear"] * 3
    said = sentence("P@1", {"a": Change(0.1, 0.01), "b": Change(0.2, 0.01), "c": Change(0.1, 0.9)})
    assert (
        re.sub("<.*?>", "", said)
        == "P@1: better than a (+10.0), b (+20.0); no difference beyond chance from c (+10.0)."
    )


def test_the_best_of_a_column_is_bold() -> None:
    page = render(report())
    assert page.count('<td class="number"><b>50.0</b></td>') == len(SHOWN) + 4 * 3
    assert "<b>40.0</b>" not in page
    assert "<b>0.0</b>" not in page


def test_html_is_taken_as_it_is_and_nothing_else() -> None:
    assert tag("p", "a<b", Html("<i>c</i>"), class_='"', dir=None) == '<p class="&quot;">a&lt;b<i>c</i></p>'
    assert safe("\udcff\x07\n") == "\\udcff\ufffd\n"
    checked(document("t", table(["", "a"], [["x", 1]], groups=[("", 1), ("g", 1)])))


def test_pictures_have_ids_of_their_own() -> None:
    figure = trade_off_plot({"a": (0.5, 0.5)})
    one, other = inline_svg(figure, "one"), inline_svg(figure, "other")
    assert "http" not in one
    assert "<style" not in one
    ids = [set(re.findall(r'id="(.*?)"', svg)) for svg in (one, other)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'href="#(.*?)"|url\(#(.*?)\)', one))
    checked(one + other)


def test_the_learning_curve() -> None:
    (axes,) = learning_curve_plot([(8, 0.1), (16, 0.25), (32, 0.5)], "xr-linear", {"tagger": 0.6}).axes
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_xydata(), float), [[8, 10], [16, 25], [32, 50]])
    np.testing.assert_allclose(np.asarray(axes.lines[1].get_ydata(), float), [60, 60])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "16", "32"]
    with pytest.raises(DataError, match="nothing to draw"):
        learning_curve_plot([], "xr-linear", {})


COUNTS = np.array([200, 3, 0, 0])
LABELS = [Label(key, key.upper()) for key in "abcd"]
RANKING = Ranking(
    np.array([[0, 1, 2], [1, 2, 0], [2, 1, -1], [0, 1, 2]], np.int32),
    np.array([[0.9, 0.5, 0.1], [0.8, 0.7, 0.6], [0.5, 0.4, -np.inf], [0.3, 0.2, 0.1]], np.float32),
)
TRUTH = csr_matrix([[1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]])


def test_examples_have_a_label_of_the_band_found_or_missed() -> None:
    hits = find_hits(RANKING, TRUTH)
    chosen = choose(hits, COUNTS, list("wxyz"), k=1, each=5)
    assert chosen == [Choice(0, "head", True), Choice(1, "head", False), Choice(2, "unseen", True)]
    rows = [0, 2, 1, 3]
    other = choose(
        find_hits(Ranking(RANKING.ids[rows], RANKING.scores[rows]), TRUTH[rows]), COUNTS, list("wyxz"), k=1, each=1
    )
    assert [(rows[row], band, found) for row, band, found in other] == choose(hits, COUNTS, list("wxyz"), k=1, each=1)


def test_what_is_shown_of_an_example() -> None:
    hits, documents = find_hits(RANKING, TRUTH), Documents(list("wxyz"), ["text"] * 4, ["title"] * 4)

    class Found:
        evidence = (Evidence("phrase", "text", 0.5, "tfidf"),)

    chosen = [Choice(2, "unseen", False), Choice(1, "head", False)]
    one, other = describe(chosen, documents, RANKING, hits, LABELS, COUNTS, n_known=3, tags=[{"c": Found}, {}], k=2)
    assert (one.document, one.title, one.text, one.true, one.focus) == ("y", "title", "text", ("C", "D"), ("D",))
    assert one.suggestions == (
        Suggestion("C", "unseen", 0.5, True, Found.evidence),
        Suggestion("B", "tail", pytest.approx(0.4), False, ()),  # type: ignore[arg-type]
    )
    assert one.missed == (Missed("D", "unseen", None, False),)
    assert other.missed == (Missed("A", "head", 3, True),)


def test_new_labels_are_shown_beside_the_suggestions() -> None:
    hits, documents = find_hits(RANKING, TRUTH), Documents(list("wxyz"), ["text"] * 4, ["title"] * 4)
    clue = Evidence("words", "sea", 0.5, "tfidf")
    tags = [Tag("c", "C", 0.5, "unseen", []), Tag("d", "D", 0.07, "unseen", [clue])]  # type: ignore[list-item]
    about = (documents, RANKING, hits, LABELS, COUNTS)
    (one,) = describe([Choice(2, "unseen", False)], *about, n_known=4, new=[tags], k=2)
    assert one.new == (Suggestion("D", "unseen", 0.07, True, (clue,)),)  # C is among the suggestions
    assert NEW_LABELS in (shown := render(replace(report(), examples=[one])))
    assert "0.07" in shown
    assert NEW_LABELS not in render(replace(report(), examples=[replace(one, new=())]))


def test_the_beginning_of_a_text() -> None:
    assert beginning("a  short\ntext") == "a short text"
    assert beginning("one two three", 9) == "one two ..."
    assert beginning("x" * 50, 9) == "x" * 9 + " ..."
