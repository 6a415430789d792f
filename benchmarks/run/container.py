"""The Dockerfile's steps without Docker: what it copies and installs, and the server that it starts.

python -m benchmarks.run.container

For a machine without an engine, by root. COPY, the pip line, ENV, USER, WORKDIR, CMD and HEALTHCHECK are read from the
Dockerfile and carried out in a folder of their own (its paths / are below it), as the same user number, which can
write to state alone; the server must become healthy, tag a text, and stop by SIGTERM. Not tried by it: the base images
(this machine's Python is taken), apt-get and useradd, a read-only root, and what an engine does itself.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.run.command import plain_parser
from everylabel.data import load_dataset, sample
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.web.keys import add_key

ROOT = Path(__file__).parents[2]
READY = 600.0  # seconds: kernels are compiled at the first start
PORT = "18431"


def main() -> None:
    plain_parser(__doc__).parse_args()
    if os.geteuid() != 0:
        raise SystemExit("the server is started as the user that the Dockerfile names: run this as root")
    steps = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="everylabel-image-") as name:
        image = Path(name)
        image.chmod(0o755)
        built(image, steps)
        print("COPY and pip: done", flush=True)
        served(image, steps)
    print("the server became healthy, tagged a text and stopped; not tried: base images, apt-get, a read-only root")


def instructions(text: str) -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    parted = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in parted]


def only(steps: list[tuple[str, str]], wanted: str) -> str:
    (found,) = (rest for word, rest in steps if word == wanted)
    return found


def built(image: Path, steps: list[tuple[str, str]]) -> None:
    """As the first stage does, below the folder."""
    work = image / next(rest for word, rest in steps if word == "WORKDIR").lstrip("/")
    work.mkdir()
    for rest in (rest for word, rest in steps if word == "COPY" and not rest.startswith("--from")):
        *sources, target = rest.split()
        for source in sources:
            place = ROOT / source
            if place.is_dir():
                shutil.copytree(place, work / target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(place, work / target)
    (installing,) = (rest for word, rest in steps if word == "RUN" and "pip install" in rest)
    environment = image / "opt" / "everylabel"
    for command in installing.split("&&"):
        words = [word.replace("/opt/everylabel", str(environment)) for word in shlex.split(command)]
        if words[:3] == ["python", "-m", "venv"]:
            words = [sys.executable, *words[1:]]
        subprocess.run(words, cwd=work, check=True, env=os.environ | {"PYTHONPATH": ""})


def served(image: Path, steps: list[tuple[str, str]]) -> None:
    user, config, state = only(steps, "USER"), image / "config", image / "state"
    for folder in (config, state, image / "models"):
        folder.mkdir()
    os.chown(state, int(user), int(user))
    TfidfMatch().fit(load_dataset(sample(image / "data"), "train")).save(image / "models" / "sample")
    key = add_key(config / "keys.json", "catalogue", ["read"])
    os.chown(config / "keys.json", int(user), int(user))
    (config / "projects.toml").write_text(f'[projects.sample]\nmodel = "{image}/models/sample"\n')
    values = dict(re.findall(r"(\w+)=(\S+)", only(steps, "ENV")))
    env = {one: below(value.replace("$PATH", os.environ["PATH"]), image) for one, value in values.items()}
    command = [*json.loads(only(steps, "ENTRYPOINT")), *json.loads(only(steps, "CMD"))]
    command = [PORT if word == "8000" else below(word, image) for word in command]
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    health = re.sub(r".*CMD ", "", only(steps, "HEALTHCHECK")).replace(":8000", f":{PORT}")
    program = image / "opt" / "everylabel" / "bin" / command[0]
    process = subprocess.Popen([*as_user, str(program), *command[1:]], cwd=state, env=env)
    try:
        until = time.monotonic() + READY
        check = [str(image / "opt" / "everylabel" / "bin" / "python"), *json.loads(health)[1:]]
        while subprocess.run(check, env=env, stderr=subprocess.DEVNULL, check=False).returncode:
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the server did not become healthy; exit code {process.poll()}")
            time.sleep(1)
        body = json.dumps({"text": "A lifeboat and a lighthouse", "k": 2}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        asked = Request(f"http://127.0.0.1:{PORT}/api/models/sample/tag", body, headers)
        with urlopen(asked) as answer:
            assert len(json.load(answer)["documents"][0]["labels"]) == 2
    finally:
        process.terminate()
        code = process.wait()
    if code not in (0, -15):
        raise SystemExit(f"the server ended with {code}")


def below(value: str, image: Path) -> str:
    """The image's own paths, below its folder."""
    return re.sub(r"(?<![\w/.])/(opt/everylabel|state|config)\b", lambda found: f"{image}/{found[1]}", value)


if __name__ == "__main__":
    main()
