"""Scores by their names and bands, and how they are printed."""

from __future__ import annotations

import subprocess
import sys
from math import nan

import pytest

from everylabel.errors import ConfigError
from everylabel.metrics.scores import Scores, band_rows, percent

SCORES = Scores(
    values={"P@1": 0.8766, "ZSR@10": nan},
    n_docs=10,
    n_skipped=1,
    n_zero_shot_docs=0,
    bands={"tail": {"labels": 12, "R@10": 0.5}, "all": {"labels": 40, "R@10": 0.625}},
)


def test_percent_has_one_decimal_and_a_dash_for_nothing() -> None:
    assert (percent(0.8766), percent(1.0), percent(nan)) == ("87.7", "100.0", "-")


def test_bands_below_each_other() -> None:
    assert band_rows(SCORES) == [("tail", {"labels": 12, "R@10": 0.5}), ("all", {"labels": 40, "R@10": 0.625})]


def test_a_value_that_was_not_evaluated_is_named_with_those_that_were() -> None:
    with pytest.raises(ConfigError, match=r"'P@7' was not evaluated; there is P@1, .*tail/R@10"):
        SCORES["P@7"]
    with pytest.raises(ConfigError, match="'top/R@10'"):
        SCORES["top/R@10"]


def test_the_package_is_cheap_to_import() -> None:
    code = "import sys, everylabel.metrics.scores; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
