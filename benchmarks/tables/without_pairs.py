"""results/pages/without-pairs.md, no labelled document, or few: python -m benchmarks.tables.without_pairs"""

from __future__ import annotations

from functools import partial

from benchmarks.record import read_result
from benchmarks.tables.markdown import ALL_TEXTS, Page, conditions, percent, section, table
from benchmarks.tables.quality import NO_PAIRS, quality_section

NONE = """\
What to compare with, eurlex57k test without pairs, published: TF-IDF nDCG@5 29.7 and ZSR@100 38.8, RTS 22.0 and 48.9.
`plain` is the encoder as it comes, without taking away what all documents have in common. esco-skills has no training
documents: `simcse`, `rts` and `maclr` learn from label texts there, and `rts` is worse for it than the same encoder
frozen (`semantic-static`). `maclr` is above `tfidf` in R@100 on eurlex57k by more than chance
([differences](papers.md)), and below it in all else."""
MACLR = (
    "The order of the paper's table 5: 1 ICT, 2 + MAC, 3 + label regularisation, 4 both, 5 to 7 + pseudo labels of "
    "the encoder, of TF-IDF, of both. Static encoder. The paper: each part helps (R@100), both views most. Here, "
    "on eurlex57k, MAC and each view of pseudo labels raise R@100, TF-IDF's by far the most; not shown: label "
    "regularisation changes nothing (its loss is next to 0 from the start: a long text is nearer to its twin than "
    "to any label), and both views are worse than TF-IDF's alone. These rows are of the code before eq. 4 had a "
    "temperature of its own, and pseudo labels ranks. On wordnet-reverse, whose documents are glosses "
    "of a few words, no part helps."
)
FEW = (
    "labels1, labels5: all pairs of 1 % and 5 % of the labels; pairs1, pairs5: 1 % and 5 % of all pairs. Each "
    "seed draws others. The linear models know only the labels that they saw."
)
TRANSFORMER = (
    "`maclr-minilm` trains all-MiniLM-L6-v2 on 64 tokens of 2,000 documents, 32 a step, for 20 steps a stage: "
    "enough for what a step costs, not for what it could learn; in so short a run clusters are made anew at every "
    "step of the first half, which is most of stage I's time; 1,000 test documents. `passages`: the frozen "
    "encoder on the first 256 tokens, the mean of all passages of 256, and the best passage for each label; 600 "
    "test documents."
)
MACLR_CHOICES = (
    "On dev. `lexical`: 768 dimensions of words beside the meaning; `slow`, `slower`: rate 0.02 and 0.005 instead of "
    "0.1; `words`: pseudo labels of TF-IDF alone; `first`: one of each view; `least`: the encoder's own above 0.5; "
    "five, ten, thirty: so many of each; `rank`: these count by their rank; `clusters`: 512 at first; `temperature`: "
    "0.05 for eq. 4; `warm`: 0.1 for the others; `wide`: 2,048 dimensions of words; `semantic`: the encoder before it "
    "learns. More labels alike raise R@100 and cost nDCG@5; by rank they cost little. Thirty by rank, which is what "
    "`maclr` has now, are above TF-IDF in R@100."
)
PASSAGES = "A transformer without pairs: training, and passages of long documents"


def choices_section() -> str:
    record = read_result("choices")
    if record is None:
        return ""
    keys = {"eurlex57k": ("nDCG@5", "R@100"), "cve-libraries": ("nDCG@5", "R@100"), "esco-skills": ("RP@5", "MRR")}
    rows = []
    for method, choices in record["found"]["eurlex57k"].items():
        for choice in choices:
            found = {data: record["found"].get(data, {}).get(method, {}).get(choice, {}) for data in keys}
            values = [percent(found[data].get(key)) for data, metrics in keys.items() for key in metrics]
            rows.append([method, choice, *values])
    columns = ["method", "setting", *(f"{data} {key}" for data, metrics in keys.items() for key in metrics)]
    notes = (
        f"At most {record['dev_documents']:,} dev documents of each, one setting changed at a time; the defaults were "
        "chosen by these numbers."
    )
    return section("Settings without pairs, on dev", table(columns, rows), notes, ALL_TEXTS, conditions(record))


PAGE = Page(
    module="without_pairs",
    title="Methods without labelled documents",
    about="Ranking by label texts alone, self-supervised encoders, MACLR's parts, and a few pairs.",
    runs=("quality", "choices"),
    sections=(
        partial(quality_section, "no pairs", "Without a single labelled document", NO_PAIRS, NONE),
        partial(quality_section, "ablation", "MACLR's parts, without pairs, 10,000 documents", NO_PAIRS, MACLR),
        partial(quality_section, "few-shot", "Few pairs, 10,000 documents", NO_PAIRS, FEW),
        partial(quality_section, "transformer", PASSAGES, NO_PAIRS, TRANSFORMER),
        partial(quality_section, "maclr choices", "MACLR's settings, 10,000 documents", NO_PAIRS, MACLR_CHOICES),
        choices_section,
    ),
)

if __name__ == "__main__":
    PAGE.write()
