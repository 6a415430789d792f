"""XR-Linear on pseudo pairs: what it learns from, and that no label that was given is looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.methods.maclr.selfsup_toy import DATA, LABELS, NAMES

import everylabel
from everylabel.data.dataset import Dataset, Documents, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.methods.maclr.maclr import FineTuned
from everylabel.methods.maclr.pseudo import PseudoXrLinear
from everylabel.methods.maclr.semantic import Semantic
from everylabel.text.matching import MatchConfig
from everylabel.text.tfidf import TfidfConfig

PLAIN = MatchConfig(language="none")


def test_it_learns_from_what_tfidf_finds_and_from_nothing_else() -> None:
    """The very classifiers of xr-linear on those pairs; labels that are given change nothing."""
    features = TfidfConfig(min_df=1, max_df=1.0)
    found = everylabel.method("tfidf", match={"language": "none"}).fit(DATA).rank(DATA.documents, 2)
    pairs = pairs_from_lists([[label for label in row if label >= 0] for row in found.ids.tolist()], len(LABELS))
    expected = everylabel.method("xr-linear", tfidf={"min_df": 1, "max_df": 1.0}).fit(DATA.with_pairs(pairs))
    given = DATA.with_pairs(pairs_from_lists([[9]] * len(DATA), len(LABELS)))
    for data in (DATA, given):
        method = PseudoXrLinear(match=PLAIN, pseudo_labels=2, tfidf=features).fit(data)
        ranked, other = (one.rank(DATA.documents, 5) for one in (method, expected))
        np.testing.assert_array_equal(ranked.ids, other.ids)
        np.testing.assert_array_equal(ranked.scores, other.scores)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(DataError, match="no document has a word of a label's text"):
        PseudoXrLinear(match=PLAIN).fit(Dataset(Documents.of(["zebra", "apple pie"]), LABELS))
    with pytest.raises(ConfigError, match="pseudo_labels must be at least 1; got 0"):
        PseudoXrLinear(pseudo_labels=0).fit(DATA)


def test_a_fine_tuned_encoder_learns_from_pairs_alone(static: EncoderConfig) -> None:
    """Without pairs it is the pretrained one; with them a label comes nearer to its documents."""
    pretrained = Semantic(encoder=static).fit(DATA)
    plain, plain_of_ship = pretrained.rank(NAMES, 10), pretrained.rank(["ship"], 10)
    np.testing.assert_array_equal(FineTuned(encoder=static).fit(DATA).rank(NAMES, 10).scores, plain.scores)
    lists = [[6 if "ship" in text else 7] for text in DATA.documents.texts]
    learn = replace(FineTuned().learn, steps=20, batch_size=8)
    tuned = FineTuned(encoder=static, learn=learn).fit(DATA.with_pairs(pairs_from_lists(lists, len(LABELS))))
    rankings = (plain_of_ship, tuned.rank(["ship"], 10))
    before, after = (float(found.scores[0, found.ids[0] == 6][0]) for found in rankings)
    assert after > before + 0.02
