"""results/pages/hostile-writers.md, writers that are killed: python -m benchmarks.tables.hostile_writers"""

from __future__ import annotations

from benchmarks.record import read_result
from benchmarks.tables.markdown import Page, conditions, section, table


def trials_section() -> str:
    record = read_result("hostile-writers")
    if record is None:
        return ""
    rows = [
        [what, f"{sum(found.values()) if 'killed' in what or 'room' in what else max(found.values()):,}", spoken(found)]
        for what, found in record["trials"].items()
    ]
    notes = (
        "A model with files of others in its folder. Writers are killed (SIGKILL) within 30 ms, in one of several "
        "saves, or may write no more bytes to a file than a number drawn at random; afterwards the model must be "
        "the old one or the new one, every byte of it, with all files of others, and the next save must leave "
        "nothing else behind. Two processes load as fast as they can while a third saves. Two processes add "
        "labels, one at a time. Whatever is not so is counted as lost, and would stand here."
    )
    return section("Trials", table(["what was tried", "times", "what happened"], rows), notes, conditions(record))


def spoken(found: dict[str, int]) -> str:
    lost = sum(n for key, n in found.items() if key.startswith(("lost", "left")))
    return "; ".join([*(f"{key}: {n:,}" for key, n in found.items()), *(["nothing lost"] if not lost else [])])


PAGE = Page(
    module="hostile_writers",
    title="Writers that are killed",
    about="What is left of a model whose writers are killed, run out of disk or come two at a time.",
    runs=("hostile_writers",),
    sections=(trials_section,),
)

if __name__ == "__main__":
    PAGE.write()
