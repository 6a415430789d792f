"""The server on a socket: uvicorn, with connections that send nothing, or endless headers, cut off.

SIGTERM and Ctrl-C: nothing new is accepted, requests in flight are answered, the store is closed. SIGHUP: models are
loaded again.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from asyncio import TimerHandle
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from everylabel.errors import ConfigError
from everylabel.web.access import is_loopback
from everylabel.web.server import Server

HEADER_SECONDS = 10.0  # until all headers of a request have come
MOST_HEADER_BYTES = 64 * 1024  # with the address
MOST_CONNECTIONS = 1_024
KEEP_ALIVE, GRACE = 15, 30  # seconds
log = logging.getLogger("everylabel.server")


class Protocol(HttpToolsProtocol):
    """A connection. uvicorn's has no bound for headers, neither of time nor of size; that of bodies is limits.py's, as
    long as somebody reads them."""

    _timer: TimerHandle | None = None
    _header_bytes = 0
    _in_headers = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_headers:
            if self._header_bytes > MOST_HEADER_BYTES:  # and there are more of them
                self.send_400_response("The headers are too long.")
                return
            self._header_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        if not self._in_headers:  # not the first of the connection
            self._in_headers, self._header_bytes = True, 0
        self._watch()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_headers = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unwatch()
        super().on_message_complete()

    def _watch(self) -> None:
        self._unwatch()
        self._timer = self.loop.call_later(HEADER_SECONDS, self._cut_off)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut_off(self) -> None:
        """Headers that do not come, or the rest of a body that was answered already."""
        self._timer = None
        if self.transport.is_closing():
            return
        if self._in_headers or self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self._watch()


class Running(uvicorn.Server):
    """uvicorn's server, which also hears SIGHUP."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._server = server

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._server.watcher.reload_soon)
        await super().startup(sockets)


def bound_socket(host: str, port: int) -> socket.socket:
    """Before anything is loaded, so that a port that is taken is said at once; port 0 is any that is free."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
        except OSError:
            found.close()
            raise
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"{host}:{port} cannot be listened at ({why}); give another --host or --port") from None
    found.set_inheritable(True)
    return found


def check_host(host: str, has_keys: bool) -> None:
    if not has_keys and not is_loopback(host):
        raise ConfigError(
            f"without keys only this machine is served, not {host}; make a key (everylabel keys add FILE) and give "
            "--keys FILE, or leave --host out"
        )


def running(app: FastAPI, **more: Any) -> Running:
    """Not started yet: `.run(sockets=[bound_socket(...)])` serves until a signal comes."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        backlog=512,
        limit_concurrency=MOST_CONNECTIONS,
        **more,
    )
    return Running(config, app.state.server)
