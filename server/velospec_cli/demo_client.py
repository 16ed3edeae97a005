"""An editor without a screen: starts the installed language server, types, asks for inline completions.

It speaks to the server as any editor does, over stdin and stdout of a process of its own; how an answer
comes about is not known here.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from velospec import __version__
from velospec.core.errors import VeloSpecError

_ANSWER_SECONDS = 180.0  # the first answer may wait for the model


@dataclass(frozen=True, slots=True)
class Answer:
    """One item, and the time from sending the request to having it, in seconds. `text` is '' for no item."""

    text: str
    start: int  # where the text goes on the cursor's line, in characters
    end: int
    seconds: float


def server_command() -> list[str]:
    """The language server that belongs to this installation. Raises VeloSpecError where there is none."""
    beside = Path(sys.executable).with_name("velospec-lsp")
    found = str(beside) if beside.exists() else shutil.which("velospec-lsp")
    if found is None:
        raise VeloSpecError("The command velospec-lsp is not there.", "Install VeloSpec again.")
    return [found, "--stdio"]


class EditorSession:
    """An open editor on one folder. Use it as an asynchronous context manager."""

    def __init__(self, folder: Path, model: str, on_status: Callable[[str, float | None], None]) -> None:
        """`on_status` gets what the server says it is busy with, '' when it is ready, and a fraction."""
        self._folder = folder
        self._model = model
        self._client = LanguageClient("velospec-demo", __version__)
        self._texts: dict[str, str] = {}
        self._errors: deque[str] = deque(maxlen=12)
        self._drain: asyncio.Task[None] | None = None
        self._listen(on_status)

    def _listen(self, on_status: Callable[[str, float | None], None]) -> None:
        def status(params: Any) -> None:
            busy = getattr(params, "kind", "") in {"loading", "installing"}
            on_status(str(getattr(params, "message", "")) if busy else "", getattr(params, "fraction", None))

        def message(params: types.ShowMessageParams) -> None:
            self._errors.append(params.message)

        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [self._options() for _ in params.items]

        def ignore(_params: Any) -> None:
            """Answers null to what an editor would draw and this one does not."""

        feature: Any = self._client.feature
        feature("velospec/status")(status)
        feature(types.WINDOW_SHOW_MESSAGE)(message)
        feature(types.WORKSPACE_CONFIGURATION)(configuration)
        for method in (types.WINDOW_LOG_MESSAGE, types.PROGRESS, types.WINDOW_WORK_DONE_PROGRESS_CREATE):
            feature(method)(ignore)

    def _options(self) -> dict[str, Any]:
        # Time enough on a slow machine: the demo shows how long it took, where an editor shows nothing.
        # All is shown: what is asked here is what there is, and when, not whether it is likely right.
        return {"model": self._model, "offerModel": False, "manualBudgetMs": 60_000, "minConfidence": 0}

    async def __aenter__(self) -> Self:
        command = server_command()
        await self._client.start_io(command[0], *command[1:])
        self._drain = asyncio.create_task(self._read_errors())
        folder = types.WorkspaceFolder(self._folder.as_uri(), self._folder.name)
        inline = types.InlineCompletionClientCapabilities()
        capabilities = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf32]),
            text_document=types.TextDocumentClientCapabilities(inline_completion=inline),
            workspace=types.WorkspaceClientCapabilities(configuration=True, workspace_folders=True),
        )
        params = types.InitializeParams(
            capabilities=capabilities,
            process_id=os.getpid(),
            workspace_folders=[folder],
            initialization_options=self._options(),
        )
        await self._wait(self._client.initialize_async(params))
        self._client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_: object) -> None:
        server = self._client._server  # noqa: SLF001  # pygls has no public way to wait for the process
        try:
            await asyncio.wait_for(self._client.shutdown_async(None), 10)
            self._client.exit(None)
            if server:
                await asyncio.wait_for(server.wait(), 10)
        except (TimeoutError, RuntimeError):
            if server and server.returncode is None:
                server.kill()
        await self._client.stop()  # type: ignore[no-untyped-call]  # pygls leaves it untyped
        if self._drain:
            self._drain.cancel()

    async def _read_errors(self) -> None:
        """Keeps what the server last wrote to stderr; a full pipe would stop it."""
        server = self._client._server  # noqa: SLF001  # as above
        while server and server.stderr and (line := await server.stderr.readline()):
            self._errors.append(line.decode(errors="replace").rstrip())

    def open(self, file: str, language: str, text: str) -> None:
        """Opens `file` (relative, with slashes) with `text`."""
        self._texts[file] = text
        document = types.TextDocumentItem(self._uri(file), language, 1, text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def type(self, file: str, index: int, new: str) -> None:
        """Types `new` at `index` (in characters of the text), as one change."""
        text = self._texts[file]
        place = _position(text, index)
        change = types.TextDocumentContentChangePartial(types.Range(place, place), new)
        self._texts[file] = text[:index] + new + text[index:]
        document = types.VersionedTextDocumentIdentifier(version=len(self._texts[file]), uri=self._uri(file))
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def ask(self, file: str, index: int, *, by_hand: bool = True) -> Answer:
        """What the server offers at `index`. Raises VeloSpecError when it fails or does not answer."""
        kinds = types.InlineCompletionTriggerKind
        params = types.InlineCompletionParams(
            context=types.InlineCompletionContext(kinds.Invoked if by_hand else kinds.Automatic),
            text_document=types.TextDocumentIdentifier(self._uri(file)),
            position=_position(self._texts[file], index),
        )
        started = time.perf_counter()
        result = await self._wait(self._client.text_document_inline_completion_async(params))
        seconds = time.perf_counter() - started
        items = result.items if isinstance(result, types.InlineCompletionList) else result or []
        column = params.position.character
        if not items:
            return Answer("", column, column, seconds)
        item = items[0]
        text = item.insert_text if isinstance(item.insert_text, str) else item.insert_text.value
        if item.range is None:
            return Answer(text, column, column, seconds)
        return Answer(text, item.range.start.character, item.range.end.character, seconds)

    async def why(self, file: str) -> str:
        """Why the server offered nothing for `file` last."""
        text = _plain(await self._explain(file))["text"]
        return str(text).partition("\n")[0]  # the stages and their times are for the log of a developer

    async def model_counts(self, file: str) -> dict[str, int]:
        """Counts of tokens and passes of the last answer for `file`; empty where the model was not asked."""
        return dict(_plain(_plain(await self._explain(file)).get("model", {})))

    async def _explain(self, file: str) -> Any:
        params = types.ExecuteCommandParams("velospec.why", [self._uri(file)])
        return await self._wait(self._client.workspace_execute_command_async(params))

    def _uri(self, file: str) -> str:
        return (self._folder / file).as_uri()

    async def _wait(self, answer: Any) -> Any:
        try:
            return await asyncio.wait_for(answer, _ANSWER_SECONDS)
        except TimeoutError:
            cause = f"The language server has not answered within {_ANSWER_SECONDS:.0f} seconds."
            raise VeloSpecError(cause, self._last_words()) from None
        except RuntimeError as error:  # pygls' word for a server that has ended
            await asyncio.sleep(0.1)  # its last words are on their way
            raise VeloSpecError(f"The language server ended: {error}", self._last_words()) from error

    def _last_words(self) -> str:
        said = "\n".join(self._errors)
        return f"It said:\n{said}" if said else "See its log: `velospec status --json` names the folder."


def _plain(answer: Any) -> dict[str, Any]:
    """An object of the answer to a command, which comes as a dictionary or as something with attributes."""
    return dict(answer if isinstance(answer, dict) else answer._asdict())


def _position(text: str, index: int) -> types.Position:
    """The place of `index`, columns in characters (UTF-32, which the session asks for)."""
    line = text.count("\n", 0, index)
    return types.Position(line, index - (text.rfind("\n", 0, index) + 1))
