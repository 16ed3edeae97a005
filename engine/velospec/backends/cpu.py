"""How many cores this process may really use: affinity, cgroup quota and hyper-threads counted."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

_TOPOLOGY = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup")


def usable_cores(topology: Path = _TOPOLOGY, cgroup: Path = _CGROUP) -> int:
    """Physical cores this process may run on, at least 1.

    Two hyper-threads of one core count once: they share the vector units that decoding keeps busy.
    """
    allowed = _affinity()
    cores = _physical(allowed, topology) or min(psutil.cpu_count(logical=False) or 1, len(allowed))
    quota = _quota(cgroup)
    return max(1, min(cores, quota) if quota else cores)


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _physical(allowed: set[int], topology: Path) -> int:
    """Distinct physical cores among the logical CPUs `allowed`; 0 where the kernel does not say."""
    try:
        return len({_core(topology / f"cpu{cpu}" / "topology") for cpu in allowed})
    except OSError:
        return 0


def _core(folder: Path) -> tuple[str, str]:
    return (folder / "physical_package_id").read_text(), (folder / "core_id").read_text()


def _quota(cgroup: Path) -> int:
    """Whole CPUs the cgroup may use, rounded down but at least 1; 0 where there is no limit."""
    try:
        limit, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return 0
    if limit in ("max", "-1"):
        return 0
    return max(1, int(limit) // int(period))
