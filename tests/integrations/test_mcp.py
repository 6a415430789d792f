"""An assistant's own client library starts the command, asks the tools over stdio, and gets what the model says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import everylabel
from everylabel.tagger.tagger import Tagger
from everylabel.workflow.demo import sample_splits
from everylabel.workflow.tag import Cut, suggest

TEXT = "The lifeboat crew rowed out twice to the wreck below the lighthouse in a rising gale."
SOURCE = str(Path(everylabel.__file__).parents[1])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "model"
    train, dev, _ = sample_splits()
    Tagger(experts=("tfidf", "knn")).fit(train, dev).save(path)
    return path


def asked(model: Path, ask: Callable[[Client], Awaitable[Any]]) -> Any:
    """By a server of its own, as an assistant starts it."""
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    arguments = ["-m", "everylabel.cli.main", "mcp", str(model)]
    command = StdioServerParameters(command=sys.executable, args=arguments, env=environment)

    async def talk() -> Any:
        async with Client(stdio_client(command)) as client:
            return await ask(client)

    return anyio.run(talk)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    return found.structured_content


def test_the_tools_say_what_the_model_says(model: Path) -> None:
    async def ask(client: Client) -> tuple[Any, ...]:
        tools = (await client.list_tools()).tools
        tagged = await call(client, "tag", text=TEXT, limit=3)
        explained = await call(client, "tag", text=TEXT, limit=3, explain=True)
        found = await call(client, "search_labels", query="lightho", limit=5)
        described = await call(client, "describe_label", label=found["labels"][0]["id"])
        return client.instructions, tools, tagged, explained, found, described

    instructions, tools, tagged, explained, found, described = asked(model, ask)
    method = everylabel.load(model)
    assert [tool.name for tool in tools] == ["tag", "search_labels", "describe_label"]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert f"{len(method.labels_)} labels" in instructions
    assert tagged == json.loads(json.dumps(suggest(method, [TEXT], Cut(3))[0].to_json()))
    assert len(tagged["labels"]) == 3
    spans = [span for one in explained["labels"] for item in one["evidence"] for span in item.get("spans", ())]
    assert spans
    assert all(TEXT[start:end] for start, end in spans)
    assert "ighthouse" in found["labels"][0]["name"]
    assert described["name"] == found["labels"][0]["name"]
    assert described["documents"] == found["labels"][0]["documents"] > 0


def test_what_cannot_be_is_an_error_for_the_assistant_and_the_server_goes_on(model: Path) -> None:
    async def ask(client: Client) -> list[Any]:
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("describe_label", {"label": "no such label"}),
            ("tag", {"text": "a", "limit": 0}),
            ("tag", {"text": 7}),
            ("search_labels", {"query": ""}),
        ]
        answers: list[Any] = [await client.call_tool(tool, arguments) for tool, arguments in wrong]
        return [*answers, await call(client, "tag", text="", limit=3)]

    *refused, empty = asked(model, ask)
    assert all(answer.is_error for answer in refused)
    assert "is not in the model's vocabulary" in refused[0].content[0].text
    assert empty == {"labels": []}


def test_a_folder_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "everylabel.cli.main", "mcp", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stdout) == (5, "")
    assert "is not a model folder" in done.stderr


def test_without_the_package_it_says_what_to_install() -> None:
    script = "import importlib.util as found; found.find_spec = lambda _: None; import everylabel.mcp"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert "pip install 'everylabel[mcp]'" in done.stderr
