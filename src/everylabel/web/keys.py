"""Who may ask for what: keys in a file, hashed, with scopes. Without a file only this machine is served.

A key is 32 random bytes, so that one sha256 is enough of a hash: there is nothing to guess it by. It comes as
`Authorization: Bearer KEY`, as `X-API-Key: KEY`, or as the password of HTTP's basic scheme, which any client can send
by an address such as http://any:KEY@host/v1/. All hashes are compared, each in constant time. Too many wrong keys from
an address, and none from there is looked at for a while. The file is read again when it changes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from starlette.datastructures import Headers

from everylabel.atomic import replaced
from everylabel.errors import ConfigError
from everylabel.web.problems import Problem, busy

Scope = Literal["read", "learn", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "el_"
WINDOW = 60.0  # seconds in which wrong keys are counted
MOST_ADDRESSES = 10_000
LOGIN = {"WWW-Authenticate": 'Bearer realm="everylabel"'}


@dataclass(frozen=True)
class Key:
    name: str
    scopes: tuple[str, ...]
    sha256: str
    made: str  # when


def read_keys(file: Path) -> list[Key]:
    """An empty list of a file that is not there yet."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        found = [Key(one["name"], tuple(one["scopes"]), one["sha256"], one["made"]) for one in content["keys"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file}: is no file of keys ({error}); make one: everylabel keys add {file}") from None
    for key in found:
        if unknown := set(key.scopes) - set(SCOPES):
            raise ConfigError(
                f"{file}: key {key.name!r} has the scope {min(unknown)!r}; there are: {', '.join(SCOPES)}"
            )
    return found


def add_key(file: Path, name: str, scopes: Sequence[str]) -> str:
    """The new key, which is nowhere else: the file has its hash."""
    known = read_keys(file)
    if any(key.name == name for key in known):
        raise ConfigError(f"{file}: there is a key named {name!r} already; remove it, or choose another name")
    if not scopes or (unknown := set(scopes) - set(SCOPES)):
        raise ConfigError(f"a key needs scopes, of {', '.join(SCOPES)}; got {', '.join(unknown) if scopes else 'none'}")
    secret = PREFIX + secrets.token_urlsafe(32)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    _write(file, [*known, Key(name, ordered, _digest(secret), made)])
    return secret


def remove_key(file: Path, name: str) -> None:
    known = read_keys(file)
    left = [key for key in known if key.name != name]
    if len(left) == len(known):
        names = ", ".join(key.name for key in known) or "none"
        raise ConfigError(f"{file}: there is no key named {name!r}; there are: {names}")
    _write(file, left)


class Keys:
    """Those of a file, or of none."""

    def __init__(self, file: Path | None, most_failures: int) -> None:
        self._file, self._most_failures = file, most_failures
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._keys: list[Key] = []
        if file is not None:
            self._refresh()
            if not self._keys:
                raise ConfigError(f"{file}: has no key; make one: everylabel keys add {file} --name NAME --scope read")

    @property
    def needed(self) -> bool:
        return self._file is not None

    def holder(self, headers: Headers, address: str) -> Key | None:
        """Whose key came with a request; None if none came. A wrong one is 401, too many wrong ones are 429."""
        if not self.needed or (secret := _presented(headers)) is None:
            return None
        with self._lock:
            self._check_failures(address)
            self._refresh()
            wanted, found = _digest(secret), None
            for key in self._keys:
                if hmac.compare_digest(key.sha256, wanted):
                    found = key
            if found is None:
                self._note_failure(address)
                raise Problem(
                    401, "this key is not known here; check it, or ask for another", headers=LOGIN, reason="key"
                )
            return found

    def _check_failures(self, address: str) -> None:
        recent = [when for when in self._failures.get(address, ()) if time.monotonic() - when < WINDOW]
        if len(recent) >= self._most_failures:
            wait = WINDOW - (time.monotonic() - recent[0])
            raise busy("too many wrong keys came from this address; wait a minute", wait, status=429, reason="key")
        if not recent:
            self._failures.pop(address, None)

    def _note_failure(self, address: str) -> None:
        times = self._failures.setdefault(address, [])
        times.append(time.monotonic())
        del times[: -self._most_failures]
        self._failures.move_to_end(address)
        while len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def _refresh(self) -> None:
        """A file that cannot be read, or is none, leaves the keys that were read before."""
        assert self._file is not None
        try:
            found = self._file.stat()
            stamp = (found.st_mtime_ns, found.st_ino, found.st_size)
            if stamp != self._stamp:
                self._keys, self._stamp = read_keys(self._file), stamp
        except OSError:
            return
        except ConfigError:
            if not self._keys:
                raise


def _presented(headers: Headers) -> str | None:
    if "x-api-key" in headers:
        return headers["x-api-key"]
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:  # no base64, not even ASCII, or no UTF-8 inside
            return ""
    return None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _write(file: Path, keys: Sequence[Key]) -> None:
    content: dict[str, Any] = {"keys": [asdict(key) for key in keys]}
    with replaced(file) as partial:
        partial.touch(0o600)
        if file.exists() and os.name == "posix" and os.geteuid() == 0:  # the server that reads it need not be root
            os.chown(partial, file.stat().st_uid, file.stat().st_gid)
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
