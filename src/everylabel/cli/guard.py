"""What a command's failure looks like to the user: one line on stderr and an exit code, never a traceback.

0 fine, 2 wrong usage (typer's), 1/3/4/5/6/7 the kinds in `everylabel.errors`, 130 Ctrl-C, 141 the reader went away.
An error that is none of these is a bug, and keeps its traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec

import typer

from everylabel.cli.main import INTERRUPTED
from everylabel.cli.printable import printable
from everylabel.errors import EverylabelError

P = ParamSpec("P")
PIPE_CLOSED = 141


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with its expected failures turned into exit codes."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()  # here, not at exit, where a closed pipe could no longer be handled
        except EverylabelError as error:
            fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None  # main() says what that means
        except BrokenPipeError:
            reader_went_away()
        except OSError as error:  # no permission, no space left: the system's words say it best
            fail(f"{error.filename or 'input or output'}: {error.strerror or error}", EverylabelError.exit_code)

    return run


def fail(message: str, code: int) -> None:
    typer.echo(f"everylabel: {printable(' '.join(message.split()))}", err=True)
    raise typer.Exit(code)


def reader_went_away() -> None:
    """`everylabel tag ... | head` is no error. Python flushes stdout once more at exit: give it somewhere to go."""
    with suppress(OSError, ValueError):  # stdout may be no file (a test's): then nothing is flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(PIPE_CLOSED)
