"""The entry point of the `everylabel` command."""

from __future__ import annotations

import io
import sys

INTERRUPTED = 130  # what shells expect after Ctrl-C


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # UTF-8 in any locale. A lone surrogate becomes \udXXX, which JSON reads back: no text stops the output.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        from everylabel.cli.app import app  # here, so that Ctrl-C while it loads is no traceback either

        app()
    except (KeyboardInterrupt, SystemExit) as stop:  # typer turns Ctrl-C into an exit, at some moments
        code = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else stop.code
        if code == INTERRUPTED:
            print("\neverylabel: interrupted; nothing was left half written", file=sys.stderr)
        sys.exit(code)


if __name__ == "__main__":
    main()
