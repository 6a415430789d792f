"""An internet of its own for the servers that hostile requests go to.

`python -m benchmarks.run.hostile_requests_internet` is `everylabel`, but for what `--allow-fetch` sees: names are
looked up in a table, and a public address is a site on this machine, which leads wherever its path says. What else is
connected to is the port at which nobody may ask: a server that lets itself be led there is found out.
EVERYLABEL_INTERNET is a file with the two ports, JSON.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

VARIABLE = "EVERYLABEL_INTERNET"
PUBLIC = "93.184.216.34"
INNER = (
    "127.0.0.1",
    "10.0.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "::1",
    "::ffff:127.0.0.1",
    "fd00::1",
    "2002:7f00:1::",
)
_times = count()


def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
    """inner: not public; both: public and not; changing: the one or the other, at each asking."""
    inner = INNER[next(_times) % len(INNER)]
    answers = {"public": [PUBLIC], "inner": [inner], "both": [PUBLIC, inner]}
    answers["changing"] = [PUBLIC] if next(_times) % 2 else [inner]
    name = host.rstrip(".").removesuffix(".example")
    if name in answers:
        return [(one, port) for one in answers[name]]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [one[4] for one in found]


def connect(address: tuple[Any, ...], seconds: float) -> socket.socket:
    ports = json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8"))
    return socket.create_connection(("127.0.0.1", ports["site" if address[0] == PUBLIC else "sink"]), seconds)


class Site(BaseHTTPRequestHandler):
    """/to/ADDRESS leads there; /huge has no end; all else is a short page."""

    def do_GET(self) -> None:
        kind, _, about = self.path[1:].partition("/")
        self.send_response(302 if kind == "to" else 200)
        if kind == "to":
            self.send_header("Location", about)
        self.send_header("Content-Type", "text/plain" if kind == "huge" else "text/html")
        self.end_headers()
        try:
            for _ in range(800 if kind == "huge" else 1):
                self.wfile.write(b"a word " * (10_000 if kind == "huge" else 1))
        except OSError:
            return

    def log_message(self, *_: Any) -> None:
        return


def start_site() -> ThreadingHTTPServer:
    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    site.daemon_threads = True
    threading.Thread(target=site.serve_forever, daemon=True).start()
    return site


def main() -> None:
    from everylabel.cli.main import main as command
    from everylabel.web import server
    from everylabel.web.fetching import Fetcher

    setattr(server, "Fetcher", partial(Fetcher, resolve=resolve, connect=connect))  # noqa: B010 (a stand-in)
    command()


if __name__ == "__main__":
    main()
