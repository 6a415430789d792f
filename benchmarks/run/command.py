"""How a measurement is started: its arguments, the folder of the data, and a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.record import WORK

ROOT = Path(__file__).parents[2]


def data_parser(description: str | None) -> argparse.ArgumentParser:
    """With --data, which nearly all have."""
    made = plain_parser(description)
    made.add_argument("--data", help="folder with the data sets (or EVERYLABEL_DATA)")
    return made


def chosen_conditions(description: str | None, conditions: Iterable[str]) -> tuple[Path, list[str]]:
    """The folder of the data, and which conditions are asked for by --only; what is measured has a cache of its own."""
    parser = data_parser(description)
    parser.add_argument("--only", nargs="*", default=list(conditions))
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    use_own_cache()
    return folder, arguments.only


def plain_parser(description: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def data_folder(given: str | None) -> Path:
    """Where the benchmark data is: --data, or EVERYLABEL_DATA."""
    folder = given or os.environ.get("EVERYLABEL_DATA", "")
    if not folder or not Path(folder).is_dir():
        raise SystemExit(
            "benchmarks need data in native layout: pass --data DIR (or set EVERYLABEL_DATA) where DIR has eurlex57k/, "
            f"wordnet-reverse/, ...; got {folder or 'nothing'!r}"
        )
    return Path(folder)


def use_own_cache(*, forget: bool = False) -> None:
    """Not the user's. `forget`: without the vectors of frozen transformers, whose computation is then measured, too."""
    os.environ["EVERYLABEL_CACHE"] = str(WORK / "cache")
    if forget:
        shutil.rmtree(WORK / "cache" / "vectors", ignore_errors=True)


def environment(name: str, packages: list[str]) -> Path:
    """The python of a peer's environment below benchmarks/work, which is made when it is not there."""
    folder = WORK / f"venv-{name}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / "ready").touch()
    return python


def start(module: str, *arguments: object) -> None:
    """`python -m benchmarks.MODULE ARGUMENTS` in a process of its own, whose peak memory is then its own."""
    subprocess.run(_command(module, arguments), check=True, cwd=ROOT)  # a worker of a cluster is elsewhere


def answer(module: str, *arguments: object) -> dict[str, Any]:
    """The same, of a module that prints its result: the last line, JSON."""
    done = subprocess.run(_command(module, arguments), check=True, stdout=subprocess.PIPE, text=True)
    values: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return values


def _command(module: str, arguments: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
