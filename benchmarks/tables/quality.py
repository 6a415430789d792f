"""The tables of `benchmarks.quality` and `benchmarks.differences`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from benchmarks.markdown import conditions, percent, table
from benchmarks.record import RESULTS, read_result

RANKED = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "R@100", "ZSR@100")
WITH_PAIRS = (*RANKED, "macro-F1@5", "tail-F1@5", "tail-F1-tested@5")
UNSEEN = (
    *(f"{metric}@{k}" for metric in ("nDCG", "PSP") for k in (1, 3, 5)),
    *("P@1", "ZSR@10", "ZSR@50", "ZSR@100"),
)
NO_PAIRS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "R@10", "R@100", "ZSR@10", "ZSR@50", "ZSR@100", "RP@5", "MRR")
INTERVALS = ("nDCG@5", "ZSR@100")
PUBLISHED = """\
What to compare with, eurlex57k test: PECOS and omikuji in the table of peers below; the best published neural model
(OF-LAN, 8 GPUs) has nDCG@5 83.0, PSP@5 67.9 and ZSR@100 43 to 51. Linear models have ZSR 0 by construction.
MatchXML's paper: better than linear models. Here it is better than `xr-linear`, and on the tail than `svm` where both
favour rare labels; not shown: better than `svm` overall, whose nDCG@5 is a little higher. DEPL's paper: better than
the SVM, the classifier and DE-ret on the tail; with the classifier trained beside it best overall. Here the tail is
better than the SVM's and the classifier's as they come; not shown: better than DE-ret's (it is overall), better than
the SVM's where both favour rare labels, and that `depl+cls` is better than `depl`."""

PUBLISHED_NO_PAIRS = """\
What to compare with, eurlex57k test without pairs, published: TF-IDF nDCG@5 29.7 and ZSR@100 38.8, RTS 22.0 and 48.9.
`plain` is the encoder as it comes, without taking away what all documents have in common. esco-skills has no training
documents: `simcse`, `rts` and `maclr` learn from label texts there, and `rts` and `maclr` are worse for it than the
same encoder frozen (`semantic-static`)."""


TITLES = {
    "pairs": ("## Quality with all labelled documents", WITH_PAIRS, PUBLISHED),
    "matchxml ablation": (
        "## MatchXML's parts, 10,000 documents",
        WITH_PAIRS,
        "The paper's table XII: 1 a tree from PIFA, squared hinge; 2 label2vec instead; 3 text-label matching at the "
        "last level; 4 the static sentence embedding beside the fine-tuned vector. `0-linear` is xr-linear on the same "
        "documents, `0-frozen` the encoder as it comes, 5 an ensemble of three, 6 both directions of eq. 6, 7 a "
        "refined tree in the linear ranker, which has none by default for so few labels, 8 rare labels favoured "
        "(`rare_weight=0.2`, the default); in the other rows they are not. The paper: each part helps. Here the "
        "sentence embedding does; not shown by the seeds that are there: that fine-tuned vectors are better than "
        "frozen ones, label2vec better than PIFA, matching better than the squared hinge, or three better than one; "
        "both directions and the refined tree are worse.",
    ),
    "depl ablation": (
        "## DEPL's parts, 10,000 documents",
        WITH_PAIRS,
        "`full` and what is changed in it: hard negatives of a document (0, 5; 10 in `full`), keywords of a label (5, "
        "40; 20), tokens of a description (8, 32, 64; 16), a start from a classifier (`init`), no share of labels "
        "without keywords (`noplain`), no unseen labels among the negatives, no lexical dimensions (`narrow`), a "
        "classifier trained beside it (`joint`), keywords from a tree of SVMs (`tree`). Tail and unseen labels are "
        "those of all training documents: with 10,000 of them most of the tail is not seen. The paper: 16 tokens are "
        "best, and hard negatives help. Here 8 tokens are better than 16 overall and no worse on the tail; hard "
        "negatives help on the tail and not overall; a start from a classifier, as in the paper, is worse. 40 "
        "keywords are the same as 20: 16 tokens have no room for more. The names alone are as good on the tail.",
    ),
    "one-sided": (
        "## One-sided fine-tuning, all labelled documents",
        UNSEEN,
        'The table of "Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification" '
        "with static embeddings; published, eight GPUs: OF-LAN nDCG@5 83.0, PSP@5 67.9, ZSR@100 43 to 51. All rows as "
        "they come: unseen labels are no negatives, and a label's frequency adds to its logit. The paper: `of-lan` is "
        "best overall of all that can rank unseen labels, and keeps them. Here its ZSR is highest (not by much), and "
        "attention helps where labels have weights of their own (`lan`, `ova-clf`); not shown: that it helps overall "
        "where they are frozen (nDCG@5 of `of-lan` and `of-de`), and that frozen labels are better than trained ones "
        "(`dpr`). As they come, trained labels keep unseen ones alive, too; without a label's frequency and with "
        "unseen negatives they do not (next table). Each row had one core beside other work: not "
        "timed alone.",
    ),
    "one-sided factorial": (
        "## One-sided fine-tuning: what keeps unseen labels alive, 10,000 documents",
        UNSEEN,
        "`seen`, `unseen`: whether labels that nobody has used are among the negatives (and, with lambda, among the "
        "label texts). 0, 1: lambda, the weight of the auxiliary loss. As in the paper, a label's frequency has no "
        "part in logits and rankings (`frequency_weight=0`); four passes, 256 lexical dimensions, not 768. In each "
        "row 5 % of the labels are hidden from training for the evaluations in between: they count as unseen here "
        "only if all training documents lack them. `long`: 20 passes. `minilm-titles`: the transformer on the first 32 "
        "tokens, one pass. The paper: label sides that are trained lose unseen labels when those are negatives, frozen "
        "ones keep them. Here, ZSR@100 with and without unseen negatives: dpr 28 and 40, dexml 33 and 42, of-de 43 and "
        "47, of-lan 43 and 49; in 20 passes dpr-0 has 19, of-de-1 34. So a frozen side loses less, not nothing. Lambda "
        "changes next to nothing (89 documents have an unseen label: see the intervals).",
    ),
    "cve": (
        "## cve-libraries: most labels of the test documents are unseen",
        UNSEEN,
        "Linear models know none of the unseen labels: their ZSR is 0. `hybrid` and `tfidf` do not look at pairs. Rows "
        "without pairs, of `maclr` and others, are in the table below. No method alone reaches 75.",
    ),
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


@cache
def cells() -> list[dict[str, Any]]:
    """All results of `benchmarks.quality`, in the order of their names."""
    paths = sorted((RESULTS / "quality").glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def quality_section() -> str:
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in TITLES}
    for record in cells():
        rows = tables[record.get("table", "pairs")]
        rows.setdefault(f"{record['row']} ({record['split']})", []).append(record)
    return "\n".join(quality_table(name, records) for name, records in tables.items() if records)


def quality_table(name: str, records: dict[str, list[dict[str, Any]]]) -> str:
    title, metrics, remarks = TITLES[name]
    rows = []
    for row, cells in records.items():
        scores = [percent([cell["scores"]["values"].get(key) for cell in cells]) for key in metrics]
        fit, speed = f"{cells[0]['seconds']['fit']:.0f}", f"{cells[0]['documents_per_second']:,.0f}"
        memory = f"{max(cell['peak_gb'] for cell in cells):.1f}"
        seeds = ", ".join(str(cell["seed"]) for cell in cells)
        ends = [interval(cells[0], key) for key in INTERVALS]
        step = thousand_steps(cells[0])
        rows.append([row, *scores, *ends, fit, step, speed, f"{cells[0]['model_mb']:.0f}", memory, seeds])
    ends = [f"{key}, 95%" for key in INTERVALS]
    columns = ["row", *metrics, *ends, "fit s", "s/1,000 steps", "docs/s", "model MB", "peak GB", "seeds"]
    empty = [i for i in range(len(columns)) if all(row[i] == "-" for row in rows)]  # metrics that the data has not
    columns, *rows = [[cell for i, cell in enumerate(row) if i not in empty] for row in [columns, *rows]]
    notes = (
        "In %; several seeds: mean ± standard deviation. 95%: bootstrap interval over documents, first seed. Fit and "
        "docs/s are from texts, of the first seed; peak memory is that of the whole process, the texts included. "
        "classifier, de-ret, depl and depl+cls ran on one core beside other work, and so did the seeds 1 and 2 of "
        "matchxml, whose seed 0 had two cores beside other work: alone they take less. The fit of an ensemble is the "
        "sum of its three. Of rows on 10,000 documents times say little: they ran side by side, with frozen vectors "
        "from the cache. `rare`: the row with `rare_weight=0.2`, made of kept rankings."
    )
    last = next(reversed(records.values()))[0]
    return f"{title}\n\n{table(columns, rows)}\n\n{notes}\n{remarks}\n\n{conditions(last)}\n"


def interval(cell: dict[str, Any], key: str) -> str:
    ends = cell.get("intervals", {}).get(key)
    return "-" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def thousand_steps(cell: dict[str, Any]) -> str:
    """Seconds, over all stages; of methods that train step by step."""
    stages = list(cell.get("stages", {}).values())
    steps = sum(stage["steps"] for stage in stages)
    return f"{1000 * sum(stage['seconds'] for stage in stages) / steps:.0f}" if steps else "-"


def differences_section() -> str:
    record = read_result("differences")
    if record is None:
        return ""
    bootstrap, tests = ("P@1", "nDCG@5", "PSP@5"), ("macro-F1@5", "tail-F1@5")
    rows = []
    for found in record["differences"]:
        cells = [f"{100 * found[key]['difference']:+.2f} ({ends(found[key])})" for key in bootstrap]
        cells += [f"{100 * found[key]['difference']:+.2f} (p {found[key]['p_value']:.2g})" for key in tests]
        rows.append([found["row"], found["against"], *cells, " and ".join(str(n) for n in found["seeds"])])
    notes = (
        "Row minus the row it is held against, in points, mean over the seeds of each. P@1, nDCG@5 and PSP@5: 95% "
        "interval of the paired bootstrap over test documents; F1: macro t-test over labels, of the tail those with 1 "
        "to 9 training pairs."
    )
    columns = ["row", "against", *bootstrap, *tests, "seeds"]
    return f"## Differences\n\n{table(columns, rows)}\n\n{notes}\n\n{conditions(record)}\n"


def ends(found: dict[str, float]) -> str:
    return f"{100 * found['low']:+.2f} to {100 * found['high']:+.2f}"


def costs_section() -> str:
    """The stages of the rows of the first table, of the first seed."""
    parts = []
    for record in cells():
        if record.get("costs") and record["table"] == "pairs" and record["seed"] == 0:
            for stage, cost in record["costs"].items():
                times = f" ({cost['times']}x)" if cost["times"] > 1 else ""
                parts.append([record["row"], stage + times, f"{cost['seconds']:.0f}", f"{cost['peak_gb']:.1f}"])
    if not parts:
        return ""
    notes = (
        "Stages of one second and more. Those of matchxml had two cores beside other work, those of classifier, "
        "de-ret, depl and depl+cls one core: alone on two they take less. Memory is the process's peak in the stage, "
        "texts and features included."
    )
    return f"## What the stages of a fit cost\n\n{table(['row', 'stage', 's', 'peak GB'], parts)}\n\n{notes}\n"


def bounds_section() -> str:
    """Theorem 3 of DEPL, of the rows that measure it."""
    rows = []
    for record in cells():
        found = record.get("diagnostics")
        if found and found["n_predictions"]:
            shares = [f"{100 * found[key]:.1f}" for key in ("delta_bounded", "margin_above_2_delta", "guaranteed")]
            middles = [f"{found[key]['50%']:.3f}" for key in ("margin", "delta_needed")]
            numbers = [f"{found['n_predictions']:,}", *shares, f"{found['bound']:.3f}", *middles]
            rows.append([record["row"], str(record["seed"]), *numbers])
    if not rows:
        return ""
    bounded = ["delta-bounded %", "margin > 2 delta %", "guaranteed %", "mean bound", "median margin", "median delta"]
    notes = (
        "Over the right labels among the SVM's best 5. Delta-bounded: the words that are no keywords add at most 0.1 "
        "to the score (weights divided by the length of the longest). The margin is that to the best wrong label "
        "below; guaranteed: margin - 2 delta is as large as the theorem wants it for a random embedding of the "
        "encoder's dimension. The bound is a probability of at most 1: 1 says nothing."
    )
    return f"## Theorem 3 of DEPL\n\n{table(['row', 'seed', 'predictions', *bounded], rows)}\n\n{notes}\n"


def calibration_section() -> str:
    """Of the rows of the first table, of the first seed."""
    rows = []
    for record in cells():
        if "calibration" in record and record["seed"] == 0:
            groups = [record["calibration"][kind] for kind in ("raw", "calibrated")]
            keys = ("all", "seen", "tail", "unseen")
            found = [percent([group[key]]) for key in keys for group in groups]
            rows.append([record["row"], *found])
    if not rows:
        return ""
    columns = ["row", *(f"{key}{after}" for key in ("all", "seen", "tail", "unseen") for after in ("", ", calibrated"))]
    notes = (
        "Expected calibration error of the top 10 on test, in %: as the scores come, and after calibration on dev. One "
        "map serves all labels, so that no ranking changes; it fits the labels of a band less well."
    )
    return f"## Are scores probabilities?\n\n{table(columns, rows)}\n\n{notes}\n"
