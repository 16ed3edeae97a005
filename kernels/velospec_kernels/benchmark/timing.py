"""Device time by graph replay, and the bandwidth that a copy reaches."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from velospec_kernels import _torch

REPLAYS, WARM_UP = 25, 5


def replayed(call: Callable[..., object], inputs: Sequence[tuple[Any, ...]]) -> float:
    """Microseconds of one call of `call`, in a graph that calls it once for each of `inputs`."""
    torch = _torch.torch()
    for arguments in inputs[:3]:  # compile, tune, load
        call(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for arguments in inputs:
            call(*arguments)
    return statistics.median(_times(graph.replay)) * 1e3 / len(inputs)


def copy_bandwidth() -> float:
    """Bytes read and written per second by a device-to-device copy of 2 GiB."""
    torch = _torch.torch()
    source = torch.randint(0, 255, (2**31,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    milliseconds = statistics.median(_times(lambda: target.copy_(source)))
    return float(2 * source.numel() / milliseconds * 1e3)


def _times(work: Callable[[], object]) -> list[float]:
    """Milliseconds of each repeat of `work`, by events of the device, without the first ones."""
    torch = _torch.torch()
    times = []
    for _ in range(WARM_UP + REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return times[WARM_UP:]
