"""What a figure holds for: the machine, what else it was doing, the model, the versions of what ran."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from velospec import Engine, __version__
from velospec.integrations import rivals

_BUSY = 0.05  # of the machine's processor time: other work that takes more disturbs the figures
_CONTEXT = 256  # at which T(k) is told, in tokens
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16)


class Watch:
    """Tells how much processor time others took since it was made."""

    def __init__(self) -> None:
        self.load_before = load()
        self._started = time.monotonic()
        self._busy, self._own = _busy_seconds(), _own_seconds()

    def others(self) -> float:
        """The share of all processors, 0 to 1, that other programs or other guests of the host had."""
        elapsed = (time.monotonic() - self._started) * (psutil.cpu_count() or 1)
        taken = _busy_seconds() - self._busy - (_own_seconds() - self._own)
        return min(1.0, max(0.0, taken / elapsed)) if elapsed > 0 else 0.0


def describe_machine(engine: Engine, watch: Watch) -> dict[str, Any]:
    """JSON-ready: processor, threads, load, and the cost of a batch as the engine measured it."""
    others = watch.others()
    told = engine.describe()
    profile = engine.profile
    warnings = [] if profile and profile.cost.measured else ["The cost of batches could not be measured."]
    if others > _BUSY:
        warnings.append(f"Other work took {others:.0%} of the machine: the figures are disturbed.")
    machine: dict[str, Any] = {
        **describe_host(told["threads"], watch.load_before),
        "other_work": round(others, 3),
        "warnings": warnings,
    }
    if profile is not None:
        seconds = {str(rows): profile.cost.seconds(rows, _CONTEXT) for rows in _ROWS}
        machine["batch_seconds"] = {rows: round(value, 6) for rows, value in seconds.items()}
        machine["batch_cost"] = {rows: round(value / seconds["1"], 3) for rows, value in seconds.items()}
        machine["build"] = profile.conditions.build
        machine["read_tokens_per_second"] = round(profile.prefill_tokens_per_second, 1)
    return machine


def describe_host(threads: int, load_before: list[float]) -> dict[str, Any]:
    """JSON-ready: what can be told without an engine."""
    return {
        "processor": _processor(),
        "logical_processors": psutil.cpu_count(),
        "threads": threads,
        "memory_bytes": psutil.virtual_memory().total,
        "system": platform.platform(),
        "load_before": load_before,
        "load_after": load(),
    }


def describe_model(engine: Engine) -> dict[str, Any]:
    """JSON-ready: which file it was, and under which numeric setting it ran."""
    model, numerics = engine.model, engine.numerics
    return {
        "name": model.name,
        "file": model.path.name,
        "sha256": model.sha256,
        "size": model.size,
        "source": model.source,
        "kv_type": numerics.kv_type,
        "flash_attention": numerics.flash_attention,
        "min_rows": numerics.min_rows,
        "exact": numerics.exact,
    }


def describe_versions(libraries: tuple[str, ...] = ()) -> dict[str, str]:
    """JSON-ready; `libraries` are the distributions that the prompts came from."""
    return {
        "velospec": __version__,
        "llama-cpp-python": rivals.version(),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }


def load() -> list[float]:
    """How many processes wanted a processor, over 1, 5 and 15 minutes, where the system tells it."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []


def _busy_seconds() -> float:
    """Processor seconds that were not idle, on all processors; what the host gave to others among them."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _own_seconds() -> float:
    times = psutil.Process().cpu_times()
    return float(times.user + times.system)


def _processor() -> str:
    """The processor's name where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
