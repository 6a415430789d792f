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


PAGE = Page(
    module="languages",
    title="Languages other than English",
    about="A Tagger and its experts in German and Finnish, before and after words had pieces and vectors were learned.",
    runs=("languages",),
    sections=tuple(partial(row_section, f"{data}{suffix}") for data in DATA for suffix in ("", TRAINED)),
)

if __name__ == "__main__":
    PAGE.write()
