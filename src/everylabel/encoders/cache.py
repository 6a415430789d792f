"""Vectors and distilled models that need not be computed twice: where they are kept, and how vectors are found."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_root() -> Path:
    """$EVERYLABEL_CACHE, else everylabel's folder in the platform's place for caches. Nothing is created."""
    chosen = os.environ.get("EVERYLABEL_CACHE", "")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "everylabel"
