"""Annif with its omikuji backend, in an environment of its own, trained on the same documents and served as it says.

Its corpus is JSON lines (text, addresses of subjects), its vocabulary a TSV. It has no dev set: it gets those documents
for training as well. Served by gunicorn with uvicorn's worker, one worker a core, which loads the model before.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.record import WORK
from benchmarks.run.command import environment
from benchmarks.run.serving_corpus import Corpus
from benchmarks.run.serving_process import HOST, READY, ask
from everylabel.data import Dataset, LabelSet

PACKAGES = ["annif==1.4.3", "omikuji==0.5.2"]
ADDRESS = "http://label.example/"  # before a label's id: Annif knows subjects by addresses
PROJECT = "omikuji"
CONFIG = f"""[{PROJECT}]
name=omikuji
language=en
backend=omikuji
analyzer=snowball(english)
vocab=labels
limit=100
"""
SENTENCES = "llama-index-core==0.14.25"  # brings NLTK's punkt_tab, which Annif would fetch from elsewhere


class Annif:
    """Of a corpus: made ready by `train`, then `serving`."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus, self._folder = corpus, corpus.work / "annif"
        self._bin = environment("annif", PACKAGES).parent

    def train(self) -> dict[str, Any]:
        """What it took; once."""
        done = self._folder / "trained.json"
        if not done.exists():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            (self._folder / "projects.cfg").write_text(CONFIG, encoding="utf-8")
            fetch_sentences(self._folder / "nltk_data")
            write_vocabulary(self._folder / "labels.tsv", self._corpus.train.labels)
            write_corpus(self._folder / "train.jsonl.gz", self._corpus.train, self._corpus.dev)
            self._run("load-vocab", "labels", "labels.tsv", "--language", "en")
            begun = time.perf_counter()
            self._run("train", PROJECT, "train.jsonl.gz")
            done.write_text(json.dumps({"train_seconds": round(time.perf_counter() - begun, 1)}), encoding="utf-8")
        found: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
        return found | {"packages": PACKAGES, "config": CONFIG.splitlines()[1:]}

    @contextmanager
    def serving(self) -> Iterator[int]:
        """The port that it listens at."""
        with socket.socket() as free:
            free.bind((HOST, 0))
            port = free.getsockname()[1]
        options = ["--bind", f"{HOST}:{port}", "--timeout", "600", "--workers", str(os.cpu_count() or 1)]
        options += ["-k", "uvicorn.workers.UvicornWorker", "--log-level", "warning"]
        command = [str(self._bin / "gunicorn"), "annif:create_app()", *options]
        log = (self._folder / "log").open("a", encoding="utf-8")
        with log, subprocess.Popen(command, cwd=self._folder, env=self._env(), stdout=log, stderr=log) as process:
            try:
                _wait_for(port, process)
                yield port
            finally:
                process.terminate()

    def _run(self, *arguments: str) -> None:
        subprocess.run([str(self._bin / "annif"), *arguments], cwd=self._folder, env=self._env(), check=True)

    def _env(self) -> dict[str, str]:
        return annif_env(self._folder)


def annif_env(folder: Path) -> dict[str, str]:
    """For its commands in this folder."""
    about = {"ANNIF_PROJECTS": "projects.cfg", "ANNIF_DATADIR": "data"}
    about |= {"NLTK_DATA": str((folder / "nltk_data").absolute())}
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | about


def address_of(label_id: str) -> str:
    return ADDRESS + quote(label_id, safe="")


def write_vocabulary(file: Path, labels: LabelSet) -> None:
    lines = (f"<{address_of(label.id)}>\t{' '.join(label.name.split())}\n" for label in labels)
    file.write_text("".join(lines), encoding="utf-8")


def write_corpus(file: Path, *parts: Dataset) -> None:
    """Documents that have labels, as Annif reads them: title and text are one text."""
    with gzip.open(file, "wt", encoding="utf-8") as out:
        for part in parts:
            ids, pairs = part.labels.ids, part.required_pairs
            for row, text in enumerate(part.documents.full_texts):
                subjects = [{"uri": address_of(ids[label])} for label in pairs[row].indices]
                if subjects:
                    out.write(json.dumps({"text": text, "subjects": subjects}) + "\n")


def fetch_sentences(folder: Path) -> None:
    """From the package index, as nothing else can be counted on to be reached."""
    wheels = WORK / "serving" / "wheels"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", SENTENCES, "--dest", str(wheels)]
    subprocess.run(command, check=True)
    wheel = next(wheels.glob("llama_index_core-*.whl"))
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            _, found, path = name.partition("/nltk_cache/tokenizers/punkt_tab/")
            if found and path:
                file = folder / "tokenizers" / "punkt_tab" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(packed.read(name))


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY
    while time.monotonic() < until and process.poll() is None:
        try:
            if ask(port, "/v1/projects", seconds=30).status == 200:
                return
        except (OSError, HTTPException):
            time.sleep(0.2)
    raise SystemExit(f"Annif did not answer within {READY:g} s; its log is beside its data")
