"""With no model installed: offer the recommended one, once, and install it with progress if the user agrees.

The installation runs in a process of its own (`velospec_lsp.install_process`): it computes for some seconds,
and loads the result into llama.cpp to test it, which the editor's server must not risk.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from velospec.core import paths
from velospec.core.errors import InstallError, VeloSpecError
from velospec_lsp.progress import ProgressBar
from velospec_lsp.status import Kind, StatusReporter

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from velospec.models.catalogue import CatalogueEntry

logger = logging.getLogger(__name__)

INSTALL = "Install"
NEVER = "Don't ask again"
_MESSAGE_STEP = 25  # percent between two messages where the client has no progress bars


class ModelOffer:
    """One offer per session; a refusal for good is kept in the data folder."""

    def __init__(
        self, server: LanguageServer, status: StatusReporter, on_installed: Callable[[], Awaitable[None]]
    ) -> None:
        self.enabled = True
        self._server = server
        self._status = status
        self._on_installed = on_installed
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    def make(self, error: VeloSpecError) -> None:
        """Offer the recommended model, unless that was done or refused; then the log says it."""
        if self._task is not None or not self.enabled or refusal_file().exists():
            logger.warning("%s", error)
            return
        self._task = asyncio.get_running_loop().create_task(self._ask())

    async def close(self) -> None:
        """Stop an installation that runs; nothing half-installed stays."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _ask(self) -> None:
        entry = await asyncio.to_thread(recommended_entry)
        actions = [types.MessageActionItem(INSTALL), types.MessageActionItem(NEVER)]
        try:
            answer = await self._server.window_show_message_request_async(
                types.ShowMessageRequestParams(types.MessageType.Info, _question(entry), actions)
            )
        except JsonRpcException:
            logger.info("the client shows no questions")
            return
        if answer is None:
            return
        if answer.title == NEVER:
            refusal_file().parent.mkdir(parents=True, exist_ok=True)
            refusal_file().write_text(
                "The offer to install a model was refused. Delete this file to get it again.\n"
            )
        elif answer.title == INSTALL:
            await self._install(entry)

    async def _install(self, entry: CatalogueEntry) -> None:
        bar = ProgressBar(self._server, f"Installing {entry.name}", self._terminate)
        self._status.set(Kind.INSTALLING, f"Installing {entry.name}")
        await bar.begin()
        if not bar.shown:
            self._status.show(f"Installing {entry.name}.")
        try:
            await self._run(entry, bar)
        except VeloSpecError as error:
            bar.end("failed")
            self._status.trouble(error)
            return
        finally:
            bar.end()
        self._status.show(f"{entry.name} is installed.")
        await self._on_installed()

    async def _run(self, entry: CatalogueEntry, bar: ProgressBar) -> None:
        """Run the installing process to its end. Raises VeloSpecError."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "velospec_lsp.install_process", entry.name),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        self._process = process
        failure: VeloSpecError | None = None
        said = 0
        try:
            assert process.stdout is not None  # noqa: S101  # it was asked for above
            async for line in process.stdout:
                news = _parse(line)
                if "cause" in news:
                    failure = InstallError(news["cause"], news.get("remedy", ""))
                elif news:
                    said = self._report(entry, bar, news, said)
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
            self._process = None
        if failure is None and code != 0:
            failure = InstallError(
                f"The installation of {entry.name} ended early.", f"Run: velospec model install {entry.name}"
            )
        if failure is not None:
            raise failure

    def _report(self, entry: CatalogueEntry, bar: ProgressBar, news: dict[str, Any], said: int) -> int:
        """Show how far it is; returns the percentage that was last told by a message."""
        label, done, total = str(news.get("label", "")), news.get("done", 0), news.get("total", 0)
        fraction = done / total if total else None
        bar.report(fraction, label)
        self._status.set(Kind.INSTALLING, f"{entry.name}: {label}", fraction)
        percent = int(100 * fraction) // _MESSAGE_STEP * _MESSAGE_STEP if fraction is not None else 0
        if not bar.shown and percent > said:
            self._status.show(f"{entry.name}: {label}, {percent} %.")
            return percent
        return said if percent >= said else 0

    def _terminate(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()


def recommended_entry() -> CatalogueEntry:
    """The model to offer on this machine. Measures the memory's speed for a moment."""
    from velospec.models.memory import recommend  # noqa: PLC0415  # needed in this rare case only

    return recommend()


def refusal_file() -> Path:
    """Exists once the user has refused the offer for good."""
    return paths.data_folder() / "no-model-offer"


def _question(entry: CatalogueEntry) -> str:
    size = getattr(entry.source, "download_mb", 0)
    download = f"{size} MB to download, " if size else ""
    return (
        f"VeloSpec has no model to complete with. Install {entry.title} "
        f"({download}{entry.memory_mb} MB of memory, licence {entry.licence})? It runs on this machine only. "
        "Others: velospec model install"
    )


def _parse(line: bytes) -> dict[str, Any]:
    try:
        news = json.loads(line)
    except ValueError:
        return {}
    return news if isinstance(news, dict) else {}
