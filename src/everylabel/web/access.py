"""Whether a request may do what it asks for: by its key, or, where there are no keys, because it comes from here.

Without keys only this machine is served, and only under its own names: a page of another site cannot point its name to
us (DNS rebinding), and none may change anything or read decisions from a user's browser (the header Origin).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request

from everylabel.web.keys import LOGIN, Key, Keys, Scope
from everylabel.web.problems import Problem

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
LONGEST_HOST = 300  # characters that are looked at
MOST_REMEMBERED = 256  # addresses, and hosts as requests name them


class Guard:
    def __init__(self, keys: Keys, hosts: tuple[str, ...]) -> None:
        self.keys = keys
        self._hosts = {*LOCAL_NAMES, *(host.lower() for host in hosts)}

    def check_address(self, scope: Mapping[str, Any]) -> None:
        """Of every request, before anything else is done for it."""
        if self.keys.needed:
            return
        client = scope.get("client")
        if client is not None and not is_loopback(str(client[0])):
            detail = "only this machine is served, as there are no keys; start it with --keys FILE for others"
            raise Problem(403, detail, reason="address")
        host = header(scope, b"host")
        if host_name(host[:LONGEST_HOST]) not in self._hosts:
            detail = f"this server is not known as {host[:80]!r} here; ask for localhost, or name it with --allow-host"
            raise Problem(403, detail, reason="host")

    def check(self, request: Request, scope: Scope) -> Key | None:
        """Whether this request may do what needs the scope."""
        if not self.keys.needed:
            if scope != "read" and not is_same_origin(request):
                detail = (
                    "a page of another site asks for this, and there are no keys; start the server with --keys FILE"
                )
                raise Problem(403, detail, reason="origin")
            return None
        key = self.keys.holder(request.headers, address_of(request))
        if key is None:
            raise Problem(401, "a key is needed: Authorization: Bearer KEY", headers=LOGIN, reason="key")
        if scope not in key.scopes:
            raise Problem(
                403, f"this needs a key with the scope {scope!r}; yours has {', '.join(key.scopes)}", reason="key"
            )
        return key

    def is_admin(self, request: Request) -> bool:
        key = self.keys.holder(request.headers, address_of(request)) if self.keys.needed else None
        return key is not None and "admin" in key.scopes


async def guard_of(request: Request) -> Guard:
    """As all that routes depend on a coroutine, which is quicker than a thread."""
    found: Guard = request.app.state.guard
    return found


def needs(scope: Scope) -> Any:
    """For a route's `dependencies`."""

    async def check(request: Request, guard: Annotated[Guard, Depends(guard_of)]) -> None:
        guard.check(request, scope)

    check.__name__ = f"needs_{scope}"
    found: Callable[..., Any] = check
    return Depends(found)


def header(scope: Mapping[str, Any], name: bytes) -> str:
    """The first of this name, which is in small letters as ASGI has them; "": there is none."""
    return next((value.decode("latin-1") for own, value in scope["headers"] if own == name), "")


@lru_cache(maxsize=MOST_REMEMBERED)
def is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address == "localhost"
    mapped = getattr(found, "ipv4_mapped", None)
    return found.is_loopback or (mapped is not None and mapped.is_loopback)


@lru_cache(maxsize=MOST_REMEMBERED)
def host_name(host: str) -> str:
    """Without its port: `localhost:8000`, `[::1]:8000`."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def is_same_origin(request: Request) -> bool:
    """Programs send no Origin; browsers do, with all that may change something or be read by a page."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    try:
        return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


def address_of(request: Request) -> str:
    return request.client.host if request.client is not None else ""
