"""results/pages/languages.md, texts that are not English, before and after: python -m benchmarks.tables.languages"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.record import read_result
from benchmarks.tables.markdown import ALL_TEXTS, Page, conditions, difference, percent, section, table

DATA = {
    "tibkat-de": "a German catalogue with English records among them, titles and abstracts",
    "finna-fi": "titles of Finnish records; labels have names in Finnish, alternatives in Swedish and English",
}
TRAINED = "-trained"
OF_LABELS = (
    "Texts in languages that few documents or none are in cost more than chance, on dev and on test. The default reads "
    "languages of a twentieth of the documents at least, and no longer those that names of labels seem to be in."
)


def row_section(row: str) -> str:
    record = read_result("languages")
    part: dict[str, Any] = (record or {}).get("rows", {}).get(row, {})
    if record is None or not part:
        return ""
    rows = [
        [
            name,
            *(percent(value) for value in found["nDCG@5"]),
            difference(found["difference"]),
            *(percent(value) for key in ("P@1", "R@100") for value in found[key]),
        ]
        for name, found in part["methods"].items()
    ]
    columns = [f"{metric}, {when}" for metric in ("P@1", "R@100") for when in ("before", "after")]
    head = ["method", "nDCG@5, before", "after", "difference", *columns]
    data = row.removesuffix(TRAINED)
    encoder = "with `of-de`, trained for two passes" if row.endswith(TRAINED) else "without the trained encoder `of-de`"
    before, after = part["fit_seconds"]
    notes = (
        f"{DATA[data]}: {part['train_documents']:,} training and {part['test_documents']:,} test documents, "
        f"{part['labels']:,} labels. The Tagger's experts are those of the plan, {encoder}; blended on dev. "
        f"The fit took {before:,.0f} s before and {after:,.0f} s after, on one core of a busy machine. "
        f"Before: {part['commits']['before']}, after: {part['commits']['after']}."
    )
    return section(row, table(head, rows), notes, ALL_TEXTS, conditions(record))


READ = {
    "names": "names alone",
    "own": "and alternatives in the documents' first language",
    "auto": "and in the other languages that they are in (the default)",
    "all": "and in all languages",
}


def label_section(data: str) -> str:
    """Which languages of alternatives are worth matching; the default was chosen by dev."""
    record = read_result("label-languages")
    part: dict[str, Any] = (record or {}).get("data", {}).get(data, {})
    if record is None or not part:
        return ""
    rows = [
        [
            READ[read],
            part[read]["languages"].replace("*", "all") or "-",
            *(
                shown
                for split in ("dev", "test")
                for shown in (
                    percent(part[read][split]["nDCG@5"]),
                    difference(part[read][split]["difference"]),
                    percent(part[read][split]["ZSR@10"]),
                )
            ),
        ]
        for read in READ
    ]
    columns = [f"{metric}, {split}" for split in ("dev", "test") for metric in ("nDCG@5", "difference", "ZSR@10")]
    told = ", ".join(f"{count:,} {code}" for code, count in part["alternatives"].items())
    notes = (
        f"{DATA[data]}: `tfidf`, {part['train_documents']:,} training, {part['documents']['dev']:,} dev and "
        f"{part['documents']['test']:,} test documents. Alternatives: {told}. Languages: those of the "
        "alternatives that are read. Differences are to the second row."
    )
    return section(
        f"Languages of label texts, {data}",
        table(["read", "languages", *columns], rows),
        notes,
        OF_LABELS,
        conditions(record),
    )


PAGE = Page(
    module="languages",
    title="Languages other than English",
    about="A Tagger and its experts in German and Finnish, before and after words had pieces and vectors were learned; "
    "which languages of label texts are read.",
    runs=("languages", "label_languages"),
    sections=(
        *(partial(row_section, f"{data}{suffix}") for data in DATA for suffix in ("", TRAINED)),
        *(partial(label_section, data) for data in DATA),
    ),
)

if __name__ == "__main__":
    PAGE.write()
