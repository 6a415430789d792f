"""Bodies of requests: JSON straight into pydantic's models, and forms as the clients out there send them.

JSON is read by pydantic, not by Python's parser: nothing is built of what no field asks for, and nesting has a bound.
So has the number of its parts: 10 MB of `[],` or of unknown names would be hundreds of MB of values and errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from everylabel.web.problems import Problem, spoken

T = TypeVar("T")
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
MOST_FIELDS = 200
MOST_PARTS, MOST_COMMAS = 200_000, 1_000_000  # texts have such characters, too: one in fifty, one in ten of 10 MB


def content_type(request: Request) -> tuple[str, str]:
    """The media type, and the charset or ""."""
    message = Message()
    message["content-type"] = request.headers.get("content-type", "")
    found = message.get_content_type() if request.headers.get("content-type") else ""
    return found, message.get_content_charset("") or ""


async def read_json(request: Request, kind: TypeAdapter[T]) -> T:
    """The body as this kind of value; what is no JSON, or does not fit, is a 400 that says where."""
    found, _ = content_type(request)
    if found and found != JSON and not found.endswith("+json"):
        raise _unsupported(found, JSON)
    return validated(await request.body(), kind)


def validated(content: bytes, kind: TypeAdapter[T]) -> T:
    if sum(map(content.count, (b"[", b"{", b":"))) > MOST_PARTS or content.count(b",") > MOST_COMMAS:
        detail = (
            f"the JSON has more than {MOST_PARTS:,} lists, objects and members, or {MOST_COMMAS:,} commas; send less"
        )
        raise Problem(413, detail, reason="size")
    try:
        return kind.validate_json(content)
    except ValidationError as error:
        raise Problem(400, spoken(error.errors(include_input=False, include_url=False))) from None


async def read_fields(request: Request, most_bytes: int, kind: type[BaseModel]) -> dict[str, Any]:
    """The fields of a form, of a form in parts, or of a JSON object: whichever a client sends. `kind` is what is read
    of the JSON; what is null there is not there."""
    found, charset = content_type(request)
    if found in ("", FORM):
        return form_fields(await request.body(), charset or "utf-8")
    if found == MULTIPART:
        return await _parts(request, most_bytes)
    if found == JSON or found.endswith("+json"):
        found_fields = validated(await request.body(), TypeAdapter(kind))
        return found_fields.model_dump(exclude_none=True)
    raise _unsupported(found, f"{FORM}, {MULTIPART} or {JSON}")


def form_fields(content: bytes, charset: str = "utf-8") -> dict[str, str]:
    """Percent-encoded, or as they are: `curl -d "text=Größe"` sends the bytes of the terminal."""
    try:
        text = content.decode(charset)
        pairs = parse_qsl(text, keep_blank_values=True, encoding=charset, errors="replace", max_num_fields=MOST_FIELDS)
    except (UnicodeDecodeError, LookupError):
        raise Problem(400, f"the form is not in the encoding {charset}; send it as UTF-8") from None
    except ValueError:
        raise Problem(400, f"the form has more than {MOST_FIELDS} fields; send fewer") from None
    return dict(reversed(pairs))  # of a field that comes twice the first counts


async def _parts(request: Request, most_bytes: int) -> dict[str, Any]:
    form = await read_multipart(request, most_bytes)
    fields: dict[str, Any] = {}
    for name, value in form.items():
        if isinstance(value, UploadFile):
            value = (await value.read()).decode("utf-8", "replace")
        fields.setdefault(name, value)
    await request.close()
    return fields


async def read_multipart(request: Request, most_bytes: int) -> Mapping[str, str | UploadFile]:
    try:
        return await request.form(max_files=4, max_fields=MOST_FIELDS, max_part_size=most_bytes)
    except HTTPException as error:
        raise Problem(400, f"the form cannot be read: {error.detail}") from None
    except (UnicodeDecodeError, LookupError):
        raise Problem(400, "the form is not in the encoding that it names; send it as UTF-8") from None


def _unsupported(found: str, wanted: str) -> Problem:
    return Problem(415, f"the body is {found[:80]!r}, expected {wanted}; set Content-Type")
