"""The app on a real socket, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI

from everylabel.web.running import bound_socket, running


@contextmanager
def listening(app: FastAPI, **more: Any) -> Iterator[str]:
    """Its address; stopped as by a signal at the end."""
    socket = bound_socket("127.0.0.1", 0)
    server = running(app, **more)
    thread = threading.Thread(target=lambda: server.run(sockets=[socket]))
    thread.start()
    try:
        until = time.monotonic() + 60
        while not server.started and thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        assert server.started
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        socket.close()
