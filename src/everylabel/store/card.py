"""The card of a model: README.md in its folder, which says people and model hubs what it is and how to use it.

Front matter for hubs, a mark with a checksum of what follows, then the text. With the checksum a card is ours, and
written anew when the model is; the front matter belongs to the user (licence, languages, tags) and stays as it is. A
README.md that somebody wrote, or changed below the mark, is theirs: never written to. A card is not a part of the
model: nothing is read from it when a model is loaded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from everylabel import __version__
from everylabel.data.bands import BANDS, in_band

if TYPE_CHECKING:
    from everylabel.methods.base import Method

CARD = "README.md"
_MARK = re.compile(r"<!-- card of a model, by everylabel; sha256 of what follows: ([0-9a-f]{64}) -->\n")
_FRONT = re.compile(r"---\n.*?^---\n\n?", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_MOST = 1 << 20  # bytes: a card of ours has some thousand
_TAGS = ("everylabel", "multi-label", "extreme-multi-label", "subject-indexing", "zero-shot")
_BAND_SAID = {"head": "100 or more", "middle": "10 to 99", "tail": "1 to 9", "unseen": "none: found by their texts"}


def is_card(file: Path) -> bool:
    """Ours, and as we left it but for its front matter."""
    text = _read(file)
    mark = _MARK.search(text)
    return mark is not None and mark[1] == _digest(text[mark.end() :])


def is_free(file: Path) -> bool:
    """A card may be written there: there is none, or one of ours."""
    return is_card(file) or not (file.exists() or file.is_symlink())


def card_of(method: Method, before: Path | None = None, results: Sequence[str] = ()) -> str:
    """`before`: the card that this one replaces, whose front matter stays. `results`: lines of Markdown about what was
    measured with this very model."""
    model = method.model_
    front = _FRONT.match(_read(before)) if before is not None and is_card(before) else None
    body = "\n".join([*_about(model), *_labels(model), *_parts(model), *_results(results), *_USE, *_LICENCE]) + "\n"
    kept = front[0].rstrip("\n") + "\n\n" if front else _front(model)
    return f"{kept}<!-- card of a model, by everylabel; sha256 of what follows: {_digest(body)} -->\n{body}"


def write_card(file: Path, text: str) -> None:
    """Halves of characters, which a text may have, are written as what Python shows of them."""
    file.write_bytes(text.encode("utf-8", "backslashreplace"))


def _read(file: Path) -> str:
    """Nothing of what is no file, no text, or larger than a card."""
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST:
            return ""
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "backslashreplace")).hexdigest()


def _front(model: Method) -> str:
    labels = model.labels_
    found = dict.fromkeys(one.partition("-")[0].lower() for one in (labels.language, *labels.languages))
    languages = [one for one in found if _LANGUAGE.fullmatch(one)]
    lines = ["---", "library_name: everylabel", "pipeline_tag: text-classification", "license: unknown"]
    lines += ["language:", *(f"- {one!r}" for one in languages)] if languages else []  # quoted: no is a language
    return "\n".join([*lines, "tags:", *(f"- {tag}" for tag in _TAGS), "---"]) + "\n\n"


def _about(model: Method) -> list[str]:
    return [
        f"# A model of everylabel: {model.name}",
        "",
        f"It tags a text with labels of a vocabulary: {model.summary}.",
        "",
        f"Fitted on {model.n_train_:,} documents; {len(model.labels_):,} labels, of which "
        f"{int((~model.hidden_).sum()):,} are suggested; written by everylabel {__version__}.",
        "",
    ]


def _labels(model: Method) -> list[str]:
    rows = [f"| {name} | {_BAND_SAID[name]} | {int(in_band(model.counts_, name).sum()):,} |" for name in BANDS]
    return ["| labels | training documents of each | how many |", "|---|---|---|", *rows, ""]


def _parts(model: Method) -> list[str]:
    """In blocks that are shown as they are: what is in them was not written for Markdown."""
    lines: list[str] = []
    for title, said in model.card_parts().items():
        lines += [f"## {title}", "", *("    " + " ".join(one.split("\n")) for one in said), ""]
    return lines


def _results(results: Sequence[str]) -> list[str]:
    unknown = ("Not measured yet: `everylabel evaluate MODEL DATA --card` writes them here.",)
    return ["## Results", "", *(results or unknown), ""]


_USE = [
    "## How to use it",
    "",
    "    pip install everylabel",
    "    everylabel tag MODEL FILE",
    "",
    "or in Python, MODEL being this folder:",
    "",
    "    import everylabel",
    '    everylabel.load("MODEL").rank(["a new text"], k=5)',
    "",
    "Loading a model runs no code of its author; one from elsewhere is checked first.",
    "",
]
_LICENCE = [
    "## Licence",
    "",
    "The field `license` above says it: `unknown` until the author of the model writes another one there. What a model",
    "may be used for depends on its documents and its vocabulary, too.",
]
