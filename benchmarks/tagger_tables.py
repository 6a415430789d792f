"""The tables of `benchmarks.tagger`: the Tagger beside its experts, its calibration, speed and costs."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import conditions, table
from benchmarks.record import read_result
from benchmarks.tagger import ROWS

SHOWN = ("P@1", "nDCG@5", "PSP@5", "tail/F1@5", "ZSR@10", "ZSR@100", "R@100", "RP@5", "MRR")
COMPARED = ("nDCG@5", "PSP@5", "tail/F1@5", "ZSR@100")
PUBLISHED = [  # eurlex57k, as the paper or our run of the peer has it
    ["eurlex57k", "OF-LAN, published (8 GPUs)", "-", "83.0", "67.9", "-", "-", "43 to 51", "-", "-", "-"],
    ["eurlex57k", "PECOS XR-Linear (table of peers)", "92.2", "83.6", "65.0", "-", "0", "0", "-", "-", "-"],
]


def tagger_section() -> str:
    records = {row: record for row in ROWS if (record := read_result(f"tagger-{row}")) is not None}
    if not records:
        return ""
    rows, differences = [], []
    for row, record in records.items():
        for name, scores in {"tagger": record["scores"], **record["experts"]}.items():
            rows.append([row, name, *(cell(scores.get(key)) for key in SHOWN)])
        for name, found in record["differences"].items():
            differences.append([row, name, *(difference(found.get(key)) for key in COMPARED)])
    notes = (
        "In %. One tagger each, fitted on train and blended on dev. Differences: the tagger minus the expert, in "
        "points, with the 95% interval of the paired bootstrap over test documents; of the tail, the t-test over its "
        "labels."
    )
    parts = [
        "## The Tagger",
        table(["data", "system", *SHOWN], rows + (PUBLISHED if "eurlex57k" in records else [])),
        table(["data", "tagger - expert", *COMPARED], differences),
        notes,
        _costs(records),
        *dict.fromkeys(conditions(record) for record in records.values()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _costs(records: dict[str, dict[str, Any]]) -> str:
    rows = []
    for row, record in records.items():
        speed, one = record["speed"], record["speed"]["one_document_ms"]
        errors = [cell(record["calibration"][group]["ECE"]) for group in ("all", "seen", "tail", "unseen")]
        fit = ", ".join(f"{stage} {seconds:,.0f}" for stage, seconds in record["costs"].items())
        rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in speed["experts"].items())
        times = [f"{record['seconds'] / 60:.0f}", fit, f"{speed['documents_per_second']:,.0f}", rates]
        rows.append([row, *errors, *times, f"{one['median']:.0f}, {one['p95']:.0f}", f"{record['peak_gb']:.1f}"])
    errors = ["ECE", "seen", "tail", "unseen"]
    columns = [*errors, "fit min", "stages s", "docs/s", "of experts", "one document ms: median, p95", "peak GB"]
    return table(["data", *columns], rows)


def cell(value: float | None) -> str:
    return "-" if value is None or value != value else f"{100 * value:.1f}"


def difference(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    if "low" in found:
        ends = f"{100 * found['low']:+.2f} to {100 * found['high']:+.2f}"
        return f"{100 * found['difference']:+.2f} ({ends})"
    return f"{100 * found['difference']:+.2f} (p {found['p_value']:.2g})"
