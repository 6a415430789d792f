"""What each extra weighs: the packages that it needs beside those of a plain installation, as they are installed here.

python -m benchmarks.run.extras

Sizes are those of the installed files that each package lists, without compiled Python. Nothing is installed for it, so
all extras must be there (`make setup`). The numbers of an extra are what it adds to a plain installation.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.record import write_result
from benchmarks.run.command import plain_parser

OWN = "everylabel"
LEFT_OUT = ("dev",)


def main() -> None:
    plain_parser(__doc__).parse_args()
    plain = needed(OWN, "")
    rows: list[dict[str, Any]] = [{"extra": "", "mb": megabytes(plain), "packages": len(plain)}]
    for extra in metadata.metadata(OWN).get_all("Provides-Extra") or []:
        if extra in LEFT_OUT:
            continue
        added = needed(OWN, extra) - plain
        rows.append({"extra": extra, "mb": megabytes(added), "packages": len(added)})
        if "torch" in added:
            rows[-1]["torch"] = metadata.version("torch")
        print(rows[-1], flush=True)
    write_result("install/extras", {"rows": rows}, "python -m benchmarks.run.extras")


def needed(name: str, extra: str) -> set[str]:
    """The package and all that it needs, on this system."""
    found: set[str] = set()
    waiting = [(canonicalize_name(name), extra)]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        found.add(name)
        for line in metadata.requires(name) or []:
            one = Requirement(line)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                for more in ("", *one.extras):
                    entry = (canonicalize_name(one.name), more)
                    if entry not in seen:
                        seen.add(entry)
                        waiting.append(entry)
    return found


def megabytes(names: set[str]) -> int:
    sizes = 0
    for name in names:
        for file in metadata.files(name) or []:
            path = Path(str(file.locate()))
            if file.suffix != ".pyc" and path.is_file():
                sizes += path.stat().st_size
    return round(sizes / 1e6)


if __name__ == "__main__":
    main()
