"""results/pages/unseen-labels.md, labels without training documents: python -m benchmarks.tables.unseen_labels"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import (
    ALL_TEXTS,
    TEXTS_OF_ROWS,
    Page,
    conditions,
    difference,
    percent,
    picture,
    section,
    table,
)
from benchmarks.tables.quality import FROM_CELLS, UNSEEN, cells, quality_section

BASES = ("zestxml", "xr-linear", "of-lan")
ONE_SIDED = (
    'The table of "Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification" '
    "with static embeddings; published, eight GPUs: OF-LAN nDCG@5 83.0, PSP@5 67.9, ZSR@100 43 to 51. All rows as "
    "they come: unseen labels are no negatives, and a label's frequency adds to its logit. The paper: `of-lan` is "
    "best overall of all that can rank unseen labels, and keeps them. Here its ZSR is highest (not by much), and "
    "attention helps where labels have weights of their own (`lan`, `ova-clf`); not shown: that it helps overall "
    "where they are frozen (nDCG@5 of `of-lan` and `of-de`), and that frozen labels are better than trained ones "
    "(`dpr`). As they come, trained labels keep unseen ones alive, too; without a label's frequency and with "
    "unseen negatives they do not (next table). Each row had one core beside other work: not "
    "timed alone."
)
FACTORIAL = (
    "`seen`, `unseen`: whether labels that nobody has used are among the negatives (and, with lambda, among the "
    "label texts). 0, 1: lambda, the weight of the auxiliary loss. As in the paper, a label's frequency has no "
    "part in logits and rankings (`frequency_weight=0`); four passes, 256 lexical dimensions, not 768. In each "
    "row 5 % of the labels are hidden from training for the evaluations in between: they count as unseen here "
    "only if all training documents lack them. `long`: 20 passes. `minilm-titles`: the transformer on the first 32 "
    "tokens, one pass. The paper: label sides that are trained lose unseen labels when those are negatives, frozen "
    "ones keep them. Here, ZSR@100 with and without unseen negatives: dpr 28 and 40, dexml 33 and 42, of-de 43 and "
    "47, of-lan 43 and 49; in 20 passes dpr-0 has 19, of-de-1 34. So a frozen side loses less, not nothing. Lambda "
    "changes next to nothing (89 documents have an unseen label: see the intervals)."
)
CVE = (
    "Linear models know none of the unseen labels: their ZSR is 0. `hybrid` and `tfidf` do not look at pairs. Rows "
    "without pairs, of `maclr` and others, are in [without pairs](without-pairs.md). No method alone reaches 75."
)
ALIVE = "One-sided fine-tuning: what keeps unseen labels alive, 10,000 documents"


def collapse_section() -> str:
    """The first and the last evaluation of the factorial's rows."""
    watched = {key for cell in cells() for state in cell.get("history") or () for key in state}
    measures = [
        ("ndcg@5", "nDCG@5", 100, 1),
        ("zsr@100", "ZSR@100", 100, 1),
        ("unseen_cosine", "cosine", 1, 3),
        ("unseen_participation", "directions", 1, 1),
        ("seen_cosine", "of seen", 1, 3),
        ("unseen_seen_cosine", "with seen", 1, 3),
        ("unseen_isolation", "isolation", 100, 1),
    ]
    measures = [measure for measure in measures if measure[0] in watched]  # earlier runs have fewer
    rows = []
    for cell in cells():
        history = cell.get("history")
        if history:
            first, last = history[0], history[-1]
            values = [
                "-" if state.get(key) is None else f"{scale * state[key]:.{digits}f}"
                for key, _, scale, digits in measures
                for state in (first, last)
            ]
            rows.append([cell["row"], str(last["step"]), *values])
    if not rows:
        return ""
    columns = ["row", "steps", *(f"{name}, {when}" for _, name, _, _ in measures for when in ("before", "after"))]
    notes = (
        "Documents and labels held out for the purpose. Cosine: mean over pairs of unseen labels' vectors; directions: "
        "their participation ratio. A collapse is a cosine towards 1 and few directions."
    )
    if "unseen_isolation" in watched:
        notes += (
            " Of seen, with seen: the same mean over pairs of seen labels, and of an unseen and a seen one. Isolation, "
            "in %: how many of an unseen label's ten nearest are unseen, from 0 (as many as by chance) to 100 (all)."
        )
    shown = picture("history", "unseen labels while training"), picture("projection", "their vectors before and after")
    title = "The collapse of unseen labels, and its absence"
    return section(title, table(columns, rows), notes, TEXTS_OF_ROWS, FROM_CELLS, *shown)


def dropped_section() -> str:
    records = [record for base in BASES if (record := read_result(f"dropped-labels-{base}")) is not None]
    if not records:
        return ""
    metrics = list(next(iter(records[0]["drops"][0]["values"].values())))
    rows, differences, searches = [], [], []
    for record in records:
        base, drops = record["base"], record["drops"]
        for name in drops[0]["values"]:
            values = [percent(*(drop["values"][name][key] for drop in drops)) for key in metrics]
            rows.append(["-" if base == "zestxml" else base, name, *values])
        for name, found in record.get("differences", {}).items():
            differences.append([base, f"xml0 - {name}", *(difference(found[key]) for key in metrics)])
        searches += [search_row(base, drop) for drop in drops if "greedy" in drop]
    notes = (
        "500 labels at random lose their training pairs, three times over; mean ± standard deviation. Only labels "
        "without pairs are candidates and truth, and only test documents that have one count. Differences: 95% "
        "interval of the paired bootstrap over the documents of all drops. On `of-lan`: 10,000 training documents and "
        "200 steps, so that more labels have no pairs and all numbers are lower. The paper: XML0 is above both of its "
        "parts. Here it is, far above fusion and a little above `semantic`, on both bases and by every metric but P@1 "
        "on `xr-linear`, where nothing is shown. `zestxml` is above all of them. ConSE is below fusion by nDCG on both."
    )
    return section(
        "Labels dropped from training",
        table(["base", "method", *metrics], rows),
        table(["base", "difference", *metrics], differences),
        "The growing search beside the exhaustive one: how often it finds the same subset, and what it loses of the "
        "cosine.",
        table(["base", "weight of fusion", "searches", "same subset %", "mean loss", "largest loss"], searches),
        notes,
        ALL_TEXTS,
        *map(conditions, records),
    )


def search_row(base: str, drop: dict[str, Any]) -> list[str]:
    loss = drop["greedy"]
    numbers = [f"{loss['searches']:,}", f"{100 * loss['same']:.1f}", f"{loss['mean_loss']:.5f}"]
    return [base, f"{drop['weight']:.2f}", *numbers, f"{loss['largest_loss']:.4f}"]


def run_time_section() -> str:
    record = read_result("labels-at-run-time")
    if record is None:
        return ""
    steps = {
        "fit": "fit s",
        "add 10000": "add 10,000 s",
        "add the others": "add the others s",
        "rank before": "rank before s",
        "rank after": "rank after s",
    }
    peaks, metrics = ("fit", "add", "rank"), ("nDCG@5", "R@100", "ZSR@10", "ZSR@100")
    rows = []
    for found in record["found"].values():
        sizes = [f"{found[key]:,}" for key in ("labels_before", "labels_after")]
        times = [f"{found['seconds'][step]:.1f}" for step in steps]
        memory = [f"{found['peak_gb'][step]:.1f}" for step in peaks]
        values = [percent(found[when][key]) for key in metrics for when in ("before", "after")]
        rows.append([found["method"], *sizes, *times, *memory, *values])
    after = [f"{key}{when}" for key in metrics for when in ("", ", after")]
    columns = ["method", "labels", "labels, after", *steps.values(), *(f"{step} GB" for step in peaks), *after]
    notes = (
        "wordnet-reverse, 20,000 training and 2,000 test documents: fitted on the labels with pairs, then the others "
        "are added to the fitted model. `xr-linear` cannot rank a label without pairs: its words are matched instead."
    )
    return section("Labels added at run time", table(columns, rows), notes, ALL_TEXTS, conditions(record))


PAGE = Page(
    module="unseen_labels",
    title="Unseen labels",
    about="Labels without training documents: what keeps them alive, drops them, finds them and adds them.",
    runs=("quality", "dropped_labels", "labels_at_run_time"),
    sections=(
        partial(quality_section, "one-sided", "One-sided fine-tuning, all labelled documents", UNSEEN, ONE_SIDED),
        partial(quality_section, "one-sided factorial", ALIVE, UNSEEN, FACTORIAL),
        collapse_section,
        partial(quality_section, "cve", "cve-libraries: most labels of the test documents are unseen", UNSEEN, CVE),
        dropped_section,
        run_time_section,
    ),
)

if __name__ == "__main__":
    PAGE.write()
