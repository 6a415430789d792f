"""`everylabel mcp`: a model for assistants, over standard input and output."""

from __future__ import annotations

from everylabel.cli.guard import guarded
from everylabel.cli.options import Model


@guarded
def mcp(model: Model) -> None:
    """Serve a model to an assistant (Model Context Protocol, over stdio): tag, search_labels, describe_label.

    Meant to be started by the assistant, not by hand: give it this command. The model is never changed, and texts are
    neither kept nor logged.

    Example: everylabel mcp MODEL
    """
    from everylabel.mcp import serve

    serve(model)
