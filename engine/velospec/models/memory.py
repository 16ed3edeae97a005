"""How much memory a model may take on this machine, and which model of the catalogue suits it.

Judges by what is free now, within the limits that a container sets, and by how fast memory can be read:
decoding one token reads the whole model once, so that speed bounds the tokens per second. Graphics memory
is not looked at; whoever has a GPU build of llama.cpp can take a larger model than recommended here.
"""

from __future__ import annotations

import time
from pathlib import Path

import psutil

from velospec.backends.cpu import usable_cores
from velospec.models.catalogue import CatalogueEntry, catalogue

BUDGET_SECONDS = 0.6
"""The longest a completion should take while typing: later, the user has typed on."""
LINE_TOKENS = 20
_SHARE = 0.5  # of the memory available; the editor and the language servers need theirs
_PROBE_BYTES = 64 << 20
_BYTES_PER_WEIGHT = 34 / 32  # Q8_0: 32 weights in 34 bytes
# Decoding SmolLM2-135M in Q8_0 on two cores read 9.4 GB/s where one core alone summed memory at 32 GB/s, so a
# core reaches 0.15 of that; from eight cores on memory itself is taken to be the limit.
_REACHED_PER_CORE = 0.15
_MOST_CORES = 8


def available_memory() -> int:
    """Bytes that a new process can have: what is free on the machine, or in its container if less."""
    available = int(psutil.virtual_memory().available)
    return min(available, *_container_limits(available))


def _container_limits(default: int) -> tuple[int, ...]:
    """What the control group leaves, by versions 2 and 1; `default` where there is no limit."""
    folders = (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    )
    left = []
    for limit_file, used_file in folders:
        try:
            limit, used = Path(limit_file).read_text("ascii"), Path(used_file).read_text("ascii")
            left.append(max(0, int(limit) - int(used)))
        except (OSError, ValueError):  # no such control group, or "max"
            left.append(default)
    return tuple(left)


def read_speed() -> float:
    """Bytes per second at which one core reads memory; takes about 50 ms."""
    import numpy as np  # noqa: PLC0415 - 0.1 s that listing models should not cost

    block = np.ones(_PROBE_BYTES // 8)
    block.sum()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        block.sum()
        times.append(time.perf_counter() - start)
    return block.nbytes / min(times)


def recommend(
    available: int | None = None, speed: float | None = None, role: str = "completion"
) -> CatalogueEntry:
    """The best model of `role` that fits the memory and should decode a line within the budget.

    `available` in bytes and `speed` in bytes per second are measured where they are not given. The smallest
    model is recommended where none fits.
    """
    available = available_memory() if available is None else available
    speed = read_speed() if speed is None else speed
    entries = [entry for entry in catalogue().values() if role in entry.roles]
    fitting = [
        entry for entry in entries if fits(entry, available) and entry_seconds(entry, speed) <= BUDGET_SECONDS
    ]
    return max(fitting, key=lambda entry: entry.quality) if fitting else entries[0]


def fits(entry: CatalogueEntry, available: int) -> bool:
    """Whether `entry` leaves half of the available memory to others."""
    return entry.memory_mb * 1_000_000 <= available * _SHARE


def entry_seconds(entry: CatalogueEntry, speed: float) -> float:
    """About how long one line takes without speculation, each token reading all weights."""
    reached = speed * _REACHED_PER_CORE * min(usable_cores(), _MOST_CORES)
    return LINE_TOKENS * entry.parameters * _BYTES_PER_WEIGHT / reached
