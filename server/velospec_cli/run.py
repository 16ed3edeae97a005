"""`velospec run`: one answer of a model on the terminal, written as it comes.

The way is that of the editors: the daemon holds the model, and is started if it does not run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.status import Status

from velospec.core.request import Completion, InfillRequest, Limits, Sampling, TextRequest
from velospec.daemon.client import DaemonClient, EventKind, run_sync
from velospec.daemon.codec import to_plain
from velospec.daemon.protocol import Event
from velospec.models.store import InstalledModel
from velospec_cli.run_request import Cursor, How, chat_request, cursor_request, model_for, raw_request
from velospec_cli.statistics_view import request_view

_GREEDY = Sampling()


def run(  # noqa: PLR0913 - each is an option of the command
    *,
    prompt: Annotated[
        str | None, typer.Option(help="Answer this by the chat model; - reads it from standard input.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue the prompt as it stands, without a chat template.")
    ] = False,
    file: Annotated[Path | None, typer.Option(help="Complete at a cursor in this file instead.")] = None,
    line: Annotated[int | None, typer.Option(min=1, help="The cursor's line, from 1.")] = None,
    column: Annotated[
        int | None, typer.Option(min=1, help="Its column in characters, from 1; the line's end if left out.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="An installed model, instead of the default for the purpose.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="The most tokens to write.")] = 256,
    temperature: Annotated[
        float, typer.Option(help="0 takes the likeliest token each time, more is more varied.")
    ] = _GREEDY.temperature,
    top_k: Annotated[int, typer.Option(help="Only the k likeliest tokens; 0 for all.")] = _GREEDY.top_k,
    top_p: Annotated[float, typer.Option(help="Only the likeliest of this joint share.")] = _GREEDY.top_p,
    min_p: Annotated[
        float, typer.Option(help="Only those of this share of the likeliest one's probability.")
    ] = _GREEDY.min_p,
    repetition_penalty: Annotated[
        float, typer.Option(help="Over 1 makes tokens that were there already less likely.")
    ] = _GREEDY.repetition_penalty,
    seed: Annotated[
        int | None, typer.Option(help="The same seed draws the same text again; a new one if left out.")
    ] = _GREEDY.seed,
    drafts: Annotated[bool, typer.Option(help="Whether to draft; the text is the same.")] = True,
    stats: Annotated[
        bool, typer.Option("--stats", help="Show counts and times afterwards, on standard error.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the text, its end and the statistics as JSON.")
    ] = False,
) -> None:
    """Answer a prompt, or complete at a cursor of a file.

    The text goes to standard output as it is written, with a line break at its end if it has none.
    """
    sampling = Sampling(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        seed=seed,
    )
    how = How(Limits(max_tokens=max_tokens), sampling, drafts)
    chosen, request = _request(prompt, _cursor(file, line, column), how, model=model, raw=raw)
    with _Output(silent=as_json) as output:
        completion = run_sync(
            lambda client: _ask(client, request, chosen.name, output.write),
            name="velospec run",
            on_event=output.on_event,
        )
    if as_json:
        typer.echo(json.dumps({"model": chosen.name, **to_plain(completion)}, indent=2))
    if stats:
        Console(stderr=True, highlight=False).print("", request_view(completion.statistics))


def _cursor(file: Path | None, line: int | None, column: int | None) -> Cursor | None:
    """The cursor that the options name. Raises typer.BadParameter where they do not fit together."""
    if file is None:
        if line is not None or column is not None:
            raise typer.BadParameter("--line and --column say where in a --file.")
        return None
    if line is None:
        raise typer.BadParameter("--file needs a --line: where the cursor is.")
    return Cursor(file, line, column)


def _request(
    prompt: str | None, cursor: Cursor | None, how: How, *, model: str | None, raw: bool
) -> tuple[InstalledModel, TextRequest | InfillRequest]:
    """What to ask of which model. Raises VeloSpecError, typer.BadParameter for options that do not fit."""
    if (prompt is None) == (cursor is None):
        raise typer.BadParameter("Give either a --prompt, or a --file with a --line.")
    if cursor is not None:
        if raw:
            raise typer.BadParameter("--raw is for a --prompt.")
        return model_for(["completion"], model), cursor_request(cursor, how)
    assert prompt is not None  # noqa: S101 - one of the two is given, as was just seen
    if raw:
        return model_for(["chat", "completion"], model), raw_request(prompt, how)
    chosen = model_for(["chat"], model)
    return chosen, chat_request(prompt, how, chosen)


async def _ask(
    client: DaemonClient, request: TextRequest | InfillRequest, model: str, on_text: Callable[[str], None]
) -> Completion:
    if isinstance(request, InfillRequest):
        return await client.infill(request, model=model, on_text=on_text)
    return await client.generate(request, model=model, on_text=on_text)


class _Output(AbstractContextManager["_Output"]):
    """Standard output while the answer comes, and a line on a terminal's standard error until it does."""

    def __init__(self, *, silent: bool) -> None:
        """`silent` keeps the text back."""
        self._silent = silent
        self._ends_line = True
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_status()
        if not self._ends_line and not isinstance(error, BrokenPipeError):
            self._put("\n")

    def write(self, text: str) -> None:
        """Show the next piece of the answer at once."""
        self._stop_status()
        if not self._silent:
            self._put(text)
            self._ends_line = text.endswith("\n")

    def on_event(self, event: Event) -> None:
        """Tell what the answer waits for."""
        if event.kind is EventKind.LOADING:
            if self._status is None:
                self._status = Console(stderr=True).status(event.message)
                self._status.start()
            self._status.update(f"{event.message} {event.fraction or 0:.0%}")
        elif event.kind is EventKind.READY:
            self._stop_status()

    def _put(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
