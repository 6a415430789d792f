"""A model as tools of an assistant, by the Model Context Protocol, over standard input and output.

Tools read, and change nothing. What an assistant asks for is bounded: texts, labels and evidence have limits.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from everylabel import __version__
from everylabel.errors import ConfigError, EverylabelError
from everylabel.methods.base import Method
from everylabel.store import load
from everylabel.workflow.labels import about_label, n_shown
from everylabel.workflow.settings import is_tagger
from everylabel.workflow.tag import Cut, suggest
from everylabel.workflow.vocabulary import LabelSearch

if find_spec("mcp") is None:  # before anything of it is named below
    raise ConfigError("the server for assistants needs mcp: pip install 'everylabel[mcp]'")

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_TEXT = 1_000_000  # characters
MOST_LABELS = 100
MOST_LISTED = 50  # narrower labels, and the like
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Language = Annotated[str, Field(max_length=35, description="Code of the language of names, such as fi; empty: as is.")]


def serve(model: str | Path) -> None:
    """Until the assistant closes the input."""
    server_of(load(model)).run("stdio")


def server_of(method: Method) -> MCPServer[Any]:
    """The tools over one model."""
    model = method.model_
    search, one_at_a_time = LabelSearch.of(model), threading.Lock()
    about = (
        f"Tags texts with labels of a controlled vocabulary of {n_shown(model):,} labels. `tag` suggests labels for a "
        "text with probabilities; `search_labels` finds labels by words of their names; `describe_label` says what a "
        "label means and what is broader and narrower. Use ids that these tools return; do not make any up."
    )
    server: MCPServer[Any] = MCPServer("everylabel", version=__version__, instructions=about, log_level="WARNING")

    def answered(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Tools run in threads: a ranking uses all cores, and two at a time are no faster."""
        try:
            with one_at_a_time:
                return ask()
        except EverylabelError as error:
            raise ToolError(str(error)) from None

    @server.tool(annotations=READS)
    def tag(
        text: Annotated[str, Field(max_length=MOST_TEXT, description="The text of a document, the longer the better.")],
        title: Annotated[str, Field(max_length=10_000)] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_LABELS, description="Most labels to return.")] = 10,
        threshold: Annotated[float, Field(ge=0, le=1, description="Least probability.")] = 0.0,
        explain: Annotated[bool, Field(description="With the evidence for each label, and where it stands.")] = False,
        language: Language = "",
    ) -> dict[str, Any]:
        """Suggest labels for a text: id, name and score (a probability) of each, best first. `new_labels` are further
        ones that fit and that no document has had so far."""
        from everylabel.data.dataset import Documents

        documents = Documents(ids=["0"], texts=[text], titles=[title])
        cut = Cut(limit, threshold or None)
        why = explain and is_tagger(model)

        def suggested() -> dict[str, Any]:
            return suggest(model, documents, cut, explain=why, language=language)[0].to_json()

        return answered(suggested)

    @server.tool(annotations=READS)
    def search_labels(
        query: Annotated[str, Field(min_length=1, max_length=400, description="Words of a name, or their beginnings.")],
        limit: Annotated[int, Field(ge=1, le=MOST_LABELS)] = 10,
        language: Language = "",
    ) -> dict[str, Any]:
        """Find labels of the vocabulary by words of any of their names, or by notation; the most used first."""

        def found() -> dict[str, Any]:
            labels = search.find(query, limit, language)
            return {
                "labels": [
                    {"id": one.id, "name": one.name, "matched": one.matched, "documents": one.documents}
                    for one in labels
                ]
            }

        return answered(found)

    @server.tool(annotations=READS)
    def describe_label(
        label: Annotated[str, Field(min_length=1, max_length=2_000, description="The id of a label, or its name.")],
        language: Language = "",
    ) -> dict[str, Any]:
        """What the vocabulary says of a label: names, description, broader, narrower and related labels, and how many
        training documents had it."""

        def described() -> dict[str, Any]:
            found = about_label(model, label, language)
            found["documents"] = int(model.counts_[model.labels_.index[found["id"]]])
            return {key: value[:MOST_LISTED] if isinstance(value, list) else value for key, value in found.items()}

        return answered(described)

    return server
