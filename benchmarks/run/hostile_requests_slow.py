"""Slow senders and takers (slowloris), many at a time: each must be cut off by the server, in the time that it says."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from typing import NamedTuple

from benchmarks.run.hostile_requests_server import PROJECT
from benchmarks.run.hostile_requests_texts import FORM, Known
from benchmarks.run.hostile_requests_wire import HOME, KEYED, OPEN, message

LONGEST = 45.0  # seconds: 10 for headers, 20 for a body, and the same again for one that is answered but not taken
PAUSE = 0.7  # between two bytes
SUGGEST = f"/v1/projects/{PROJECT}/suggest"


class SlowEnd(NamedTuple):
    status: str  # of the answer; "closed": there was none
    find: str


def slow_ends(ports: dict[str, int], known: Known, seeds: list[str]) -> list[SlowEnd]:
    """One connection for each seed, all at once. Takes as long as the server is patient."""

    async def together() -> list[SlowEnd]:
        return await asyncio.gather(*(_slow(ports, known, random.Random(seed)) for seed in seeds))

    return asyncio.run(together())


async def _slow(ports: dict[str, int], known: Known, rng: random.Random) -> SlowEnd:
    server = rng.choice((OPEN, KEYED))
    at_once, slowly = _parts(known, rng, server)
    reader, writer = await asyncio.open_connection(HOME, ports[server])
    started = time.monotonic()
    sending = asyncio.create_task(_send(writer, at_once, slowly))
    try:
        async with asyncio.timeout(LONGEST):
            came = await reader.read(1 << 16)
            while more := await reader.read(1 << 16):
                came += more
    except TimeoutError:
        return SlowEnd("open", f"a slow sender is still connected after {time.monotonic() - started:.0f} s")
    except ConnectionError:
        came = b""
    finally:
        sending.cancel()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    status = came[9:12].decode("latin-1") or "closed"
    usual = ("closed", "408", "503", *(["200"] if at_once.startswith(b"GET") else []))
    right = status in usual and (status != "503" or b"retry-after" in came.lower())
    return SlowEnd(status, "" if right else f"a slow sender got {came[:100]!r}")


def _parts(known: Known, rng: random.Random, server: str) -> tuple[bytes, bytes]:
    """(what is sent at once, what comes byte by byte)."""
    key = [("Authorization", f"Bearer {known.keys['read']}")] if server == KEYED else []
    endless = b"X-zq7marker: a\r\n" * 100
    head = message("POST", SUGGEST, [*key, ("Content-Type", FORM), ("Content-Length", "100000")])
    chunked = message("POST", SUGGEST, [*key, ("Content-Type", FORM), ("Transfer-Encoding", "chunked")])
    get = message("GET", "/livez")
    return rng.choice(
        (
            (b"", b""),
            (b"G", b""),
            (get[:-2], endless),
            (head[: rng.randrange(1, len(head) - 1)], b""),
            (head, b"text=zq7marker" * 100),
            (head, b""),
            (chunked, b"1\r\na\r\n" * 100),
            (chunked, b""),
            (get + get[:-2], endless),  # a second one behind one that was answered
        )
    )


async def _send(writer: asyncio.StreamWriter, at_once: bytes, slowly: bytes) -> None:
    with suppress(ConnectionError):
        writer.write(at_once)
        for i in range(0, len(slowly), 4):
            await asyncio.sleep(PAUSE)
            writer.write(slowly[i : i + 4])
            await writer.drain()
