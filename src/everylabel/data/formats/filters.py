"""The pairs that LF- data sets exclude: `filter_labels_{train,test}.txt`, lines `document label`, numbered from 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.data.formats.lines import lines
from everylabel.data.formats.rows import BadRows, OnBadRow, existing, shown
from everylabel.run import QUIET, Run
from everylabel.types import Csr


def load_filter(
    path: Path | str, split: str, n_docs: int, n_labels: int, *, on_bad_row: OnBadRow = "error", run: Run = QUIET
) -> Csr | None:
    """The pairs to take out of a ranking before its top k is cut, as csr (n_docs x n_labels); None without a file."""
    file = existing(Path(path), f"filter_labels_{split}.txt") if Path(path).is_dir() else Path(path)
    if file is None:
        return None
    bad = BadRows(on_bad_row)
    rows: list[int] = []
    columns: list[int] = []
    for number, raw in enumerate(lines(file, run), 1):
        words = raw.split()
        if not words:
            continue
        try:
            doc, label = (int(word) for word in words)
        except ValueError:
            bad.add(
                f"{file.name}:{number}", f"expected 'document label', two numbers, got {shown(raw)}", "correct the line"
            )
            continue
        if 0 <= doc < n_docs and 0 <= label < n_labels:
            rows.append(doc)
            columns.append(label)
        else:
            problem = f"expected a document below {n_docs} and a label below {n_labels}, got {doc} and {label}"
            bad.add(f"{file.name}:{number}", problem, "use the filter of this split")
    bad.report(run)
    return csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(n_docs, n_labels))
