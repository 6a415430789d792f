"""The two checkouts of `benchmarks.run.house`: each step of theirs is a process of its own, with its code in front."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.record import WORK

WORKER = Path(__file__).parent / "house_worker.py"
TEXT = "Commission Regulation on import licences for beef and veal, and on measures for the protection of fish stocks"


@dataclass(frozen=True)
class Side:
    name: str  # before, after
    checkout: Path
    model: Path | None = None

    @property
    def commit(self) -> str:
        """Of the checkout, and whether its code is another by now."""
        changed = self._git("status", "--porcelain", "--", "src")
        return self._git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")

    @property
    def work(self) -> Path:
        return WORK / "house" / f"{self.name}-{self.commit}"

    def begin(self, *, again: bool) -> None:
        """What was measured of other code is taken away: of a checkout that was changed, everything."""
        if again or self.commit.endswith("+"):
            shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True, exist_ok=True)

    def ask(self, step: str, spec: dict[str, Any]) -> dict[str, Any]:
        with self.asked(step, spec) as answer:
            return answer

    @contextmanager
    def asked(self, step: str, spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The worker's answer; it lives as long as the block."""
        worker = [sys.executable, "-P", str(WORKER), step, json.dumps(spec)]
        with subprocess.Popen(worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._env()) as one:
            assert one.stdout is not None
            line = next((line for line in one.stdout if line.startswith("{")), None)
            if line is None:
                raise SystemExit(f"{self.name}: {step} ended without an answer; its error is above")
            answer = json.loads(line)
            if not Path(answer.pop("everylabel")).is_relative_to(self.checkout.resolve()):
                raise SystemExit(f"{self.name}: the code that ran is not that of {self.checkout}")
            yield answer

    def tag_seconds(self) -> float:
        """Wall time of `everylabel tag MODEL`, a fresh process with one text on its standard input."""
        command = [sys.executable, "-P", "-m", "everylabel.cli.main", "tag", str(self.model), "--quiet"]
        begun = time.perf_counter()
        subprocess.run(command, input=TEXT, text=True, check=True, stdout=subprocess.DEVNULL, env=self._env())
        return round(time.perf_counter() - begun, 2)

    def second_process_mb(self) -> float:
        """Memory of its own that a second process has, while a first one with the same model is alive."""
        spec = {"model": str(self.model), "text": TEXT}
        with self.asked("memory", spec):
            return float(self.ask("memory", spec)["private_mb"])

    def _env(self) -> dict[str, str]:
        """Its code first, and a cache of its own, without vectors that an earlier process has left."""
        cache = WORK / "house" / f"cache-{self.name}"
        shutil.rmtree(cache / "vectors", ignore_errors=True)
        own = {"PYTHONPATH": str(self.checkout.resolve() / "src"), "EVERYLABEL_CACHE": str(cache)}
        return os.environ | own

    def _git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.checkout), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
