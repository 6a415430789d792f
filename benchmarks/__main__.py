"""All benchmarks, one after the other, then the pages of results: python -m benchmarks --data DIR

`run.house` and `run.debian` are by themselves: they need an older checkout, and a Debian.
"""

from __future__ import annotations

from benchmarks.run.command import data_folder, data_parser, start

QUALITY = ("quality", "differences", "choices", "pair_choices", "label_vectors", "dropped_labels", "labels_at_run_time")
TAGGER = ("tagger", "tagger_choices", "tagger_conditions", "plan_times", "expert_costs", "prior", "few_pairs")
SCALE = ("scale", "extreme", "hybrid_shortlist", "fewer_weights", "append_neighbours")
WITH_DATA = ("linear_peers", *SCALE, *QUALITY, *TAGGER, "tfidf_speed", "encoding", "serving_load", "label_search")
HOSTILE = ("run.hostile", "run.hostile_writers", "run.hostile_requests", "run.checking")
SERVING = ("run.serving_faults", "run.serving_soak", "run.first_view")
WITHOUT_DATA = ("run.label_index", "run.million_labels", *HOSTILE, *SERVING, "tables.figures", "tables")


def main() -> None:
    data = data_folder(data_parser(__doc__).parse_args().data)
    for name in WITH_DATA:
        print(f"== {name}", flush=True)
        start(f"run.{name}", "--data", data)
    for module in WITHOUT_DATA:
        print(f"== {module}", flush=True)
        start(module)


if __name__ == "__main__":
    main()
