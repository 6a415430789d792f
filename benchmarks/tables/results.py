"""docs/results.md, what to expect of the Tagger: python -m benchmarks.tables.results"""

from __future__ import annotations

import re
from typing import Any

from benchmarks.record import RESULTS, read_result, read_results
from benchmarks.tables.markdown import Page, conditions, percent, section, table
from benchmarks.tables.tagger import CONDITION_KEYS, PUBLISHED, nan_last, other_systems, records

KEYS = ("P@1", "nDCG@5", "R@100", "ZSR@100")
NAMES = ["first right", "nDCG@5", "in 100", "unseen in 100"]
KINDS = {  # what a corpus is
    "eurlex57k": "EU laws, long",
    "cve-libraries": "reports of faults in programs, short; labels: programs",
    "wordnet-reverse": "definitions, a line; labels: words",
    "tibkat-de": "German and English titles and abstracts; labels: subjects",
    "wiktionary-translations": "definitions, a line; labels: words of other languages",
    "esco-skills": "names of jobs; labels: skills",
}
Record = dict[str, Any]


def expected_section() -> str:
    rows = []
    for row, record in records().items():
        if "dropped" in row:
            continue
        ((seen, of_all),) = re.findall(r"(?:([0-9,]+) of )?([0-9,]+) labels(?: have some)?, [0-9l]", record["plan"][0])
        experts = record["experts"]
        best = max(experts, key=lambda name: nan_last(experts[name]["nDCG@5"]), default="")
        beside = f"{percent(experts[best]['nDCG@5'])} ({best})" if best else "-"
        scores = [percent(record["scores"].get(key)) for key in KEYS]
        one = record["speed"]["one_document_ms"]["median"]
        about = [row, KINDS.get(record["data"], ""), f"{record['train_documents']:,}", of_all, seen or "0"]
        rows.append([*about, f"{record['seconds'] / 60:.0f}", *scores, beside, f"{one:.0f}"])
    if not rows:
        return ""
    columns = ["data", "texts", "documents", "labels", "of them seen", "minutes to fit"]
    notes = (
        "In % of the test documents, which nobody has read: how often the first suggestion is right; nDCG@5, which is "
        "1 where the first five are all that five can be; the share of a document's labels among the first 100; the "
        "same of labels without training documents. By default settings, fitted on train and blended on dev (rows "
        "named -refit: fitted again on both, as is the default; the others not, since published systems learn from "
        "train alone). Beside it the best of its own experts, and the milliseconds of one document."
    )
    return section(
        "What to expect", table([*columns, *NAMES, "best expert's nDCG@5", "ms"], rows), notes, *machines(records())
    )


def less_section() -> str:
    record = read_result("tagger-conditions")
    if record is None:
        return ""
    rows = []
    for name, found in record["conditions"].items():
        best = {key: max(nan_last(one[key]) for one in found["experts"].values()) for key in CONDITION_KEYS}
        values = [f"{percent(found['scores'][key])} / {percent(best[key])}" for key in ("P@1", "nDCG@5", "R@100")]
        rows.append([name, found["data"], *values, f"{found['seconds'][0] / 60:.1f}"])
    return section(
        "With less, or other texts",
        table(["what there is to learn from", "data", "first right", "nDCG@5", "in 100", "minutes to fit"], rows),
        "The Tagger / the best expert in this metric, on up to 2,000 test documents.",
        conditions(record),
    )


def minutes_section() -> str:
    rows, found = [], read_results("tagger-minutes-*")
    for record in found:
        corpus = record["name"].removeprefix("tagger-minutes-")
        for minutes, one in sorted(record["budgets"].items(), key=lambda item: int(item[0])):
            experts = one["experts"]
            best = max(experts, key=lambda name: experts[name]["nDCG@5"])
            values = [percent(one["scores"][key]) for key in ("P@1", "nDCG@5", "PSP@5", "ZSR@100")]
            beside = f"{percent(experts[best]['nDCG@5'])} ({best})"
            rows.append([corpus, minutes, f"{one['seconds'] / 60:.1f}", *values, beside, ", ".join(one["fitted"])])
    if not rows:
        return ""
    columns = ["data", "budget, minutes", "taken", "first right", "nDCG@5", "PSP@5", "unseen in 100"]
    return section(
        "What each minute buys",
        table([*columns, "best expert's nDCG@5", "experts"], rows),
        "By default, with `--budget`: experts learn from train and dev in the end, where there is time.",
        *dict.fromkeys(conditions(record) for record in found),
    )


def others_section() -> str:
    if "eurlex57k" not in records():
        return ""
    own = records()["eurlex57k"]["scores"]
    rows = [["everylabel, Tagger", "run here", *(percent(own[key]) for key in ("P@1", "nDCG@5", "PSP@5", "ZSR@100"))]]
    for _, name, first, ndcg, psp, _tail, _ten, hundred, *_ in other_systems():
        known = name.removesuffix(", published")
        kind = "published" if known != name and known in PUBLISHED else "run here"
        rows.append([known, kind, first, ndcg, psp, hundred])
    return section(
        "Beside other systems, eurlex57k",
        table(["system", "numbers", "first right", "nDCG@5", "PSP@5", "unseen in 100"], rows),
        "Published: table 6 of the paper of OF-DE (its systems read labels' names alone); run here: our own "
        "implementations of MatchXML, DEPL, OF-LAN and MACLR, and libpecos 1.2.8. All learn from train alone. PSP@5 "
        "weighs rare labels more.",
    )


def made_section() -> str:
    return section(
        "How these numbers were made",
        "Settings were chosen on dev documents; test was looked at once, but where a page says otherwise. All ran "
        "on two cores without a GPU. Each has its command, seed, versions and machine in the JSON file that it comes "
        "from; [all pages](../benchmarks/results/README.md) have intervals, more metrics and what did not work.",
    )


def machines(found: dict[str, Record]) -> list[str]:
    return list(dict.fromkeys(conditions(record) for name, record in found.items() if "dropped" not in name))


PAGE = Page(
    module="results",
    title="What to expect",
    about="How good, how fast, and with how much.",
    runs=("tagger", "tagger_conditions", "tagger_minutes"),
    sections=(expected_section, less_section, minutes_section, others_section, made_section),
    folder=RESULTS.parent.parent / "docs",
)

if __name__ == "__main__":
    PAGE.write()
