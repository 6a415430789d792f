"""OpenAPI documents that say what is so: bodies, problems, and no 422, which nobody here answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from everylabel.web.bodies import FORM, JSON, MULTIPART
from everylabel.web.problems import MEDIA_TYPE, ProblemBody

REF = "#/components/schemas/{model}"
EVERYWHERE = {
    400: "Something in the request is not as it should be: which, and why.",
    401: "A key is needed, and none or a wrong one came.",
    403: "The key, or the address, may not do this.",
    408: "The body came too slowly.",
    413: "The body or a text is too long.",
    429: "Too many wrong keys, or too many requests; Retry-After says when to come back.",
    503: "Busy, or a model or the database is away; Retry-After says when to come back.",
}
SOMEWHERE = {
    404: "There is no such project, label, decision or job.",
    409: "It contradicts what is there already.",
    415: "The body is of a kind that is not read here.",
}


def json_body(model: type[BaseModel] | dict[str, Any], *, forms: bool = False) -> dict[str, Any]:
    """For `openapi_extra`: the body is such a value; with `forms` the same fields may come as a form."""
    schema = model if isinstance(model, dict) else ref(model)
    kinds = (FORM, MULTIPART, JSON) if forms else (JSON,)
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


def ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REF.format(model=model.__name__)}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For `responses`: what a route may answer beside what every route may."""
    return {status: _problem(SOMEWHERE[status]) for status in statuses}


def describe(app: FastAPI, bodies: Sequence[type[BaseModel]] = ()) -> None:
    """Give the app its document, which is made when somebody first asks for it."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app, bodies)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI, bodies: Sequence[type[BaseModel]]) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, servers=app.servers
    )
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    wanted = [(model, "validation") for model in (*bodies, ProblemBody)]
    _, found = models_json_schema(wanted, ref_template=REF)  # type: ignore[arg-type]
    schemas |= found["$defs"]
    for operations in document["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            responses.pop("422", None)
            for status, what in EVERYWHERE.items():
                responses.setdefault(str(status), _problem(what))
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"key": []}]
    return document


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": ref(ProblemBody)}}}
