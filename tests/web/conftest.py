"""A small tagger on the embedded sample, fitted once with word methods, and the real app around it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.cli import conftest as cli

from everylabel.tagger.tagger import Tagger
from everylabel.web.app import create_app
from everylabel.web.projects import Project
from everylabel.web.settings import Settings
from everylabel.workflow.demo import sample_splits

sampled = cli.sampled
TEXT = "The lifeboat crew rowed out twice to the wreck below the lighthouse in a rising gale."
Serve = Callable[..., TestClient]


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be written to."""
    path = tmp_path_factory.mktemp("web") / "sample"
    train, dev, _ = sample_splits()
    Tagger(experts=("tfidf", "knn")).fit(train, dev).save(path)
    return path


@pytest.fixture
def model(fitted: Path, tmp_path: Path) -> Path:
    """A copy, for those who change it."""
    return Path(shutil.copytree(fitted, tmp_path / "model"))


def local(app: Any) -> TestClient:
    """A client on this machine. What goes wrong inside is an answer, too."""
    client = ("127.0.0.1", 50_000)
    return TestClient(app, base_url="http://localhost:8000", client=client, raise_server_exceptions=False)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`serve(model, allow_learn=True)`: a client of an app that has started."""
    with ExitStack() as stack:

        def started(*projects: Path | Project, **settings: Any) -> TestClient:
            found = [one if isinstance(one, Project) else Project(id="sample", model=one) for one in projects]
            app = create_app(found, Settings(**{"state": tmp_path / "state", "watch_seconds": 0.05, **settings}))
            return stack.enter_context(local(app))

        yield started


@pytest.fixture(scope="module")
def client(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """For those who change nothing."""
    settings = Settings(state=tmp_path_factory.mktemp("state"))
    with local(create_app([Project(id="sample", model=fitted, name="The sample", language="en")], settings)) as found:
        yield found
