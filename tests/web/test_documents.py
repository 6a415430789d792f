"""Both OpenAPI documents are true: whatever is sent, the answer is one that is documented, and never our fault."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from everylabel.web.app import create_app
from everylabel.web.keys import SCOPES, add_key
from everylabel.web.projects import Project
from everylabel.web.settings import Settings

EXAMPLES = int(os.environ.get("EVERYLABEL_API_EXAMPLES", "8"))  # of each operation; a long run sets more
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=EXAMPLES < 100,
)


class Started:
    """An app that was started once: each request of schemathesis would start and stop it."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)
            return
        for what in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{what}.complete"})


@pytest.fixture(scope="module")
def keyed(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Started, dict[str, str]]]:
    """The app, and a key that may do all."""
    folder = tmp_path_factory.mktemp("documents")
    key = add_key(folder / "keys.json", "all", SCOPES)
    model = Path(shutil.copytree(fitted, folder / "model"))
    known = Settings(state=folder / "state", keys=folder / "keys.json", allow_learn=True, most_failures=10**9)
    app = create_app([Project(id="sample", model=model)], known)
    app.state.server.start()
    yield Started(app), {"Authorization": f"Bearer {key}"}
    app.state.server.stop()


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("prefix", ["/v1", "/api"])
def test_every_answer_is_as_documented(
    prefix: str, mode: GenerationMode, keyed: tuple[Started, dict[str, str]]
) -> None:
    """Of what fits the document, and of what does not; every second time of a project that is there."""
    app, headers = keyed
    schema = schemathesis.openapi.from_asgi(f"{prefix}/openapi.json", app)

    def check(case: Case[Any]) -> None:
        if "project_id" in case.path_parameters and len(str(case.path_parameters["project_id"])) % 2 == 0:
            case.path_parameters["project_id"] = "sample"
        case.call_and_validate(headers=headers, checks=CHECKS)

    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) > 10
    for operation in operations:
        with suppress(Unsatisfiable):  # nothing can be wrong with what has no parameters
            few(given(case=operation.as_strategy(generation_mode=mode))(check))()


def test_every_operation_says_what_it_is_and_what_may_go_wrong(keyed: tuple[Started, dict[str, str]]) -> None:
    for app in (route.app for route in keyed[0].app.routes if getattr(route, "path", "") in ("/v1", "/api")):
        for path, operations in app.openapi()["paths"].items():
            for about in operations.values():
                assert about["summary"], path
                assert {"400", "401", "403", "413", "429", "503"} <= set(about["responses"])
