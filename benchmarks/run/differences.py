"""Whether rows differ, or it is luck: python -m benchmarks.run.differences --data DIR

Each row of benchmarks/rows that names others (`against`) is compared with them, by the rankings that
`benchmarks.run.quality` has kept: paired bootstrap over test documents, and the macro t-test over the F1 of labels, of
the tail and of all; bands and unseen labels are those of the row's own table. Several seeds: a document's and a label's
mean over the seeds that are there. Rows that were not run here stay as they were.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.rows import all_rows, cell_name, read_row
from benchmarks.run.command import data_folder, data_parser
from benchmarks.run.debian import required_folder
from benchmarks.run.shown import counted, load_train, ranking_path, read_ranking, some
from everylabel.data import Dataset
from everylabel.data.bands import in_band
from everylabel.metrics.ranking import Ratio, by_document, find_hits, label_counts
from everylabel.metrics.significance import macro_t_test, paired_bootstrap
from everylabel.types import LongArray

METRICS = ("P@1", "nDCG@5", "PSP@5", "R@100", "ZSR@100")


class Measured(NamedTuple):
    """Of one row, the mean over its seeds."""

    ratios: dict[str, Ratio]
    f1: Any
    seeds: int


class Rankings:
    """The kept rankings of rows, held against the truth of their test split."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.splits = cache(self._splits)
        self.counts = cache(self._counts)
        self.measured = cache(self._measured)

    def _splits(self, name: str) -> tuple[Dataset, Dataset]:
        folder = required_folder(self.data, name)
        return load_train(folder), everylabel.load_dataset(folder, "test")

    def _counts(self, row: str) -> tuple[LongArray, int]:
        """What the row's bands go by, and of how many documents: the same with every seed."""
        spec = read_row(row)
        train = counted(self.splits(spec["data"])[0], spec, 0)
        return train.counts, len(train)

    def _measured(self, row: str) -> Measured | None:
        spec = read_row(row)
        paths = [ranking_path(cell_name(row, seed)) for seed in spec.get("seeds", [0])]
        paths = [path for path in paths if path.exists()]
        if not paths:
            return None
        counts, n_train = self.counts(row)
        test = some(self.splits(spec["data"])[1], spec.get("test_documents", sys.maxsize))
        found, f1 = [], []
        for path in paths:
            hits = find_hits(read_ranking(path), test.required_pairs)
            found.append(by_document(hits, counts, n_train, recall_ks=(100,)))
            f1.append(label_counts(hits).f1)
        ratios = {
            key: Ratio(np.mean([one[key].gained for one in found], axis=0), found[0][key].possible) for key in METRICS
        }
        return Measured(ratios, np.mean(f1, axis=0), len(paths))

    def difference(self, row: str, other: str) -> dict[str, Any] | None:
        a, b = self.measured(row), self.measured(other)
        if a is None or b is None:
            return None
        tail = in_band(self.counts(row)[0], "tail")
        metrics = [key for key in METRICS if a.ratios[key].possible.any()]
        return {
            "row": row,
            "against": other,
            "seeds": [a.seeds, b.seeds],
            **{key: paired_bootstrap(a.ratios[key], b.ratios[key])._asdict() for key in metrics},
            "macro-F1@5": macro_t_test(a.f1, b.f1)._asdict(),
            "tail-F1@5": macro_t_test(a.f1[tail], b.f1[tail])._asdict(),
        }


def main() -> None:
    parser = data_parser(__doc__)
    rankings = Rankings(data_folder(parser.parse_args().data))
    before = (read_result("differences") or {}).get("differences", [])
    kept = {(one["row"], one["against"]): one for one in before}
    for name, row in all_rows().items():
        for other in row.get("against", []):
            found = rankings.difference(name, other)
            if found is not None:
                kept[name, other] = found
                points = {key: round(100 * found[key]["difference"], 2) for key in METRICS if key in found}
                print(name, "-", other, points)
    ordered = [kept[key] for key in sorted(kept)]
    write_result("differences", {"differences": ordered}, "python -m benchmarks.run.differences")


if __name__ == "__main__":
    main()
