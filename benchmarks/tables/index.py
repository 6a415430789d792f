"""benchmarks/results/README.md, which page has what and how it is made again: python -m benchmarks.tables.index

Writes all pages, too: the index names what is on them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from benchmarks.record import RESULTS
from benchmarks.tables import (
    feedback,
    hostile,
    house,
    languages,
    many_labels,
    page,
    papers,
    prior,
    results,
    serving,
    speed,
    tagger,
    unseen_labels,
    with_pairs,
    without_pairs,
)
from benchmarks.tables.markdown import Page, section, table

_MODULES = (
    results,
    tagger,
    with_pairs,
    without_pairs,
    papers,
    prior,
    unseen_labels,
    languages,
    speed,
    many_labels,
    house,
    serving,
    page,
    hostile,
    feedback,
)
PAGES = tuple(module.PAGE for module in _MODULES)


def index_text() -> str:
    texts = {page: text for page in PAGES if (text := page.text())}
    opening = (
        "# Results\n\n"
        "A page a topic, written by `python -m benchmarks.tables` from the JSON files here, which have the command, "
        "the machine and the versions of each number. `make bench DATA=FOLDER` measures what is not here yet: a result "
        "that is taken away is measured again.\n"
    )
    topics = section(
        "Topics",
        table(["page", "about", "measured by"], [index_row(page) for page in texts]),
        "`NAME` above is `python -m benchmarks.run.NAME --data DIR` (`debian`, `checking`, `hostile`, "
        "`hostile_writers`, `hostile_requests`, `label_index`, `serving_faults`, `serving_soak` "
        "and `first_view` without `--data`).",
    )
    contents = section("What is where", "\n".join(contents_line(page, text) for page, text in texts.items()))
    rows = "Rows of the tables of quality are in `benchmarks/rows/DATA/TABLE.toml`, their results in `quality/`."
    trade_off = "![overall against zero-shot quality](figures/trade-off.png)"
    pictures = section(
        "Pictures",
        "By `python -m benchmarks.tables.figures`, as PNG and SVG. Overall against zero-shot quality, eurlex57k:",
        trade_off if (RESULTS / "figures" / "trade-off.png").exists() else "",
    )
    return "\n".join([opening, topics, contents, f"{rows}\n", pictures])


def index_row(page: Page) -> list[str]:
    return [f"[{page.title}]({link(page)})", page.about, ", ".join(f"`{run}`" for run in page.runs)]


def contents_line(page: Page, text: str) -> str:
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    return f"- [{page.title}]({link(page)}): {'; '.join(titles)}"


def link(page: Page) -> str:
    return Path(os.path.relpath(page.path, RESULTS)).as_posix()


def main() -> None:
    for one in PAGES:
        one.write()
    (RESULTS / "README.md").write_text(index_text(), encoding="utf-8")
    print(f"wrote {RESULTS.name}/README.md")


if __name__ == "__main__":
    main()
