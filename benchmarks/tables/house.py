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


MILLION = {"open_ms": "open, ms", "add_one_label_ms": "add one label, ms", "rank_nothing_ms": "rank such a text, ms"}


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
        "text while another one with the same model is alive. Both fits and all rounds had the processor before "
        "anything else on the machine (SCHED_RR), but for the first half of the older fit, beside which other work "
        f"ran; the newer fit is of 10a10d8, and what came after it changes ranking alone. {_commits(part)}"
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
    return section("The same rankings, eurlex57k", _agreement(part), notes, _conditions())


def sample_section() -> str:
    part = _part("sample")
    if not part:
        return ""
    notes = f"Every method on the embedded sample, with little training; its test documents. {_commits(part)}"
    return section("The same rankings, the sample", _agreement(part), notes, _conditions())


def _agreement(part: dict[str, Any]) -> str:
    """Without the seconds: kernels are compiled in them."""
    rows = []
    for name, found in part["methods"].items():
        shares = [percent(found["equal_rows"]), percent(found["equal_ids"])]
        quality = [percent(value) for value in found["nDCG@5"]]
        rows.append([name, *shares, f"{found['largest_score_difference']:.1g}", *quality])
    header = ["method", "equal rows %", "equal labels %", "scores", "nDCG@5, before", "nDCG@5, after"]
    return table(header, rows)


def plan_section() -> str:
    record = read_result("plan-times")
    if record is None:
        return ""
    rows = [
        [f"{name}, {expert}", f"{seconds['planned']:.1f}", f"{seconds['taken']:.1f}"]
        for name, found in record["rows"].items()
        for expert, seconds in found["experts"].items()
    ]
    rows += [
        [f"**{name}, in all**", f"{found['planned']:.1f}", f"{found['taken']:.1f}"]
        for name, found in record["rows"].items()
    ]
    notes = "Seconds that the plan of a Tagger says, by the speed of this machine as it was measured once, and took."
    return section(
        "Planned against taken", table(["data, expert", "planned", "taken"], rows), notes, conditions(record)
    )


def experts_section() -> str:
    record = read_result("expert-costs")
    if record is None:
        return ""
    rows = []
    for name, found in record["rows"].items():
        data, expert, *_ = name.split(":")
        facts, scores = found["facts"], found["scores"]
        sizes = [f"{facts['n_labels']:,}", f"{facts['n_labelled']:,}"]
        seconds = [f"{found[key]:.0f}" for key in ("planned_cpu_seconds", "cpu_seconds")]
        memory = [f"{found[key]:.1f}" for key in ("planned_gb", "gb_more_at_the_peak")]
        rows.append(
            [f"{data}, {expert}", *sizes, *seconds, *memory]
            + [f"{found['ms_a_document']:.1f}", *(f"{scores[key]:.1f}" for key in ("nDCG@5", "PSP@5", "R@100"))]
        )
    notes = (
        "One fit on training documents or a random part of them: seconds of CPU and GB at the peak beside the data, as "
        "a plan has them for this machine and as they were. What it plans in GB is to be at least a fifth more. "
        "Scores are those of 1,000 dev documents, in %."
    )
    header = ["data, expert", "labels", "documents", "CPU s planned", "CPU s", "GB planned", "GB", "ms a document"]
    header += ["nDCG@5", "PSP@5", "R@100"]
    return section("Experts with many labels", table(header, rows), notes, conditions(record))


def costs_section() -> str:
    part = _part("costs")
    if not part:
        return ""
    rows = [[name, f"{ms:.2f}"] for name, ms in part["ms"].items()]
    notes = (
        "768 test documents in batches of 256, two cores; each expert by itself, with all that it reads, which "
        f"together they read once. {_commits(part)}"
    )
    return section("What each part of the Tagger takes", table(["part", "ms a document"], rows), notes, _conditions())


def million_section() -> str:
    record = read_result("million-labels")
    if record is None:
        return ""
    rows = [
        [f"{method}, {size} labels", *(f"{found[method][key]:,g}" for key in MILLION)]
        for size, found in record["sizes"].items()
        for method in ("tfidf", "tagger")
    ]
    sizes = ", ".join(
        f"{found['bytes_a_label_beside_texts']} bytes at {size}" for size, found in record["sizes"].items()
    )
    grows = ", ".join(f"{name} {ms} ms" for name, ms in record["ms_of_ranking_that_grow_with_the_labels"].items())
    notes = (
        f"Made-up labels. A label takes, beside its texts: {sizes}. A text that shares no word with any label is "
        f"ranked: what grows from the smaller vocabulary to the larger is bookkeeping, {grows}."
    )
    return section("A million labels", table(["model", *MILLION.values()], rows), notes, conditions(record))


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
    runs=("house", "plan_times", "expert_costs", "million_labels"),
    sections=(
        tagger_section,
        costs_section,
        million_section,
        plan_section,
        experts_section,
        rankings_section,
        sample_section,
    ),
)

if __name__ == "__main__":
    PAGE.write()
