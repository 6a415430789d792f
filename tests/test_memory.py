"""What is free here, by the kernel and by limits; sizes in words."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everylabel.errors import ConfigError
from everylabel.memory import bytes_of, free_bytes, spoken_bytes

GB = 1 << 30


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


AVAILABLE = {"proc/meminfo": f"MemTotal: 99 kB\nMemAvailable:   {8 * GB // 1024} kB\n"}


def test_what_the_kernel_could_give(tmp_path: Path) -> None:
    assert free_bytes(system(tmp_path, AVAILABLE)) == 8 * GB


def test_nobody_knows(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) == math.inf


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(f"{4 * GB}", 4 * GB - 3 * GB + GB), ("max", 8 * GB), (f"{2 * GB}", 0.0), (f"{90 * GB}", 8 * GB)],
)
def test_the_limit_of_a_container(tmp_path: Path, limit: str, expected: float) -> None:
    """Pages of files that can be read again are free, though they count as used."""
    group = {"memory.max": limit, "memory.current": f"{3 * GB}", "memory.stat": f"anon 1\ninactive_file {GB}\n"}
    files = {f"sys/fs/cgroup/{name}": text for name, text in group.items()}
    assert free_bytes(system(tmp_path, AVAILABLE | {"proc/self/cgroup": "0::/\n"} | files)) == expected


def test_the_limit_of_a_group_further_up(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/work/one\n",
        "sys/fs/cgroup/work/memory.max": f"{5 * GB}",
        "sys/fs/cgroup/work/memory.current": f"{2 * GB}",
        "sys/fs/cgroup/work/one/memory.max": "max",
    }
    assert free_bytes(system(tmp_path, AVAILABLE | files)) == 3 * GB


def test_limits_of_the_first_version(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/box\n0::/\nnonsense",
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{6 * GB}",
        "sys/fs/cgroup/memory/box/memory.usage_in_bytes": f"{2 * GB}",
        "sys/fs/cgroup/memory/box/memory.stat": f"total_inactive_file {GB}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{20 * GB}",
    }
    assert free_bytes(system(tmp_path, AVAILABLE | files)) == 5 * GB


def test_here_something_is_free() -> None:
    assert free_bytes() > 1 << 20


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [("8G", 8 * GB), ("8 GB", 8 * GB), ("1.5g", 1.5 * GB), ("512M", GB / 2), (" 2TiB ", 2048 * GB), ("", None)],
)
def test_sizes(size: str, n_bytes: float | None) -> None:
    assert bytes_of(size) == n_bytes


@pytest.mark.parametrize("size", ["8", "G", "0G", "-1G", "1,5G", "8 B", "8G 1M", "inf", "1e3M", "much"])
def test_no_sizes(size: str) -> None:
    with pytest.raises(ConfigError, match=r"memory must be a size such as 8G, 1\.5G or 512M; got"):
        bytes_of(size)


@given(st.floats(1e6, 1e14))
def test_what_is_said_is_near_what_it_is(n_bytes: float) -> None:
    said = spoken_bytes(n_bytes)
    assert bytes_of(said.replace(",", "")) == pytest.approx(n_bytes, rel=0.06, abs=0.6 * (1 << 20))


def test_said_in_few_digits() -> None:
    assert [spoken_bytes(n) for n in (1, 60 << 20, 1.2 * GB, 12.4 * GB)] == ["1 MB", "60 MB", "1.2 GB", "12.4 GB"]
