"""`everylabel check`: a whole model is counted, a damaged one is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Run


def test_a_whole_model_is_counted(run: Run, model: Path) -> None:
    files = [file for file in model.rglob("*") if file.is_file() and file.name != "README.md"]
    size = sum(file.stat().st_size for file in files)
    result = run("check", model)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{model}: ok, {len(files)} files, {size / 1000:.1f} KB\n"
    assert json.loads(run("check", model, "--json").stdout) == {"ok": True, "files": len(files), "bytes": size}


def test_damage_is_named_with_its_exit_code(run: Run, model: Path, tmp_path: Path, data: Path) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    content = bytearray((copy / "arrays" / "small.npy").read_bytes())
    content[200] ^= 1
    (copy / "arrays" / "small.npy").write_bytes(content)
    result = run("check", copy)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "small.npy: is damaged (its checksum differs); restore it from a copy, or fit again" in result.stderr
    (copy / "arrays" / "small.npy").unlink()
    assert "is missing" in run("check", copy).stderr
    assert run("check", data).exit_code == 5
