"""The server's own end: it leaves when the editor that started it is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import psutil

logger = logging.getLogger(__name__)

PERIOD = 2.0  # seconds between two looks


async def watch_parent(process_id: int, on_death: Callable[[], None], period: float = PERIOD) -> None:
    """Call `on_death` once the process `process_id` has ended.

    Gives up at once where there is no such process: an editor in a container names a number of its own.
    """
    try:
        parent = psutil.Process(process_id)
    except (psutil.Error, ValueError):  # a number that is no process anywhere, such as a negative one
        logger.info("the editor's process is not visible from here, so it is not watched")
        return
    while parent.is_running() and _alive(parent):  # noqa: ASYNC110  # no event tells it on every platform
        await asyncio.sleep(period)
    logger.warning("the editor's process has ended")
    on_death()


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
