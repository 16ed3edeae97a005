"""The process that holds the models: puts store, engines and server together, and talks to the supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import json
import logging
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from velospec.core.errors import ModelLoadError
from velospec.core.paths import workspaces_folder
from velospec.daemon.endpoint import Endpoint
from velospec.daemon.exit_record import rebuild_commands
from velospec.daemon.server import DaemonServer
from velospec.learning.workspace.library import Workspaces
from velospec.models.pairs import draft_for
from velospec.models.store import ModelStore

if TYPE_CHECKING:
    from velospec.daemon.options import DaemonOptions
    from velospec.daemon.pool import Models
    from velospec.daemon.served_engine import Fraction, OpenEngine, ServedEngine
    from velospec.daemon.server import Report
    from velospec.models.store import InstalledModel

log = logging.getLogger(__name__)

_JOIN_SECONDS = 5.0


def host_models(
    options: DaemonOptions, models: Models, open_engine: OpenEngine, workspaces: Workspaces | None = None
) -> NoReturn:
    """Serve until told to leave, then end the process. `workspaces` are those that the engines draft from.

    Standard output belongs to the supervisor's lines alone; whatever else is printed, by native code too,
    goes to standard error and so to the log.
    """
    faulthandler.enable()
    _offer_to_oom_killer()
    report = _take_stdout()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    server = asyncio.run(_serve(options, models, open_engine, report, workspaces or Workspaces()))
    if not server.join_workers(_JOIN_SECONDS):
        log.warning("a model is still at work; ended all the same")
    # Not by returning: a thread inside native code would keep the interpreter from ending.
    logging.shutdown()
    os._exit(0)


async def _serve(
    options: DaemonOptions, models: Models, open_engine: OpenEngine, report: Report, workspaces: Workspaces
) -> DaemonServer:
    endpoint = Endpoint.named(options.name, options.transport)
    server = DaemonServer(options, endpoint, models, open_engine, report, workspaces=workspaces)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.retire, "asked by a signal")
    orphaned = threading.Thread(target=_wait_for_end_of_input, args=(loop, server), daemon=True)
    orphaned.start()
    await server.run()
    return server


def _offer_to_oom_killer() -> None:
    """Where memory runs out, let Linux end this process and not the user's editor."""
    with contextlib.suppress(OSError):  # not Linux, or not allowed: then it is as it was
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def _take_stdout() -> Report:
    """Keep standard output for the supervisor, and let everybody else's output go to standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def report(**news: Any) -> None:
        with lock:
            try:
                stream.write(json.dumps(news) + "\n")
                stream.flush()
            except BrokenPipeError:
                log.warning("the supervisor is gone")

    return report


def _wait_for_end_of_input(loop: asyncio.AbstractEventLoop, server: DaemonServer) -> None:
    """Leave when the supervisor has ended, of which the end of standard input tells."""
    while os.read(0, 1024):
        pass
    try:
        loop.call_soon_threadsafe(server.retire, "its supervisor ended")
    except RuntimeError:
        return  # the loop has ended already


def host_installed_models(options: DaemonOptions) -> NoReturn:
    """Serve the models that are installed on this machine."""
    workspaces = Workspaces(workspaces_folder())
    open_engine = partial(open_installed, context=options.context, workspaces=workspaces)
    host_models(options, ModelStore(), open_engine, workspaces)


def open_installed(
    model: InstalledModel, progress: Fraction, *, context: int, workspaces: Workspaces | None = None
) -> ServedEngine:
    """The real engine for an installed model, with the user's draft model where that fits.

    `context` is in tokens, for each document; `workspaces` is what it drafts from.

    Raises VeloSpecError.
    """
    try:
        # Loaded with the first model, so that a broken build of llama-cpp-python is told as what it is.
        from velospec.drafting import Drafting  # noqa: PLC0415 - loads the native library
        from velospec.engine import Engine  # noqa: PLC0415 - as above
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelLoadError(f"llama-cpp-python cannot be used: {error}.", rebuild_commands()) from error
    store = ModelStore(model.folder.parent)
    drafting = Drafting(draft_model=draft_for(model, store))
    engine = Engine.open(
        store.check(model), context=context, drafting=drafting, workspaces=workspaces, progress=progress
    )
    # What lives as long as the model is nothing for the garbage collector to look at between steps.
    gc.collect()
    gc.freeze()
    return engine
