"""results/pages/house.md, this code beside the one before its rebuilding: python -m benchmarks.tables.house"""

from __future__ import annotations

from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, percent, section, table

MEASURES = {
    "documents_per_second": "documents/s, batches of 256",
    "one_document_median_ms": "one document, ms, median",
    "one_document_p95_ms": "one document, ms, 95 % within",
    "fit_seconds": "fit s",
    "model_mb": "model MB",
    "load_seconds": "load s",
    "tag_seconds": "`everylabel tag` with one text, s",
    "second_process_mb": "memory of its own of a second process, MB",
}


def tagger_section() -> str:
    part = _part("tagger")
    if not part:
        return ""
    before, after, ratios = part["before"], part["after"], part["ratios"]
    rows = [
        [name, f"{before[key]:,g}", f"{after[key]:,g}", f"{ratios[key]:.2f}"]
        for key, name in MEASURES.items()
        if key in after and key in before
    ]
    notes = (
        "eurlex57k, 1,000 test documents together and 200 alone, three rounds in turns: medians, of `tag` the best. "
        "Times better: above 1 this code is faster or smaller. Memory: private pages of a process that has ranked a "
        f"text while another one with the same model is alive. {_commits(part)}"
    )
    return section("The Tagger", table(["", "before", "after", "times better"], rows), notes, _conditions())


def rankings_section() -> str:
    part = _part("rankings")
    if not part:
        return ""
    notes = (
        f"Fitted on {part['documents']:,} documents of eurlex57k, 500 dev documents ranked 100 deep. Equal rows: the "
        "share of documents with the same labels in the same order; equal labels: the share of ranks with the same "
        f"label; scores: the largest difference of a label's at the same rank. {_commits(part)}"
    )
    return section("The same rankings, eurlex57k", _agreement(part, timed=True), notes, _conditions())


def sample_section() -> str:
    part = _part("sample")
    if not part:
        return ""
    notes = f"Every method on the embedded sample, with little training; its test documents. {_commits(part)}"
    return section("The same rankings, the sample", _agreement(part, timed=False), notes, _conditions())


def _agreement(part: dict[str, Any], *, timed: bool) -> str:
    """`timed`: where fits are long enough for their seconds to say something."""
    rows = []
    for name, found in part["methods"].items():
        shares = [percent(found["equal_rows"]), percent(found["equal_ids"])]
        quality = [percent(value) for value in found["nDCG@5"]]
        seconds = [f"{value:.1f}" for key in ("fit_seconds", "rank_seconds") for value in found[key]] if timed else []
        rows.append([name, *shares, f"{found['largest_score_difference']:.1g}", *quality, *seconds])
    pairs = [f"{what}, {when}" for what in ("nDCG@5", "fit s", "rank s") for when in ("before", "after")]
    return table(["method", "equal rows %", "equal labels %", "scores", *(pairs if timed else pairs[:2])], rows)


def _part(name: str) -> dict[str, Any]:
    found: dict[str, Any] = (read_result("house") or {}).get("parts", {}).get(name, {})
    return found


def _commits(part: dict[str, Any]) -> str:
    return f"Before: {part['commits']['before']}, after: {part['commits']['after']}."


def _conditions() -> str:
    record = read_result("house")
    return "" if record is None else conditions(record)


PAGE = Page(
    module="house",
    title="Before and after the house was rebuilt",
    about="The same rankings by this code and by the code before, and how much faster and smaller it is.",
    runs=("house",),
    sections=(tagger_section, rankings_section, sample_section),
)

if __name__ == "__main__":
    PAGE.write()
