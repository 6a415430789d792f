"""What was built, as others get it: installed in fresh environments, away from this folder, where its demo must run.

python -m benchmarks.run.install                 # wheel and sdist of dist/, without extras: the demo goes by words
python -m benchmarks.run.install --extras        # each extra, too
python -m benchmarks.run.install --extra hub     # this one alone, and no other trial

`make dist` and `make dist-all` build and call this. Needs what pip needs: an index or a folder of wheels. Versions are
those of constraints.txt.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.run.command import plain_parser

ROOT = Path(__file__).parents[2]
WITH_DEMO = ("neural", "all")  # the others change nothing in it
ADDS = "pip install 'everylabel[neural]'"
# What an extra is for, done with nothing but it.
TRIALS = {
    "skos": "import rdflib",
    "parquet": "import pyarrow.parquet",
    "files": "import docx, odf, pypdf; from everylabel.data.formats import epub, odt, pdf",
    "catalogue": (
        "import bibtexparser, pymarc, rispy; from pathlib import Path; from everylabel.data import load_documents; "
        "r = pymarc.Record(); r.add_field(pymarc.Field(tag='245', indicators=pymarc.Indicators('1', '0'), "
        "subfields=[pymarc.Subfield('a', 'Lamps')])); Path('a.mrc').write_bytes(r.as_marc()); "
        "assert load_documents('a.mrc').titles == ['Lamps']"
    ),
    "plots": "import everylabel.report.plots",
    "server": "import everylabel.web.app",
    "postgres": "import psycopg",
    "mcp": "import everylabel.mcp",
    "hub": "import huggingface_hub, everylabel.workflow.hub",
}


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--extras", action="store_true", help="try each extra, too")
    parser.add_argument("--extra", action="append", default=[], metavar="NAME", help="try this extra alone")
    arguments = parser.parse_args()
    wheel, sdist = (only(ROOT / "dist", pattern) for pattern in ("*.whl", "*.tar.gz"))
    with tempfile.TemporaryDirectory(prefix="everylabel-install-") as folder:
        if arguments.extra:
            try_extras(Path(folder), wheel, arguments.extra)
            return
        base = Environment(Path(folder) / "base")
        base.install(str(wheel))
        printed = base.run("demo")
        if printed.count(ADDS) != 1:
            raise SystemExit(f"the demo without extras must say once what one adds ({ADDS}), got:\n{printed}")
        from_wheel = base.files()
        base.install("--no-deps", "--force-reinstall", str(sdist))
        if base.files() != from_wheel:
            raise SystemExit("the sdist installs other files than the wheel")
        base.run("sample", "data")
        print("wheel and sdist: installed without extras, the demo ran by words alone", flush=True)
        if arguments.extras:
            names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            try_extras(Path(folder), wheel, [name for name in names if name != "dev"])


def try_extras(folder: Path, wheel: Path, names: list[str]) -> None:
    for extra in names:
        own = Environment(folder / extra)
        own.install(f"everylabel[{extra}] @ {wheel.as_uri()}")
        if extra in WITH_DEMO:
            own.run("demo", "--quiet")
        else:
            own.run("sample", "data")
            own.run("inspect", "data")
        if extra in TRIALS:
            called([str(own.path / "bin" / "python"), "-W", "error::ImportWarning", "-c", TRIALS[extra]], own.work)
        print(f"extra {extra}: installed, and it ran", flush=True)


class Environment:
    """A fresh one in a folder, with a folder beside it to work in."""

    def __init__(self, path: Path) -> None:
        venv.create(path, with_pip=False)
        self.path = path
        self.work = path.with_name(f"{path.name}-work")
        self.work.mkdir()

    def install(self, *what: str) -> None:
        outer = sys.executable if find_spec("pip") else os.environ.get("PYTHON", "python3")
        pip = [outer, "-m", "pip", "--python", str(self.path / "bin" / "python"), "install", "-qq", "--no-compile"]
        called([*pip, "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"), *what], self.work)

    def run(self, *arguments: str) -> str:
        """What a command prints, errors included."""
        return called([str(self.path / "bin" / "everylabel"), *arguments], self.work)

    @property
    def site(self) -> Path:
        return only(self.path / "lib", "python3*/site-packages")

    def files(self) -> dict[str, str]:
        """Our own files by their content."""
        ours = [one for one in (self.site / "everylabel").rglob("*") if one.is_file()]
        kept = [one for one in ours if "__pycache__" not in one.parts]  # the demo compiles some
        return {str(one.relative_to(self.site)): hashlib.sha256(one.read_bytes()).hexdigest() for one in kept}


def called(command: list[str], work: Path) -> str:
    """Of the user's settings only where pip finds packages; and nothing of ours on the path."""
    own = {"EVERYLABEL_CACHE": str(work / "cache"), "PYTHONPATH": ""}
    to_one: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, cwd=work, env=os.environ | own, check=False, **to_one
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"expected one {pattern} in {folder}, got {len(found)}; run: make dist")
    return found[0]


if __name__ == "__main__":
    main()
