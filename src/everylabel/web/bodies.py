"""Bodies of requests: JSON straight into pydantic's models, and forms as the clients out there send them.

JSON is read by pydantic, not by Python's parser: nothing is built of what no field asks for, and nesting has a bound.
So has the number of its parts: 10 MB of `[],` or of unknown names would be hundreds of MB of values and errors.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from email.message import Message
from functools import lru_cache
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, TypeAdapter, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from everylabel.web.access import header
from everylabel.web.percent import unquoted
from everylabel.web.problems import Problem, spoken

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
MOST_FIELDS = 200
MOST_TOLD = 1_000  # things that are wrong with a body
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1252"}
MOST_PARTS, MOST_COMMAS = 200_000, 1_000_000  # texts have such characters, too: one in fifty, one in ten of 10 MB


def content_type(request: Request) -> tuple[str, str]:
    """The media type, and the charset or ""."""
    return _kind_and_charset(header(request.scope, b"content-type"))


@lru_cache(maxsize=64)
def _kind_and_charset(said: str) -> tuple[str, str]:
    message = Message()
    message["content-type"] = said
    return message.get_content_type() if said else "", message.get_content_charset("") or ""


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
        if (n := error.error_count()) > MOST_TOLD:  # to spell them out takes seconds
            raise Problem(400, f"{n:,} parts of the JSON are not as they should be; see the documentation") from None
        raise Problem(400, spoken(error.errors(include_input=False, include_url=False))) from None


async def read_fields(request: Request, most_bytes: int, kind: TypeAdapter[M]) -> dict[str, Any]:
    """The fields of a form, of a form in parts, or of a JSON object: whichever a client sends. `kind` is what is read
    of the JSON; what is null there is not there."""
    found, charset = content_type(request)
    if found in ("", FORM):
        return form_fields(await request.body(), charset or "utf-8")
    if found == MULTIPART:
        return await _parts(request, most_bytes)
    if found == JSON or found.endswith("+json"):
        return validated(await request.body(), kind).model_dump(exclude_none=True)
    raise _unsupported(found, f"{FORM}, {MULTIPART} or {JSON}")


def form_fields(content: bytes, charset: str = "utf-8") -> dict[str, str]:
    """Percent-encoded, or as they are: `curl -d "text=Größe"` sends the bytes of the terminal."""
    encoding = _encoding(charset)
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        raise Problem(400, f"the form is not in the encoding {charset}; send it as UTF-8") from None
    if content.count(b"&") >= MOST_FIELDS:
        raise Problem(400, f"the form has more than {MOST_FIELDS} fields; send fewer")
    pairs = [field.partition(b"=") for field in content.split(b"&") if field]
    found = [(_said(name, encoding), _said(value, encoding)) for name, _, value in pairs]
    return dict(reversed(found))  # of a field that comes twice the first counts


def _said(part: bytes, encoding: str) -> str:
    return unquoted(part).decode(encoding, "replace")


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
    _, options = parse_options_header(request.headers.get("content-type"))  # as the form's reader does
    _encoding(options.get(b"charset", b"utf-8").decode("latin-1"))
    try:
        return await request.form(max_files=4, max_fields=MOST_FIELDS, max_part_size=most_bytes)
    except HTTPException as error:
        raise Problem(400, f"the form cannot be read: {error.detail}") from None
    except UnicodeError:
        raise Problem(400, "the form is not in the encoding that it names; send it as UTF-8") from None


def _encoding(charset: str) -> str:
    """One of those that forms are sent in. Python knows others, some of which take minutes for a megabyte."""
    try:
        found = codecs.lookup(charset).name
    except (LookupError, ValueError):
        found = ""
    if found not in ENCODINGS:
        raise Problem(400, f"forms are not read in the encoding {charset[:40]!r}; send UTF-8")
    return found


def _unsupported(found: str, wanted: str) -> Problem:
    return Problem(415, f"the body is {found[:80]!r}, expected {wanted}; set Content-Type")
