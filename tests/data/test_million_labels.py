"""A million labels: few bytes each, loaded at once, one more in no time.

Times are of this process alone, as other work may run on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import everylabel
from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.types import Csr

pytestmark = pytest.mark.slow

N = 1_000_000
MOST_BYTES = 120  # a label, beside its texts


def labels() -> Iterator[Label]:
    for i in range(N):
        alternatives = (f"also {i}",) if i % 4 == 0 else ()
        yield Label(
            f"http://example.org/{i}", f"the name of {i}", f"about {i}" if i % 2 else "", alternatives, ("top",)
        )


@pytest.fixture(scope="module")
def million() -> LabelSet:
    return LabelSet.of(labels())


@pytest.fixture(scope="module")
def model(million: LabelSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("million") / "model"
    pairs = Csr((np.ones(1, np.float32), np.array([7]), np.array([0, 1])), shape=(1, N))
    everylabel.method("popularity").fit(Dataset(Documents.of(["a text"]), million, pairs)).save(path)
    return path


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """The least of some times, of this process."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def test_few_bytes_a_label_beside_its_texts(million: LabelSet) -> None:
    beside = texts = 0
    for value in million.state().values():
        parts = value.whole() if isinstance(value, TextColumn) else (None, value)
        texts += 0 if parts[0] is None else parts[0].nbytes
        beside += parts[1].nbytes
    assert texts > 30 * N
    assert beside <= MOST_BYTES * N


def test_loaded_in_less_than_a_second(model: Path, million: LabelSet) -> None:
    assert seconds(lambda: everylabel.load(model)) < 1
    loaded = everylabel.load(model).labels_
    assert seconds(lambda: loaded.index["http://example.org/999999"]) < 0.01
    assert loaded == million


def test_one_label_more_at_once(model: Path) -> None:
    known = everylabel.load(model).labels_
    assert seconds(lambda: known.extended([Label("new", "new")])) < 0.02
    longer = known.extended([Label("new", "new")])
    assert seconds(lambda: longer.extended([Label("newer", "newer")])) < 0.02
    assert (longer.index["new"], longer[N].name, longer[N - 1].name) == (N, "new", f"the name of {N - 1}")


def test_nothing_is_done_label_by_label(million: LabelSet) -> None:
    assert seconds(lambda: million.subset(range(10, N))) < 0.01
    assert seconds(lambda: million == million.subset(range(N))) < 0.2
    assert seconds(lambda: million.names.occurrences(" ")) < 0.3
    assert seconds(lambda: million[N // 2], times=10) < 0.001
