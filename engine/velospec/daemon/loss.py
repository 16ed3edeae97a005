"""Finds out, for a client whose connection ended, whether the daemon ended too, and how.

The supervisor may be slow to write that down: it waits for the kernel to free a large model, on a machine
that has just run out of memory. Knows nothing of connections or restarts.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from velospec.daemon.exit_record import ExitRecord, read_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from velospec.daemon.endpoint import Endpoint

_ALIVE_SECONDS = 1.0  # how long a process that ends may look alive after its connections did
_RECORD_SECONDS = 15.0  # how long its supervisor may then take
_POLL = 0.02


async def how_it_ended(endpoints: Sequence[Endpoint], pid: int) -> ExitRecord | None:
    """The record of the host `pid` at one of `endpoints`; None if it lives on or nobody is left to tell."""
    began = time.monotonic()
    while True:
        told = any(endpoint.locked() for endpoint in endpoints)  # before the look at what is written
        for endpoint in endpoints:
            record = read_record(endpoint.exit_file, pid)
            if record:
                return record
        patience = _ALIVE_SECONDS if lives(pid) else _RECORD_SECONDS if told else 0.0
        if time.monotonic() - began >= patience:
            return None
        await asyncio.sleep(_POLL)


def lives(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent to notice does not."""
    import psutil  # noqa: PLC0415 - a client is light; only the loss of a daemon needs it

    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # another user's process has the number by now
        return False
