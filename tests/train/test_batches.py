"""Pairs of texts made of documents: what is cut from what, row by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.train.conftest import Said

from everylabel.data.dataset import Documents
from everylabel.encoders.base import Tokens
from everylabel.run import QUIET, Run
from everylabel.train import batches
from everylabel.train.batches import Corpus, epoch_rows, interleaved, split_heads, without

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8)


class Numbers:
    """An encoder whose tokens are the numbers in a text."""

    def tokenize(self, texts: Sequence[str], max_tokens: int | None = None, *, run: Run = QUIET) -> Tokens:  # noqa: ARG002
        return Tokens.of([[int(word) for word in re.findall(r"\d+", text)][:max_tokens] for text in texts])


def corpus_of(texts: list[str], titles: list[str] | None = None, **more: Any) -> Corpus:
    encoder: Any = Numbers()
    return Corpus.of(Documents.of(texts, titles), encoder, **more)


def lists(tokens: Tokens) -> list[list[int]]:
    return [tokens.ids[first:last].tolist() for first, last in pairwise(tokens.offsets)]


@pytest.fixture
def cut_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "KEEP_TITLE", 0)


def pairs(corpus: Corpus, rows: Any, seed: int = 0) -> list[tuple[list[int], list[int]]]:
    texts, spans = corpus.pairs(np.asarray(rows, np.int64), np.random.default_rng(seed))
    return list(zip(lists(texts), lists(spans), strict=True))


@pytest.mark.usefixtures("cut_always")
def test_the_title_is_cut_from_the_text() -> None:
    corpus = corpus_of(["1 2 3", "4 5. 6"], titles=["10 11", "12"])
    assert pairs(corpus, [1, 0, 1]) == [([4, 5, 6], [12]), ([1, 2, 3], [10, 11]), ([4, 5, 6], [12])]


@pytest.mark.usefixtures("cut_always")
def test_titles_are_read_up_to_a_limit_and_are_no_part_of_the_text_beyond_it() -> None:
    """What stands for a title, too."""
    texts, titles = ["1 2 3", "1 2 4 5 6. 7", "1 2 3 4 5 6 7"], ["10 11 12 13", "", ""]
    title, sentence, half = pairs(corpus_of(texts, titles, title_limit=2), [0, 1, 2])
    assert title == ([1, 2, 3], [10, 11])
    assert sentence == ([7], [1, 2])
    usual = pairs(corpus_of(texts, titles), [0, 1, 2])
    assert half == (usual[2][0], usual[2][1][:2])
    assert usual[:2] == [([1, 2, 3], [10, 11, 12, 13]), ([7], [1, 2, 4, 5, 6])]


@pytest.mark.usefixtures("cut_always")
@pytest.mark.parametrize("text", ["1 2. 3 4? 5", "1 2! 3 4. 5", "1 2; 3 4. 5", "1 2\n3 4. 5", " \n 1 2.\n\n3 4. 5 \n"])
def test_the_first_sentence_stands_for_a_title(text: str) -> None:
    corpus = corpus_of([text], titles=["  "])
    assert corpus.heads.tolist() == [2]
    assert pairs(corpus, [0]) == [([3, 4, 5], [1, 2])]


@pytest.mark.usefixtures("cut_always")
def test_a_random_half_of_a_single_sentence() -> None:
    corpus = corpus_of(["1 2 3 4 5 6 7", "8 9"])
    assert corpus.heads.tolist() == [0, 0]
    seen = set()
    for seed in range(60):
        (rest, span), (last, other) = pairs(corpus, [0, 1], seed)
        assert span == list(range(span[0], span[0] + 3))
        assert sorted(rest + span) == [1, 2, 3, 4, 5, 6, 7]
        assert rest == sorted(rest)
        assert (last, other) in [([8], [9]), ([9], [8])]
        seen.add(span[0])
    assert seen == {1, 2, 3, 4, 5}


@pytest.mark.usefixtures("cut_always")
def test_a_title_alone_is_a_text_without_a_title() -> None:
    corpus = corpus_of(["", "!"], titles=["1 2 3 4", "5 6"])
    assert corpus.heads.tolist() == [0, 0]
    for rest, span in pairs(corpus, [0, 1]):
        assert rest
        assert span


def shares(found: list[tuple[list[int], list[int]]]) -> dict[tuple[int, ...], float]:
    texts = [tuple(rest) for rest, _ in found]
    return {text: texts.count(text) / len(texts) for text in set(texts)}


def test_a_title_is_never_put_before_its_text() -> None:
    corpus = corpus_of(["1 2 3"], titles=["10 11"])
    found = pairs(corpus, np.zeros(400, np.int64))
    assert all(pair == ([1, 2, 3], [10, 11]) for pair in found)


def test_a_title_is_deleted_where_it_occurs_in_nine_of_ten() -> None:
    corpus = corpus_of(["1 2 3", "4 10 11 5. 6 10 11", "10 11 10 11"], titles=["10 11", " 10 11\n", "10 11"])
    found = pairs(corpus, np.tile([0, 1, 2], 4000))
    assert all(span == [10, 11] for _, span in found)
    assert shares(found[::3]) == {(1, 2, 3): 1.0}
    assert shares(found[1::3]) == {
        (4, 5, 6): pytest.approx(0.9, abs=0.02),
        (4, 10, 11, 5, 6, 10, 11): pytest.approx(0.1, abs=0.02),
    }
    assert shares(found[2::3]) == {(10, 11, 10, 11): 1.0}  # nothing would be left of it


def test_a_first_sentence_stays_in_one_of_ten_texts() -> None:
    corpus = corpus_of(["1 2. 3 4"])
    found = pairs(corpus, np.zeros(4000, np.int64))
    assert shares(found) == {(3, 4): pytest.approx(0.9, abs=0.02), (1, 2, 3, 4): pytest.approx(0.1, abs=0.02)}


def test_documents_of_less_than_two_tokens_are_left_out() -> None:
    corpus = corpus_of(["", "1", "2 3", "no number", "4. 5", "6"], titles=["", "", "", "", "", "7"])
    assert len(corpus) == 3
    assert lists(corpus.tokens) == [[2, 3], [4, 5], [7, 6]]
    assert corpus.heads.tolist() == [0, 1, 1]
    assert len(corpus_of([])) == 0


def test_what_stands_for_titles_is_said(said: Said) -> None:
    documents = Documents.of(["1 2", "3. 4", "5"], titles=["t", "", ""])
    run = Run(reporter=said)
    assert split_heads(documents, run) == (["t", "3.", ""], ["1 2", "4", "5"])
    (line,) = said.lines
    assert line.startswith("2 of 3 documents have no title")
    assert "in 1 of a single sentence" in line
    split_heads(documents.subset([0]), run)
    assert len(said.lines) == 1


def test_segments() -> None:
    long, short = list(range(1000)), [1000, 1001, 1002]
    corpus = corpus_of([" ".join(map(str, row)) for row in (long, short)])
    sizes, starts = set(), set()
    for seed in range(40):
        one, other = lists(corpus.segments(np.array([0, 1]), (40, 80), np.random.default_rng(seed)))
        assert one == list(range(one[0], one[0] + len(one)))
        assert len(other) == 1  # half of it
        sizes.add(len(one))
        starts.add(one[0])
    assert 40 * 1.3 <= min(sizes) < max(sizes) <= 80 * 1.3
    assert min(starts) < 200
    assert max(starts) > 700


@given(rows=ROWS, data=st.data())
def test_without_is_slicing(rows: list[list[int]], data: st.DataObject) -> None:
    starts = [data.draw(st.integers(0, len(row))) for row in rows]
    sizes = [data.draw(st.integers(0, len(row) - start)) for row, start in zip(rows, starts, strict=True)]
    found = without(Tokens.of(rows), np.array(starts, np.int64), np.array(sizes, np.int64))
    expected = [row[:at] + row[at + n :] for row, at, n in zip(rows, starts, sizes, strict=True)]
    assert lists(found) == expected


@given(rows=st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=4), st.lists(st.integers(0, 9), max_size=4))))
def test_interleaved_is_adding_rows(rows: list[tuple[list[int], list[int]]]) -> None:
    found = interleaved(Tokens.of([one for one, _ in rows]), Tokens.of([other for _, other in rows]))
    assert lists(found) == [one + other for one, other in rows]


@given(n=st.integers(1, 40), size=st.integers(1, 50), epoch=st.integers(0, 3), seed=st.integers(0, 9))
def test_no_row_is_drawn_twice_in_an_epoch(n: int, size: int, epoch: int, seed: int) -> None:
    n_batches = max(1, n // size)
    parts = [epoch_rows(n, size, epoch * n_batches + i, seed) for i in range(n_batches)]
    assert {len(part) for part in parts} == {min(size, n)}
    together = np.concatenate(parts)
    assert len(set(together.tolist())) == len(together)
    if n % min(size, n) == 0:
        assert sorted(together.tolist()) == list(range(n))


def test_every_epoch_is_another_permutation() -> None:
    epochs = [
        np.concatenate([epoch_rows(30, 10, 3 * epoch + i, seed=1) for i in range(3)]).tolist() for epoch in range(3)
    ]
    assert all(sorted(epoch) == list(range(30)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert epoch_rows(30, 10, 4, seed=1).tolist() == epochs[1][10:20]
    assert epoch_rows(30, 10, 4, seed=2).tolist() != epochs[1][10:20]
