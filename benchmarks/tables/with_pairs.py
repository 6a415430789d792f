"""results/pages/with-pairs.md, methods that learn from labelled documents: python -m benchmarks.tables.with_pairs"""

from __future__ import annotations

from functools import partial

from benchmarks.record import read_result
from benchmarks.run.pair_choices import CHOICES, METRICS
from benchmarks.tables.markdown import ALL_TEXTS, TEXTS_OF_ROWS, Page, conditions, percent, picture, section, table
from benchmarks.tables.quality import FROM_CELLS, WITH_PAIRS, cells, differences_section, quality_section

ALL = """\
What to compare with, eurlex57k test: PECOS and omikuji in [the table of peers](speed.md); the best published neural
model (OF-LAN, 8 GPUs) has nDCG@5 83.0, PSP@5 67.9 and ZSR@100 43 to 51. Linear models have ZSR 0 by construction.
MatchXML's paper: better than linear models. Here it is better than `xr-linear`, and on the tail than `svm` where both
favour rare labels; not shown: better than `svm` overall, whose nDCG@5 is a little higher. DEPL's paper: better than
the SVM, the classifier and DE-ret on the tail; with the classifier trained beside it best overall. Here the tail is
better than the SVM's and the classifier's as they come; not shown: better than DE-ret's (it is overall), better than
the SVM's where both favour rare labels, and that `depl+cls` is better than `depl`."""
MATCHXML = (
    "The paper's table XII: 1 a tree from PIFA, squared hinge; 2 label2vec instead; 3 text-label matching at the "
    "last level; 4 the static sentence embedding beside the fine-tuned vector. `0-linear` is xr-linear on the same "
    "documents, `0-frozen` the encoder as it comes, 5 an ensemble of three, 6 both directions of eq. 6, 7 a "
    "refined tree in the linear ranker, which has none by default for so few labels, 8 rare labels favoured "
    "(`rare_weight=0.2`, the default); in the other rows they are not. The paper, P@1 / P@3 / P@5: on large data each "
    "part helps (Amazon-670K: label2vec +0.20 / +0.30 / +0.35, matching +0.91 / +0.73 / +0.64, sentences +0.39 / +0.43 "
    "/ +0.30); on its smallest, Eurlex-4K, label2vec -0.64 / +0.13 / +0.07, matching +0.31 / +0.38 / +0.49, sentences "
    "+0.21 / -0.33 / -0.29. Here the sentence embedding helps; not shown by the seeds that are there: that fine-tuned "
    "vectors are better than frozen ones, label2vec better than PIFA, matching better than the squared hinge, or three "
    "better than one; both directions and the refined tree are worse."
)
DEPL = (
    "`full` and what is changed in it: hard negatives of a document (0, 5; 10 in `full`), keywords of a label (5, "
    "40; 20), tokens of a description (8, 32, 64; 16), a start from a classifier (`init`), no share of labels "
    "without keywords (`noplain`), no unseen labels among the negatives, no lexical dimensions (`narrow`), a "
    "classifier trained beside it (`joint`), keywords from a tree of SVMs (`tree`). Tail and unseen labels are "
    "those of all training documents: with 10,000 of them most of the tail is not seen. The paper: 16 tokens are "
    "best, and hard negatives help. Here 8 tokens are better than 16 overall and no worse on the tail; hard "
    "negatives help on the tail and not overall; a start from a classifier, as in the paper, is worse. 40 "
    "keywords are the same as 20: 16 tokens have no room for more. The names alone are as good on the tail."
)

COMPARED_TABLES = frozenset(("pairs", "matchxml ablation", "depl ablation", "one-sided"))


def pictures_section() -> str:
    shown = picture("frequency", "macro-F1 by how often a label was seen"), picture("bands", "what a band adds to P@5")
    about = "Macro-F1 by how often a label was seen, and what each band adds to P@5; eurlex57k, first seeds."
    return section("By how often a label was seen", about, *shown) if any(shown) else ""


def bounds_section() -> str:
    """Theorem 3 of DEPL, of the rows that measure it."""
    rows = []
    for cell in cells():
        found = cell.get("diagnostics")
        if found and found["n_predictions"]:
            shares = [f"{100 * found[key]:.1f}" for key in ("delta_bounded", "margin_above_2_delta", "guaranteed")]
            middles = [f"{found[key]['50%']:.3f}" for key in ("margin", "delta_needed")]
            numbers = [f"{found['n_predictions']:,}", *shares, f"{found['bound']:.3f}", *middles]
            rows.append([cell["row"], str(cell["seed"]), *numbers])
    if not rows:
        return ""
    bounded = ["delta-bounded %", "margin > 2 delta %", "guaranteed %", "mean bound", "median margin", "median delta"]
    notes = (
        "Over the right labels among the SVM's best 5. Delta-bounded: the words that are no keywords add at most 0.1 "
        "to the score (weights divided by the length of the longest). The margin is that to the best wrong label "
        "below; guaranteed: margin - 2 delta is as large as the theorem wants it for a random embedding of the "
        "encoder's dimension. The bound is a probability of at most 1: 1 says nothing. These rows were measured with "
        "delta of the right label and of the best wrong one, and M times the bound of that one; since then delta is "
        "that of every wrong label below, and the bound the sum over them."
    )
    return section(
        "Theorem 3 of DEPL", table(["row", "seed", "predictions", *bounded], rows), notes, TEXTS_OF_ROWS, FROM_CELLS
    )


def costs_section() -> str:
    """The stages of the rows of the first table, of the first seed."""
    rows = []
    for cell in cells():
        if cell.get("costs") and cell["table"] == "pairs" and cell["seed"] == 0:
            for stage, cost in cell["costs"].items():
                times = f" ({cost['times']}x)" if cost["times"] > 1 else ""
                rows.append([cell["row"], stage + times, f"{cost['seconds']:.0f}", f"{cost['peak_gb']:.1f}"])
    if not rows:
        return ""
    notes = (
        "Stages of one second and more. Those of matchxml had two cores beside other work, those of classifier, "
        "de-ret, depl and depl+cls one core: alone on two they take less. Memory is the process's peak in the stage, "
        "texts and features included."
    )
    return section("What the stages of a fit cost", table(["row", "stage", "s", "peak GB"], rows), notes, FROM_CELLS)


def calibration_section() -> str:
    """Of the rows of the first table, of the first seed."""
    groups = ("all", "seen", "tail", "unseen")
    rows = [
        [
            cell["row"],
            *(percent(cell["calibration"][kind][group]) for group in groups for kind in ("raw", "calibrated")),
        ]
        for cell in cells()
        if "calibration" in cell and cell["seed"] == 0
    ]
    if not rows:
        return ""
    columns = ["row", *(f"{group}{after}" for group in groups for after in ("", ", calibrated"))]
    notes = (
        "Expected calibration error of the top 10 on test, in %: as the scores come, and after calibration on dev. One "
        "map serves all labels, so that no ranking changes; it fits the labels of a band less well."
    )
    return section("Are scores probabilities?", table(columns, rows), notes, TEXTS_OF_ROWS, FROM_CELLS)


def choices_section() -> str:
    record = read_result("pair_choices")
    if record is None:
        return ""
    rows = [
        [method, choice, *map(percent, values.values())]
        for method in CHOICES
        for choice, values in record["found"].get(method, {}).items()
    ]
    notes = (
        f"{record['train_documents']:,} training and {record['dev_documents']:,} dev documents of eurlex57k, one "
        "setting changed at a time, one seed, labels ranked as they come (rare_weight 0) unless it says otherwise; the "
        "defaults were chosen by these numbers."
    )
    columns = ["method", "setting", *METRICS]
    return section("Settings with pairs, on dev", table(columns, rows), notes, ALL_TEXTS, conditions(record))


def label_vectors_section() -> str:
    record = read_result("label-vectors")
    if record is None:
        return ""
    rows = []
    for data, found in record["sets"].items():
        for kind, values in found["kinds"].items():
            costs = [f"{values[key]:.1f}" for key in ("vector_seconds", "tree_seconds", "megabytes")]
            quality = [f"{values['leaves_over_labels']:.3f}", percent(values["nDCG@5"]), percent(values["R@100"])]
            rows.append([data, f"{found['labels']:,}", kind, *costs, *quality])
    columns = ["data", "labels", "vectors", "vectors s", "tree s", "matrix MB", "leaves/labels", "nDCG@5", "R@100"]
    notes = (
        "Vectors of the labels with training pairs, and the tree made from them: leaves of 16 labels. `leaves/labels`: "
        "distinct leaves of a dev document's labels over its labels, less is better; nDCG@5 and R@100 on dev of a "
        "linear ranker down that tree, without matcher-aware negatives. `random`: a tree of labels in any order. The "
        "paper: small dense vectors are more efficient, and make better trees. Here, on eurlex57k, the matrix is far "
        "smaller and the tree is built faster, but learning the vectors takes longer than PIFA and its tree together; "
        "the labels of a document are in more leaves than with PIFA, and the ranker is a little better all the same. "
        "Most labels of wordnet-reverse have one document only: too little for label2vec, whose tree is no better than "
        "chance; PIFA's has fewer leaves and a better R@100, and no better nDCG@5."
    )
    return section("label2vec beside PIFA", table(columns, rows), notes, conditions(record))


PAGE = Page(
    module="with_pairs",
    title="Methods that learn from labelled documents",
    about="Linear models, MatchXML and DEPL on all of eurlex57k; their parts, costs and settings.",
    runs=("quality", "differences", "pair_choices", "label_vectors"),
    sections=(
        partial(quality_section, "pairs", "Quality with all labelled documents", WITH_PAIRS, ALL),
        pictures_section,
        partial(quality_section, "matchxml ablation", "MatchXML's parts, 10,000 documents", WITH_PAIRS, MATCHXML),
        partial(quality_section, "depl ablation", "DEPL's parts, 10,000 documents", WITH_PAIRS, DEPL),
        partial(differences_section, COMPARED_TABLES),
        bounds_section,
        costs_section,
        calibration_section,
        choices_section,
        label_vectors_section,
    ),
)

if __name__ == "__main__":
    PAGE.write()
