"""Files that are more than text, read in a process of its own: one can be made to take hours, all memory, or to crash.

The parent asks by a line of JSON (what it wants, of which file) and gets a line: {"title", "text"}, what records.py
gives, or {"error"}. Where a file takes too long, the process is ended, and the next file gets another one. Starting
one takes longer than reading a short file, so that all files of a folder share it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

from everylabel.errors import DataError, EverylabelError

# Suffix: our module, and the library that it needs, if any beside the standard one.
READERS: dict[str, tuple[str, str]] = {
    ".pdf": ("pdf", "pypdf"),
    ".docx": ("docx", "docx"),
    ".odt": ("odt", "odf"),
    ".epub": ("epub", ""),
    ".html": ("html_page", ""),
    ".htm": ("html_page", ""),
    ".xhtml": ("html_page", ""),
}
INSTALLED_AS = {"docx": "python-docx", "odf": "odfpy"}
MOST_SECONDS = 120.0  # a file
MOST_MEMORY = 2 << 30


class Content(NamedTuple):
    title: str
    text: str


class Reader:
    """A ValueError says what is wrong with a file: "problem; what to do"."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def content(self, file: Path) -> Content:
        _, library = READERS[file.suffix.lower()]
        if library and find_spec(library) is None:
            name = INSTALLED_AS.get(library, library)
            raise DataError(f"{file}: reading {file.suffix} needs {name}; pip install 'everylabel[files]'")
        answer = self._ask("content", file)
        return Content(answer["title"], answer["text"])

    def records(self, file: Path) -> dict[str, Any]:
        """The records of a catalogue file (records.read)."""
        return self._ask("read", file)

    def with_subjects(self, file: Path, target: Path, **how: Any) -> dict[str, Any]:
        """The same records with more subjects in another file (records.write)."""
        return self._ask("write", file, target=str(target), **how)

    def _ask(self, what: str, file: Path, **how: Any) -> dict[str, Any]:
        answer = self._answer({"what": what, "file": str(file.resolve()), **how})
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer, started = threading.Timer(self.seconds, process.kill), time.monotonic()
        timer.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
            line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._end()
        if time.monotonic() - started >= self.seconds:
            return {"error": f"reading it takes longer than {self.seconds:g} s; leave it out, or save it again"}
        return {"error": "reading it needs too much memory or crashes; leave it out, or save it again"}

    def _start(self) -> subprocess.Popen[bytes]:
        here = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=here)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def _answers() -> None:
    """What the process does: an answer a line, until the parent goes away."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    with suppress(ImportError, ValueError, OSError):  # not every system can bound a process
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        file = Path(asked.pop("file"))
        try:
            answer = _done(asked.pop("what"), file, **asked)
        except EverylabelError as error:
            answer = {"error": " ".join(str(error).replace(f"{file.parent}{os.sep}", "").split())}
        except ValueError as error:
            answer = {"error": " ".join(str(error).split())}
        except OSError as error:
            answer = {"error": f"it cannot be read ({error.strerror or error}); check the path and its permissions"}
        except Exception as error:  # a damaged file fails deep inside a library, in any way
            reason = " ".join(str(error).split())[:200]
            answer = {"error": f"it is damaged ({type(error).__name__}: {reason}); save or fetch it again"}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _done(what: str, file: Path, **how: Any) -> dict[str, Any]:
    if what == "content":
        title, text = _module(READERS[file.suffix.lower()][0]).content(file)
        return {"title": _written(title), "text": _written(text)}
    if what == "read":
        found: dict[str, Any] = _module("records").read(file)
        for one in found["records"]:
            one |= {key: _written(one[key]) for key in ("id", "title", "text")}
        return found
    written: dict[str, Any] = _module("records").write(file, Path(how.pop("target")), **how)
    return written


def _module(name: str) -> Any:
    return import_module(f"everylabel.data.formats.{name}")


def _written(text: str) -> str:
    """Without half surrogate pairs, which no file can be written with, and without zeros."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


if __name__ == "__main__":
    _answers()
