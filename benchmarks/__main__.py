"""All benchmarks, one after the other, then the page of results: python -m benchmarks --data DIR"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.record import data_folder

QUALITY = ("quality", "differences", "choices", "pair_choices", "label_vectors", "dropped_labels", "labels_at_run_time")
TAGGER = ("tagger", "tagger_choices", "tagger_conditions")
ALL = ("linear_peers", "scale", *QUALITY, *TAGGER, "tfidf_speed", "encoding")
WITHOUT_DATA = ("label_index", "figures", "tables")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with the data sets (or EVERYLABEL_DATA)")
    arguments = parser.parse_args()
    data = str(data_folder(arguments.data))
    for name in ALL:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", "--data", data], check=True)
    for name in WITHOUT_DATA:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
