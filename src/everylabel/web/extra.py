"""Whether what the server is made of is installed."""

from __future__ import annotations

from importlib.util import find_spec

from everylabel.errors import ConfigError

NEEDED = {
    "fastapi": "fastapi",
    "uvicorn": "uvicorn",
    "httptools": "httptools",
    "python_multipart": "python-multipart",
    "sqlalchemy": "sqlalchemy",
    "prometheus_client": "prometheus-client",
}


def require_server() -> None:
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ConfigError(f"the server needs {', '.join(missing)}: pip install 'everylabel[server]'")
