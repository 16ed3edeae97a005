"""Counting the cores a process may use, on made-up /sys trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from velospec.backends.cpu import usable_cores


@pytest.fixture(autouse=True)
def _eight_logical_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)


def topology(folder: Path, cores: list[tuple[int, int]]) -> Path:
    for cpu, (package, core) in enumerate(cores):
        place = folder / "sys" / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "physical_package_id").write_text(f"{package}\n")
        (place / "core_id").write_text(f"{core}\n")
    return folder / "sys"


def test_hyper_threads_count_once_and_packages_apart(tmp_path: Path) -> None:
    cores = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert usable_cores(topology(tmp_path, cores * 2), tmp_path) == 4


def test_affinity_limits_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 4, 5})
    assert usable_cores(topology(tmp_path, [(0, core % 4) for core in range(8)]), tmp_path) == 2


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 8), ("350000 100000", 3), ("50000 100000", 1), ("900000 100000", 8), ("nonsense", 8)],
)
def test_a_cgroup_quota_limits_the_cores(tmp_path: Path, quota: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert usable_cores(topology(tmp_path, [(0, core) for core in range(8)]), tmp_path) == cores


def test_the_older_cgroup_layout_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("200000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cores(topology(tmp_path, [(0, core) for core in range(8)]), tmp_path) == 2


def test_without_a_topology_there_is_still_a_core(tmp_path: Path) -> None:
    assert 1 <= usable_cores(tmp_path / "none", tmp_path) <= 8
