"""The tokeniser in several threads: each sees words as they are known, and nobody waits for the others."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from everylabel.encoders import tokenizer as module
from everylabel.encoders.base import Tokens
from everylabel.encoders.tokenizer import TextTokenizer, shared_tokenizer

WORDS = ["fish", "sea", "ship", "law", "tax", "trading", "ships", "fishery", "union", "customs"]


@pytest.fixture
def made_json(made_folder: Path) -> str:
    return (made_folder / "tokenizer.json").read_text(encoding="utf-8")


def texts_of(seed: int, n: int = 200) -> list[str]:
    """Words of letters: nearly all of them are new each time."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    made = ["".join(rng.choice(letters, rng.integers(1, 4))) for _ in range(n)]
    return [" ".join(rng.choice(made + WORDS, rng.integers(0, 12))) for _ in range(n)]


def same(one: Tokens, other: Tokens) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.offsets, other.offsets)


@pytest.mark.parametrize("memory", [module.MEMORY, 2_000])  # enough, and so little that it is begun anew all the time
def test_eight_threads_read_the_same(made_json: str, monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    monkeypatch.setattr(module, "MEMORY", memory)
    rounds = [texts_of(seed) for seed in range(12)]
    expected = [[TextTokenizer(made_json)(texts, cut) for texts in rounds] for cut in (None, 3)]
    shared, wrong, start = TextTokenizer(made_json), [], threading.Barrier(8)

    def work(number: int) -> None:
        start.wait(20)
        for i in np.random.default_rng(number).permutation(12).tolist():
            for cut, right in zip((None, 3), expected, strict=True):
                if not same(shared(rounds[i], cut), right[i]):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nobody_waits_while_another_thread_tokenises(made_json: str) -> None:
    """A thread that is in the middle of new words holds nothing that others need."""
    tokenizer = TextTokenizer(made_json)
    known = tokenizer(WORDS)
    inside, go_on = threading.Event(), threading.Event()
    usual: Any = tokenizer._tokenizer

    class Slow:
        def encode_batch(self, texts: list[str], **options: Any) -> Any:
            if "slowly" in texts[0]:
                inside.set()
                assert go_on.wait(20)
            return usual.encode_batch(texts, **options)

    tokenizer._tokenizer = Slow()  # type: ignore[assignment]
    found: list[Tokens] = []
    thread = threading.Thread(target=lambda: found.append(tokenizer(["slowly", "fish"])))
    thread.start()
    assert inside.wait(20)
    assert same(tokenizer(WORDS), known)
    other = tokenizer(["quickly", "fish"])  # new words, too
    go_on.set()
    thread.join()
    assert same(found[0], TextTokenizer(made_json)(["slowly", "fish"]))
    assert same(other, TextTokenizer(made_json)(["quickly", "fish"]))


def test_a_word_that_was_met_is_not_tokenised_again(made_json: str) -> None:
    tokenizer = TextTokenizer(made_json)
    first = tokenizer(["fishery and shipping", "shipping"])
    n_rows = tokenizer._known.table.n_rows
    tokenizer._tokenizer = None  # type: ignore[assignment]
    assert same(tokenizer(["fishery and shipping", "shipping"]), first)
    assert tokenizer._known.table.n_rows == n_rows == 3


def test_a_table_that_was_taken_stays_as_it_is(made_json: str) -> None:
    known = TextTokenizer(made_json)._known
    assert known.added(["a", "b"], [[1], [2, 3]]).tolist() == [1, 2]
    taken = known.table
    copy = Tokens(taken.ids.copy(), taken.offsets.copy())
    for number in range(100):
        assert known.added([f"word{number}"], [[number] * 7]).tolist() == [3 + number]
    assert same(taken, copy)
    assert known.table.take([1]).ids.tolist() == [2, 3]
    assert known.table.take([101]).ids.tolist() == [99] * 7


def test_encoders_share_a_tokeniser(made_json: str) -> None:
    one = shared_tokenizer(made_json)
    assert shared_tokenizer(made_json) is one
    assert shared_tokenizer(one.json) is one  # as it is saved
