"""How many labelled documents a split needs for what it is used for; with fewer it is left aside, or says little."""

from __future__ import annotations

TO_REHEARSE = 10  # training documents, below which a part of them is nothing to learn from
TO_BLEND = 300  # of a dev split that a tagger blends on
TO_LEARN_TREES = 60  # held-out documents: with fewer nothing is learned of whom to trust
TO_CALIBRATE = 20  # of a dev split that scores become probabilities by
TO_TEST = 50  # of a test split: one document is 2 points of P@1 then


def too_few(split: str, n_labelled: int, *, blended: bool = True) -> str:
    """What is wrong with a split of so many labelled documents; empty if nothing is, or if it has none at all.

    `blended`: whether it is for a tagger, which learns from held-out documents how far to trust each expert.
    """
    if n_labelled == 0:
        return ""
    has = f"{split} has {n_labelled:,} labelled document{'' if n_labelled == 1 else 's'}"
    if split == "dev" and n_labelled < TO_CALIBRATE:
        return f"{has}: at least {TO_CALIBRATE} are needed to calibrate on, {TO_BLEND} to blend on; it is not used"
    if split == "dev" and blended and n_labelled < TO_BLEND:
        return f"{has}: a tagger blends on held-out training documents instead, unless there are {TO_BLEND}"
    if split == "test" and n_labelled < TO_TEST:
        return f"{has}: one more or less that is right is {100 / n_labelled:.0f} points of P@1"
    if split not in ("dev", "test") and n_labelled < TO_REHEARSE:
        return f"{has}: fewer than {TO_REHEARSE} say little, and none can be held out to try what was learned"
    return ""
