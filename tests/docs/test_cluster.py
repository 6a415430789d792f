"""docs/cluster.md is true as far as it can be told here: its options are there, its templates are what Ray reads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from everylabel.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


def template(name: str) -> Any:
    return yaml.safe_load((ROOT / "deploy" / name).read_text(encoding="utf-8"))


def test_options_of_the_page_and_of_the_job_are_there() -> None:
    commands: Any = get_command(app)
    lines = [
        *re.findall(r"everylabel (?:tag|fit|compare|serve) [^`\n]+", PAGE),
        template("kuberay.yaml")["spec"]["entrypoint"],
    ]
    assert len(lines) > 6
    for line in lines:
        name = line.removeprefix("everylabel ").split()[0]
        known = {option for one in commands.commands[name].params for option in one.opts}
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)) <= known, line


def test_versions_and_names_of_the_templates() -> None:
    job = template("kuberay.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    spec = job["spec"]["rayClusterSpec"]
    assert f"ray=={spec['rayVersion']}" in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("name", ["ray-cluster.yaml", "ray-aws.yaml"])
def test_what_ray_up_reads_is_as_its_schema_says(name: str) -> None:
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    import jsonschema

    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(template(name), schema)
