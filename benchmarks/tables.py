"""benchmarks/results as one Markdown page: python -m benchmarks.tables"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.record import RESULTS, read_result
from benchmarks.scale import SIZES

QUALITY = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@5", "R@10", "R@100", "ZSR@100", "tail-F1@5")
NO_PAIRS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "R@10", "R@100", "ZSR@10", "ZSR@50", "ZSR@100", "RP@5", "MRR")
INTERVALS = ("nDCG@5", "ZSR@100")
PUBLISHED = """\
What to compare with, eurlex57k test: PECOS and omikuji in the table of peers below; the best published neural model
(OF-LAN, 8 GPUs) has nDCG@5 83.0, PSP@5 67.9 and ZSR@100 43 to 51. Linear models have ZSR 0 by construction."""

PUBLISHED_NO_PAIRS = """\
What to compare with, eurlex57k test without pairs, published: TF-IDF nDCG@5 29.7 and ZSR@100 38.8, RTS 22.0 and 48.9.
`plain` is the encoder as it comes, without taking away what all documents have in common. esco-skills has no training
documents: `simcse`, `rts` and `maclr` learn from label texts there, and `rts` and `maclr` are worse for it than the
same encoder frozen (`semantic-static`)."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def percent(values: Sequence[float | None]) -> str:
    """Mean, and the spread over seeds where there are several."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return "-"
    spread = f" ± {statistics.stdev(known):.2f}" if len(known) > 1 else ""
    return f"{statistics.mean(known):.1f}{spread}"


def conditions(record: dict[str, Any]) -> str:
    machine, versions = record["machine"], record["versions"]
    return (
        f"`{record['command']}` on {machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
    )


TITLES = {
    "pairs": ("## Quality with all labelled documents", QUALITY, PUBLISHED),
    "no pairs": ("## Without a single labelled document", NO_PAIRS, PUBLISHED_NO_PAIRS),
    "ablation": (
        "## MACLR's parts, without pairs, 10,000 documents",
        NO_PAIRS,
        "The order of the paper's table 5: 1 ICT, 2 + MAC, 3 + label regularisation, 4 both, 5 to 7 + pseudo labels of "
        "the encoder, of TF-IDF, of both. Static encoder. The paper: each part helps (R@100), both views most. Here, "
        "on eurlex57k, MAC and each view of pseudo labels raise R@100, TF-IDF's by far the most; not shown: label "
        "regularisation changes nothing (its loss is next to 0 from the start: a long text is nearer to its twin than "
        "to any label), and both views are worse than TF-IDF's alone. On wordnet-reverse, whose documents are glosses "
        "of a few words, no part helps.",
    ),
    "few-shot": (
        "## Few pairs, 10,000 documents",
        NO_PAIRS,
        "labels1, labels5: all pairs of 1 % and 5 % of the labels; pairs1, pairs5: 1 % and 5 % of all pairs. Each "
        "seed draws others. The linear models know only the labels that they saw.",
    ),
    "transformer": (
        "## A transformer without pairs: training, and passages of long documents",
        NO_PAIRS,
        "`maclr-minilm` trains all-MiniLM-L6-v2 on 64 tokens of 2,000 documents, 32 a step, for 20 steps a stage: "
        "enough for what a step costs, not for what it could learn; in so short a run clusters are made anew at every "
        "step of the first half, which is most of stage I's time; 1,000 test documents. `passages`: the frozen "
        "encoder on the first 256 tokens, the mean of all passages of 256, and the best passage for each label; 600 "
        "test documents.",
    ),
}


def quality_section() -> str:
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in TITLES}
    for path in sorted((RESULTS / "quality").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        rows = tables[record.get("table", "pairs")]
        rows.setdefault(f"{record['row']} ({record['split']})", []).append(record)
    return "\n".join(quality_table(name, records) for name, records in tables.items() if records)


def quality_table(name: str, records: dict[str, list[dict[str, Any]]]) -> str:
    title, metrics, remarks = TITLES[name]
    rows = []
    for row, cells in records.items():
        scores = [percent([cell["scores"]["values"].get(key) for cell in cells]) for key in metrics]
        fit = f"{max(cell['seconds']['fit'] for cell in cells):.0f}"
        speed = f"{min(cell['documents_per_second'] for cell in cells):,.0f}"
        memory = f"{max(cell['peak_gb'] for cell in cells):.1f}"
        seeds = ", ".join(str(cell["seed"]) for cell in cells)
        ends = [interval(cells[0], key) for key in INTERVALS]
        step = thousand_steps(cells)
        rows.append([row, *scores, *ends, fit, step, speed, f"{cells[0]['model_mb']:.0f}", memory, seeds])
    ends = [f"{key}, 95%" for key in INTERVALS]
    columns = ["row", *metrics, *ends, "fit s", "s/1,000 steps", "docs/s", "model MB", "peak GB", "seeds"]
    empty = [i for i in range(len(columns)) if all(row[i] == "-" for row in rows)]  # metrics that the data has not
    columns, *rows = [[cell for i, cell in enumerate(row) if i not in empty] for row in [columns, *rows]]
    notes = (
        "In %; several seeds: mean ± standard deviation. 95%: bootstrap interval over documents, first seed. Fit and "
        "docs/s are from texts, of the slowest seed; peak memory is that of the whole process, the texts included."
    )
    last = next(reversed(records.values()))[0]
    return f"{title}\n\n{table(columns, rows)}\n\n{notes}\n{remarks}\n\n{conditions(last)}\n"


def interval(cell: dict[str, Any], key: str) -> str:
    ends = cell.get("intervals", {}).get(key)
    return "-" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def thousand_steps(cells: list[dict[str, Any]]) -> str:
    """Seconds, over all stages; of methods that train step by step."""
    stages = [stage for cell in cells for stage in cell.get("stages", {}).values()]
    steps = sum(stage["steps"] for stage in stages)
    return f"{1000 * sum(stage['seconds'] for stage in stages) / steps:.0f}" if steps else "-"


def choices_section() -> str:
    record = read_result("choices")
    if record is None:
        return ""
    keys = {"eurlex57k": ("nDCG@5", "R@100"), "cve-libraries": ("nDCG@5", "R@100"), "esco-skills": ("RP@5", "MRR")}
    rows = []
    for method, choices in record["found"]["eurlex57k"].items():
        for choice in choices:
            found = [record["found"].get(data, {}).get(method, {}).get(choice, {}) for data in keys]
            values = [own.get(key) for own, names in zip(found, keys.values(), strict=True) for key in names]
            rows.append([method, choice, *("-" if value is None else f"{100 * value:.1f}" for value in values)])
    columns = ["method", "setting", *(f"{data} {key}" for data, names in keys.items() for key in names)]
    notes = (
        f"At most {record['dev_documents']:,} dev documents of each, one setting changed at a time; the defaults were "
        "chosen by these numbers."
    )
    return f"## Settings without pairs, on dev\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def peers_section() -> str:
    record = read_result("linear-peers")
    if record is None:
        return ""
    rows = []
    for name, system in record["systems"].items():
        rows.append(
            [
                name,
                *(f"{100 * system[key]:.1f}" for key in ("P@1", "nDCG@5", "PSP@5")),
                f"{system['train_seconds']:.0f}",
                f"{system['documents_per_second']:,.0f}",
                f"{system['plain_documents_per_second']:,.0f}" if "plain_documents_per_second" in system else "",
                f"{system['train_peak_gb']:.2f}",
                f"{system['predict_peak_gb']:.2f}",
                f"{system['model_mb']:.0f}",
            ]
        )
    quality = ["P@1", "nDCG@5", "PSP@5"]
    columns = ["system", *quality, "train s", "docs/s", "docs/s, plain", "train GB", "predict GB", "model MB"]
    speed = ["train_seconds", "documents_per_second", "plain_documents_per_second"]
    keys = [*speed, "train_peak_gb", "predict_peak_gb", "model_mb"]
    ratios = [
        [name, *(f"{values[key]:.1f}" if key in values else "" for key in keys)]
        for name, values in record["ratios"].items()
    ]
    better = ["against", "training", "prediction", "prediction, plain", "train memory", "predict memory", "model size"]
    notes = (
        "eurlex57k, trained on train, measured on test; all systems get the same TF-IDF features, run one after the "
        "other on the same cores, and rank 20 labels with a beam of 10. `pecos` has its defaults (leaves of 100 "
        "labels, equal costs), `pecos-wide` our leaves and costs, with which its nDCG@5 is higher. Training includes "
        "the label tree. PECOS predicts fast from a model that was loaded for prediction only (`docs/s`), and slowly "
        "from one that was just trained or plainly loaded (`docs/s, plain`, on 1,000 documents)."
    )
    return (
        f"## Beside PECOS 1.2.8 and omikuji 0.5.2\n\n{table(columns, rows)}\n\nTimes better (above 1: everylabel is "
        f"faster or smaller):\n\n{table(better, ratios)}\n\n{notes}\n\n{conditions(record)}\n"
    )


def tfidf_section() -> str:
    record = read_result("tfidf-speed")
    if record is None:
        return ""
    rows = [[name, ", ".join(f"{value:.1f}" for value in values)] for name, values in record["seconds"].items()]
    notes = (
        f"{record['documents']:,} documents, {record['columns']:,} columns, {record['values']:,} values; the largest "
        f"difference between the two matrices is {record['largest_difference']:.1e}. "
        f"Ratio of the medians: **{record['ratio']:.1f}**."
    )
    title = "## TF-IDF beside scikit-learn's (one core), three runs in turns"
    return f"{title}\n\n{table(['system', 'seconds'], rows)}\n\n{notes}\n\n{conditions(record)}\n"


def scale_section() -> str:
    records = [record for size in SIZES if (record := read_result(f"scale-{size}")) is not None]
    if not records:
        return ""
    rows = []
    for record in records:
        seconds, scores = record["seconds"], record["scores"]
        rows.append(
            [
                f"{record['labels']:,}",
                f"{record['labels_with_pairs']:,}",
                f"{record['train_documents']:,}",
                *(f"{seconds[step]:.1f}" for step in ("fit", "save", "load")),
                f"{record['microseconds_per_document']:.0f}",
                f"{record['model_mb']:.0f}",
                f"{record['peak_gb']:.2f}",
                *(f"{100 * scores[key]:.1f}" for key in ("P@1", "nDCG@5", "R@100")),
            ]
        )
    sizes = ["labels", "seen", "documents"]
    columns = [*sizes, "fit s", "save s", "load s", "µs/document", "model MB", "peak GB", "P@1", "nDCG@5", "R@100"]
    notes = "xr-linear with its defaults on wordnet-reverse; the same 11,755 texts are ranked at each size."
    return f"## Many labels\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(records[-1])}\n"


def encoding_section() -> str:
    record = read_result("encoding")
    if record is None:
        return ""
    rows = []
    for what in ("titles", "texts"):
        for name, values in record[what].items():
            numbers = [f"{values['texts_per_second']:,.0f}", f"{values['ratio']:.2f}", f"{values['cosine_min']:.4f}"]
            rows.append([what, name, *numbers])
    static = record["static"]
    notes = (
        "eurlex57k test, all-MiniLM-L6-v2, texts cut at 256 tokens; the ratio is the median over eight blocks that all "
        f"encode in turn. Static embeddings: {static['texts_per_second']:,} whole texts a second "
        f"({static['words_per_text']} words each), tokenising included."
    )
    columns = ["of", "encoder", "texts/s", "times as fast", "least cosine"]
    title = "## Encoding beside SentenceTransformer.encode"
    return f"{title}\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def index_section() -> str:
    records = [record for n in (200_000, 1_000_000) if (record := read_result(f"label-index-{n}")) is not None]
    if not records:
        return ""
    rows = []
    for record in records:
        for kind in ("exact", "ann-i8", "ann-f16"):
            if kind in record:
                values = record[kind]
                search = values.get("default", values)
                rows.append(
                    [
                        f"{record['n']:,}",
                        kind,
                        f"{search.get('recall', 1):.3f}",
                        f"{search['batch_per_second']:,.0f}",
                        f"{search['single_ms']:.1f}",
                        f"{values['build']['seconds']:,.0f}",
                        f"{values['memory_mb']:,.0f}",
                        f"{values['file_mb']:,.0f}",
                    ]
                )
    columns = ["vectors", "index", "recall@100", "queries/s", "one query, ms", "build s", "memory MB", "file MB"]
    notes = "\n".join(f"- {record['n']:,}: {note}" for record in records for note in record.get("notes", []))
    text = f"{records[-1]['dim']} dimensions; how the vectors are made and the libraries compared: docs/label_index.md."
    return f"## Label index\n\n{table(columns, rows)}\n\n{text}\n\n{notes}\n\n{conditions(records[-1])}\n"


def main() -> None:
    quality = [quality_section(), choices_section(), peers_section()]
    sections = [*quality, tfidf_section(), scale_section(), encoding_section(), index_section()]
    page = "# Results\n\nWritten by `python -m benchmarks.tables` from the JSON files beside this page.\n\n"
    (RESULTS / "README.md").write_text(page + "\n".join(section for section in sections if section), encoding="utf-8")
    print(f"wrote {RESULTS.name}/README.md")


if __name__ == "__main__":
    main()
