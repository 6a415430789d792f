"""Start-up is quick because nothing heavy is loaded: measured in CPU seconds of a fresh process, best of three."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "sentence_transformers", "numpy", "scipy", "numba", "sklearn")
PROBE = """
import sys, time
try:
    {code}
except SystemExit:
    pass
loaded = [name for name in {heavy!r} if name in sys.modules]
print("\\n", time.process_time(), ",".join(loaded))
"""


def probe(code: str) -> tuple[float, str]:
    source = PROBE.format(code=code, heavy=HEAVY)
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    seconds, _, loaded = out.strip().splitlines()[-1].strip().partition(" ")
    return float(seconds), loaded


@pytest.mark.parametrize(
    "code",
    [
        "import everylabel",
        "import everylabel.cli.main as cli; sys.argv = ['everylabel', '--help']; cli.main()",
        "import everylabel.cli.main as cli; sys.argv = ['everylabel', 'fit', '--help']; cli.main()",
    ],
)
def test_under_half_a_second_and_nothing_heavy(code: str) -> None:
    runs = [probe(code) for _ in range(3)]
    assert {loaded for _, loaded in runs} == {""}
    assert min(seconds for seconds, _ in runs) < 0.5


def test_methods_are_listed_by_their_classes_without_what_they_are_fitted_with() -> None:
    runs = [
        probe("import everylabel.cli.main as cli; sys.argv = ['everylabel', 'methods']; cli.main()") for _ in range(3)
    ]
    assert {loaded for _, loaded in runs} <= {"numpy,scipy"}
    bare = [probe("import numpy, scipy.sparse") for _ in range(3)]  # a quarter of a second, or what this machine takes
    assert min(seconds for seconds, _ in runs) < 4 * min(seconds for seconds, _ in bare)
