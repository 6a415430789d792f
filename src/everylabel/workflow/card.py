"""What was measured with a model, in its card: for those who find it on a hub, or in a folder a year later."""

from __future__ import annotations

import time
from pathlib import Path

from everylabel.atomic import replaced
from everylabel.errors import ConfigError, ModelError
from everylabel.methods.base import Method
from everylabel.metrics.scores import Scores, band_rows, percent
from everylabel.store import locked
from everylabel.store.card import CARD, card_of, is_free, write_card
from everylabel.store.manifest import digest_of, read_manifest

OVERALL = ("P@1", "P@5", "nDCG@5", "PSP@5", "R@10")
OF_BANDS = ("R@10", "R@100")


def check_card(model: str | Path) -> None:
    """An error where the README.md is somebody's own: before the work, not after it."""
    if not is_free(Path(model) / CARD):
        raise ConfigError(
            f"{Path(model) / CARD}: was written or changed by somebody, and stays as it is; leave out --card, or "
            "move it away"
        )


def write_results(model: str | Path, method: Method, scores: Scores, data: str) -> None:
    """Results of this very model; the next one that is saved in its place has none until it is measured.

    `method`: what was measured. If there is another model in the folder by now, nothing is written.
    """
    folder = Path(model)
    with locked(folder):
        check_card(folder)
        if read_manifest(folder)["n_labels"] != len(method.labels_) or read_manifest(folder)["method"] != method.name:
            raise ModelError(f"{folder}: there is another model by now; the card was not written: evaluate it again")
        text = card_of(method, folder / CARD, result_lines(scores, data, digest_of(read_manifest(folder))))
        with replaced(folder / CARD) as fresh:
            write_card(fresh, text)


def result_lines(scores: Scores, data: str, digest: str) -> list[str]:
    """Markdown, in percent."""
    when = time.strftime("%Y-%m-%d", time.gmtime())
    rows = [
        f"| {name} | {values['labels']:,.0f} | {values['pairs']:,.0f} | "
        + " | ".join(percent(values[key]) for key in OF_BANDS)
        + " |"
        for name, values in band_rows(scores)
    ]
    return [
        f"In percent, on {scores.n_docs:,} documents of `{' '.join(data.replace('`', ' ').split())}`, {when}; model "
        f"`{digest[:12]}`.",
        "",
        f"| {' | '.join(OVERALL)} |",
        f"|{'---|' * len(OVERALL)}",
        f"| {' | '.join(percent(scores[key]) for key in OVERALL)} |",
        "",
        f"| labels | how many | test pairs | {' | '.join(OF_BANDS)} |",
        f"|---|---|---|{'---|' * len(OF_BANDS)}",
        *rows,
    ]
