"""results/pages/papers.md, controlled experiments on the papers' claims: python -m benchmarks.tables.papers"""

from __future__ import annotations

from functools import partial

from benchmarks.tables.markdown import Page, picture, section
from benchmarks.tables.quality import NO_PAIRS, UNSEEN, WITH_PAIRS, differences_section, quality_section

TABLES = frozenset(("one-sided dropped", "depl tail", "minilm", "matchxml tree", "no pairs", "coverage"))
DROPPED = (
    "500 labels have lost their pairs (2,749 test documents have one of them), all 45,000 documents, six passes, "
    "after which nDCG@5 stands still; a label's frequency counts for nothing. `seen`, `unseen`: whether labels that "
    "nobody has used are among the negatives and the label texts of eq. 4; 0, 1: lambda. `labels-N`: the label side "
    "of `of-de`. One seed. The paper: a trained label side loses unseen labels that are negatives, a frozen one keeps "
    "them, lambda helps, and nDCG@5 stays. Here, lambda 0 and 1: unseen negatives cost 22 and 16 points of ZSR@100 "
    "with a second encoder (dpr), 15 and 13 with the same one (dexml), 7 and 5 frozen (of-de), 12 and 11 frozen with "
    "attention (of-lan); dpr's unseen labels become a heap apart (isolation 48 % with lambda 0). So a frozen side "
    "loses a third of what dpr loses, not nothing. Lambda raises ZSR@100 of frozen sides (of-de +1 and +3, of-lan +6 "
    "and +6) and of dpr with unseen negatives (+6). nDCG@5 moves by less than 0.6. Not shown: that ZSR falls to about "
    "0 (dpr keeps 36), that lambda helps dexml, and that a frozen side is better where unseen labels are no "
    "negatives: dexml has 62 then, dpr 58, of-lan 61, of-de 56. The label side's width (the paper's table 4: more "
    "dimensions are better): 1,024 instead of 256 dimensions, on both sides, raise nDCG@5 by 3.0 and not ZSR@100; "
    "labels by MiniLM, with 512 dimensions of documents, raise ZSR@100 by 3.3 and nDCG@5 by 1.8, both label sides "
    "side by side by 3.6 and 2.4. Alternative names and descriptions beside names (`alternatives`, 1,024 dimensions) "
    "raise ZSR@100 by 3.4 and nDCG@5 by 1.1."
)
TAIL = "DEPL beside the SVM and its own parts, all documents, rare labels favoured in none."
MINILM = (
    "all-MiniLM-L6-v2, 128 tokens, layers in bfloat16, on 10,000 documents of eurlex57k; bands and unseen labels go "
    "by those. One seed, two passes over the documents (`depl`: two of the classifier, one of retrieval, at the "
    "paper's ratio of rates), each row on one core beside other work. The papers: fine-tuned transformers are above "
    "linear classifiers. Not shown in so few passes over 128 of 550 words: `classifier` is 5.4 points of nDCG@5 below "
    "the SVM on all words, `of-de` 8.5, `depl` 19 (its one pass of retrieval, at a fifth of the classifier's rate, is "
    "far from its end; in the tail it is as good as the classifier). Shown: the frozen encoder's vectors beside words "
    "(`matchxml-frozen`) are above the SVM by more than chance, in nDCG@5, PSP@5 and the tail; `of-de` and `depl` "
    "find 54 and 56 % of the unseen labels among 100, which SVM and classifier never do. MatchXML fine-tuned in one "
    "pass, with vectors from two held-out folds (`matchxml-folds`), is where frozen vectors are: not shown that "
    "fine-tuning adds anything in so little training, which takes four times as long."
)
COVERAGE = (
    "One seed; 1 and 5 % are in [without pairs](without-pairs.md). The paper: MACLR is above the others as long as "
    "few labels have pairs, in P@5 and in R@100. Here it is above TF-IDF and `zestxml` in R@100 up to half of the "
    "labels, without pairs above TF-IDF by more than chance (differences below); in P@5 above `zestxml` and "
    "`xr-linear` up to a quarter of the labels; not shown: above TF-IDF in P@5 with less than half of them."
)
TREE = (
    "MatchXML's table XII where the linear ranker has a tree: packages that a Debian package depends on, and "
    "wordnet-reverse, 40,000 documents; one seed. On wordnet-reverse, where most labels of test documents have no "
    "training pair, vectors beside words gain half a point of nDCG@5 by more than chance, frozen ones as much as "
    "fine-tuned ones; label2vec and matching change nothing beyond chance, and the sentence encoder costs 0.14 (0.04 "
    "to 0.24; the paper, too, has it at a loss on one of its sets). On the Debian packages frozen vectors cost two "
    "points; the rows with fine-tuning are not measured yet. Not shown: that each part of the table gains."
)


def coverage_section() -> str:
    shown = picture("coverage", "quality by the share of labels that have pairs")
    about = (
        "MACLR's figure 2: 10,000 documents of eurlex57k, pairs of a share of the labels; means where there are seeds."
    )
    return section("How many labels must have pairs", about, shown) if shown else ""


PAGE = Page(
    module="papers",
    title="The papers' claims under control",
    about="One thing changed at a time: unseen labels that are really dropped, DEPL's tail, a transformer, a tree.",
    runs=("quality", "differences"),
    sections=(
        partial(quality_section, "one-sided dropped", "One-sided fine-tuning, 500 labels dropped", UNSEEN, DROPPED),
        partial(quality_section, "depl tail", "DEPL's tail, all documents", WITH_PAIRS, TAIL),
        partial(quality_section, "minilm", "A transformer that is fine-tuned", WITH_PAIRS, MINILM),
        partial(quality_section, "matchxml tree", "MatchXML where there is a tree", WITH_PAIRS, TREE),
        partial(quality_section, "coverage", "Labels with pairs, from none to all", NO_PAIRS, COVERAGE),
        coverage_section,
        partial(differences_section, TABLES),
    ),
)

if __name__ == "__main__":
    PAGE.write()
