"""Texts of requests to labels: by the queue, each request by one model, in the language and of the labels asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from everylabel.data.dataset import Documents
from everylabel.web.batching import Batches
from everylabel.web.problems import Problem
from everylabel.web.server import Server
from everylabel.web.serving import Loaded, Serving
from everylabel.web.shown_labels import languages_of, path_to
from everylabel.workflow.selection import Selection
from everylabel.workflow.tag import Cut, NewLabels, suggest

ALL = Selection()
MOST_LABELS = 1_000  # of a document: nobody reads more


class Text(NamedTuple):
    text: str
    title: str = ""


@dataclass(frozen=True)
class Asked:
    """How texts are to be tagged. Requests that ask alike are ranked together."""

    k: int = 10
    threshold: float | None = None
    best: bool = False
    new_labels: NewLabels = "none"
    explain: bool = False
    language: str = ""  # of the names; "": the project's
    selection: Selection = ALL
    broader: bool = False  # labels instead of narrow ones that are uncertain


class Tagged(NamedTuple):
    labels: list[dict[str, Any]]
    new_labels: list[dict[str, Any]]
    version: int  # of the model


async def tag_texts(server: Server, serving: Serving, texts: Sequence[Text], asked: Asked) -> Sequence[Tagged]:
    """One result a text, all by the same model. Empty texts have no labels."""
    check_language(serving, asked.language)
    characters = check_lengths(server, texts)
    if server.ranked_by is None:
        found = await tag_here(server.batches, serving, texts, asked, characters)
    else:
        found = await server.ranked_by(serving.project.id, asked, texts, characters)
    server.metrics.tagged(serving.project.id, len(texts))
    return found


async def tag_here(
    batches: Batches, serving: Serving, texts: Sequence[Text], asked: Asked, characters: int
) -> Sequence[Tagged]:
    """In this process, together with what others ask alike."""
    return await batches.results((serving.project.id, asked), partial(_tagged, serving, asked), texts, characters)


def check_lengths(server: Server, texts: Sequence[Text]) -> int:
    """The characters of all of them."""
    sizes = [len(one.text) + len(one.title) for one in texts]
    if max(sizes, default=0) > (most := server.settings.most_characters):
        raise Problem(413, f"a text has {max(sizes):,} characters; at most {most:,} are read: send a part of it")
    return sum(sizes)


def languages(serving: Serving, loaded: Loaded) -> list[str]:
    """Those that names can be had in: the project's first. A vocabulary that does not say which has that one."""
    known = languages_of(loaded.model.labels_)
    own = serving.project.language or (known[0] if known else "en")
    return list(dict.fromkeys([own, *known]))


def check_language(serving: Serving, language: str) -> None:
    known = languages(serving, serving.current)
    if language and language not in known:
        raise Problem(400, f"language: {language[:40]!r} is none of the vocabulary's; there are: {', '.join(known)}")


def _tagged(serving: Serving, asked: Asked, texts: list[Text]) -> list[Tagged]:
    loaded, project = serving.current, serving.project
    documents = Documents.of([one.text for one in texts], [one.title for one in texts])
    cut = Cut(max(1, min(asked.k, MOST_LABELS)), asked.threshold, asked.best)
    found = suggest(
        loaded.model,
        documents,
        cut,
        asked.new_labels,
        explain=asked.explain,
        selection=project.chosen.and_also(asked.selection),
        broader=asked.broader,
        language=asked.language or languages(serving, loaded)[0],
        transforms=project.transforms,
    )
    language = (asked.language or languages(serving, loaded)[0]) if asked.explain else None
    return [
        Tagged(_completed(loaded, one.labels, language), _completed(loaded, one.new_labels, language), loaded.version)
        for one in found
    ]


def _completed(loaded: Loaded, found: list[dict[str, Any]], language: str | None) -> list[dict[str, Any]]:
    """Each with an address, which is its id where `suggest` knows none (see shown_labels.uri_of), and a notation, which
    may be none; with a language, also with the names above it. Without one nothing is looked up: this holds for every
    label of every answer."""
    completed = [{"notation": None, "uri": one["id"], **one} for one in found]
    if language is not None:
        labels = loaded.model.labels_
        for one in completed:
            one["path"] = path_to(labels, labels.index[one["id"]], language)
    return completed
