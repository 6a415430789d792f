"""How two checkouts are compared: what agreement means, and a worker that older code can run, too."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from benchmarks.run import house_worker
from benchmarks.run.house import agreement, ratios
from benchmarks.run.house_sides import Side
from benchmarks.run.shown import read_ranking

import everylabel
from everylabel.types import Ranking


def ranking(ids: list[list[int]], scores: list[list[float]]) -> Ranking:
    return Ranking(np.array(ids, np.int32), np.array(scores, np.float32))


def test_rankings_agree_row_by_row_and_rank_by_rank() -> None:
    before = ranking([[3, 1, 2], [4, 5, -1]], [[0.9, 0.5, 0.1], [0.8, 0.2, 0.0]])
    after = ranking([[3, 2, 1], [4, 5, -1]], [[0.9, 0.5, 0.1], [0.8, 0.25, 0.0]])
    found = agreement(before, after)
    assert found["equal_rows"] == 0.5
    assert found["equal_ids"] == pytest.approx(4 / 6, abs=1e-4)
    assert found["largest_score_difference"] == pytest.approx(0.05)


def test_ratios_are_times_better() -> None:
    before = {"documents_per_second": 100.0, "model_mb": 900.0}
    after = {"documents_per_second": 250.0, "model_mb": 300.0}
    assert ratios(before, after) == {"documents_per_second": 2.5, "model_mb": 3.0}


def test_the_worker_imports_public_names_only() -> None:
    tree = ast.parse(Path(house_worker.__file__).read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    taken = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in plain if name.startswith("everylabel")} == {"everylabel", "everylabel.sample"}
    assert not {module for module in taken if module and module.startswith(("everylabel", "benchmarks"))}


def test_a_step_runs_by_the_code_of_its_checkout(tmp_path: Path) -> None:
    side = Side("after", Path(everylabel.__file__).parents[2])
    spec = {"data": "sample", "documents": 100, "split": "test", "ranked": 10, "methods": {"popularity": {}}}
    assert side.ask("rankings", {**spec, "to": str(tmp_path)}) == {"methods": ["popularity"]}
    assert read_ranking(tmp_path / "popularity.npz").ids.shape == (10, 100)
