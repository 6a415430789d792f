"""results/pages/feedback.md, what learning from decisions saves: python -m benchmarks.tables.feedback"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import RESULTS, read_result
from benchmarks.tables.markdown import Page, conditions, percent, picture, section, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAST = 10  # batches of which a mean is given, beside that of all


def read_conditions() -> dict[str, list[dict[str, Any]]]:
    """Ours, and of peers if somebody has run them: the points of each."""
    records = [record for name in ("feedback", "feedback-peers") if (record := read_result(name)) is not None]
    return {name: one["points"] for record in records for name, one in record["conditions"].items()}


def curves_section() -> str:
    record = read_result("feedback")
    if record is None:
        return ""
    found = read_conditions()
    corpora = list(dict.fromkeys(name.partition(", ")[0] for name in found))
    columns = ["corpus, way", "documents", "nDCG@5 as they come", "the last 500", "labels typed", "the last 500"]
    columns += ["nDCG@5 on test: at first", "half way", "at the end"]
    return section(
        "A stream of documents that a person corrects",
        "In %. A Tagger fitted on 500 documents; 2,000 more come in batches of 50, ten labels of each are shown; a "
        "person accepts, rejects, and types what is missing. Each batch is measured before it is learned; 1,000 test "
        "documents stay the same.",
        table(columns, [_row(name, points) for name, points in found.items()]),
        "Most doubtful first and random: of the 2,000 only 1,000 are decided about, chosen by the review queue, or any "
        "of them. On cve-libraries the doubtful ones bring the model by 500 documents to where any bring it by 1,000, "
        "on eurlex57k they gain nothing. Annif 1.4's nn_ensemble (its one backend that learns of those that can be run "
        "here) has omikuji and tfidf as sources, trained on 400 of the first 500 documents, and learns with the other "
        "100; the ensemble learns, its sources never do, as Annif has it.",
        *(picture(f"feedback-{corpus}", f"{corpus}: nDCG@5 and typed labels") for corpus in corpora),
        conditions(record),
        *(conditions(peers) for peers in [read_result("feedback-peers")] if peers is not None),
    )


def _row(name: str, points: list[dict[str, Any]]) -> list[str]:
    batches = [point for point in points if "before" in point]
    last = batches[-LAST:]
    tests = [points[0], points[len(points) // 2], points[-1]]
    return [
        name,
        f"{points[-1]['documents']:,}",
        *(percent(_mean(part)) for part in (batches, last)),
        *(percent(_typed(part)) for part in (batches, last)),
        *(percent(point["test"]) for point in tests),
    ]


def _mean(points: list[dict[str, Any]]) -> float | None:
    return sum(point["before"] for point in points) / len(points) if points else None


def _typed(points: list[dict[str, Any]]) -> float | None:
    labels = sum(point["labels"] for point in points)
    return sum(point["typed"] for point in points) / labels if labels else None


def feedback_plot(ways: dict[str, list[dict[str, Any]]], corpus: str) -> Figure:
    """Two panels over the documents that came: nDCG@5 on test documents, and labels typed, a mean of five batches."""
    from matplotlib.figure import Figure

    from everylabel.report.plots import STYLES

    figure = Figure(figsize=(7, 6), layout="constrained")
    test, typed = figure.subplots(2, 1, sharex=True)
    for style, (name, points) in zip(STYLES, ways.items(), strict=False):
        line = {"label": name, "color": style.colour, "linestyle": style.line}
        test.plot([point["documents"] for point in points], [100 * point["test"] for point in points], **line)
        batches = [point for point in points if "before" in point]
        means = [_typed(batches[max(0, i - 4) : i + 1]) or 0 for i in range(len(batches))]
        typed.plot([point["documents"] for point in batches], [100 * value for value in means], **line)
    test.set(title=corpus, ylabel="nDCG@5 on test documents, in %")
    typed.set(ylabel="labels typed, in %", xlabel="documents corrected", ylim=(0, None))
    test.legend()
    return figure


def write_figures() -> None:
    from everylabel.report.plots import save_plots

    found = read_conditions()
    for corpus in dict.fromkeys(name.partition(", ")[0] for name in found):
        ways = {name.partition(", ")[2]: points for name, points in found.items() if name.startswith(f"{corpus}, ")}
        save_plots({f"feedback-{corpus}": feedback_plot(ways, corpus)}, RESULTS / "figures")


PAGE = Page(
    module="feedback",
    title="Learning from what people decide",
    about="A model that learns from corrections, beside one that does not, and one that is fitted anew.",
    runs=("feedback", "feedback_peers"),
    sections=(curves_section,),
)

if __name__ == "__main__":
    write_figures()
    PAGE.write()
