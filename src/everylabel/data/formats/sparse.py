"""Sparse rows as text, `index:value index:value`, as the formats of the XMC repository write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from everylabel.data.formats.lines import first_lines, lines
from everylabel.data.formats.rows import BadRows, Features, shown
from everylabel.errors import DataError
from everylabel.run import Run


def header(path: Path, size: int) -> tuple[int, ...] | None:
    """The whole numbers of the first line, when there are exactly `size` of them."""
    words = next((line.split() for line in first_lines(path)), [])
    if len(words) != size or not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
        return None
    return tuple(int(word) for word in words)


def required_header(path: Path, size: int, expected: str) -> tuple[int, ...]:
    found = header(path, size)
    if found is None:
        got = next((shown(line) for line in first_lines(path)), "an empty file")
        raise DataError(f"{path}: expected the header '{expected}' on the first line, got {got}; add the header")
    return found


def body(path: Path, run: Run) -> Iterator[bytes]:
    """The lines after the header; an empty line is an empty row."""
    content = lines(path, run)
    next(content, None)
    return content


def features(pairs: bytes, width: int, where: str, bad: BadRows) -> Features | None:
    """The columns and values of one row; None after it was reported as bad."""
    words = pairs.replace(b":", b" ").split()
    problem = None
    if len(words) % 2 or pairs.count(b":") * 2 != len(words):
        problem = f"expected pairs 'index:value', got {shown(pairs)}"
    else:
        try:
            indices = np.array([int(word) for word in words[::2]], np.int64)
            with np.errstate(over="ignore"):
                values = np.array([float(word) for word in words[1::2]], np.float64).astype(np.float32)
        except (ValueError, OverflowError):
            problem = f"expected pairs 'index:value' of numbers, got {shown(pairs)}"
        else:
            if len(indices) and (indices.min() < 0 or indices.max() >= width):
                problem = f"expected indices from 0 to {width - 1}, got {indices.min()} to {indices.max()}"
            elif not np.isfinite(values).all():
                problem = "expected finite values, got one that is not"
            else:
                return Features(indices.astype(np.int32), values, width)
    bad.add(where, problem, "correct the line")
    return None


def written(indices: list[int], values: list[float]) -> bytes:
    """One row as text; %g keeps float32 values at nine digits, which is all they have."""
    return " ".join(f"{i}:{value:.9g}" for i, value in zip(indices, values, strict=True)).encode()
