"""What `xml0` takes of time and memory, by counts of the data alone: what a plan asks before anything is fitted."""

from __future__ import annotations

from everylabel.methods.facts import Facts, Work
from everylabel.methods.xml0.shortlist import FEW

SECONDS_TO_INDEX, SECONDS_TO_SCORE = 1.2e-3, 2.4e-7  # a label; for a document, of which more than FEW cost no more


def work(facts: Facts) -> Work:
    reading = 5 + 1.5e-6 * facts.all_words
    if not facts.many_labels:
        return Work(reading=reading, training=1.5e-3 * facts.n_labels)
    indexing = _unseen(facts) * SECONDS_TO_INDEX if _unseen(facts) > FEW else 0.0
    return Work(reading=reading + 1e-4 * facts.n_labels + indexing)


def memory(facts: Facts) -> float:
    """A vector in 16 bits for each label, of many unseen ones one for each text besides, and an index of these; the
    base's words of the documents."""
    indexed = _unseen(facts) if _unseen(facts) > FEW else 0
    return 6e8 + 60 * facts.kept_words + 1_500 * facts.n_labels + 4_000 * indexed


def seconds_to_score(facts: Facts) -> float:
    """The labels that are looked at for one document: it grows with the unseen ones as long as all of them are
    (shortlist.py)."""
    return SECONDS_TO_SCORE * min(_unseen(facts), FEW)


def _unseen(facts: Facts) -> int:
    return facts.n_labels - facts.n_seen
