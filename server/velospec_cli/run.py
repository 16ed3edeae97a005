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
from typing import Self

import typer
from rich.console import Console
from rich.status import Status

from velospec.chat import AnswerReader, ChatFinish, Question
from velospec.core.errors import ContextError
from velospec.core.request import Completion, InfillRequest, Limits, Sampling, TextRequest
from velospec.daemon.client import DaemonClient, EventKind, run_sync
from velospec.daemon.codec import to_plain
from velospec.daemon.protocol import Event
from velospec.models.store import InstalledModel
from velospec_cli import run_options as options
from velospec_cli.run_files import STDIN
from velospec_cli.run_request import Cursor, How, chat_question, cursor_request, model_for, raw_request
from velospec_cli.run_structure import AnswerLines, Structure, answer_plain, structure_of
from velospec_cli.statistics_view import request_view

_GREEDY = Sampling()


def run(  # noqa: PLR0913 - each is an option of the command
    *,
    prompt: options.Prompt = None,
    raw: options.Raw = False,
    file: options.File = None,
    line: options.Line = None,
    column: options.Column = None,
    model: options.Model = None,
    max_tokens: options.MaxTokens = 256,
    temperature: options.Temperature = _GREEDY.temperature,
    top_k: options.TopK = _GREEDY.top_k,
    top_p: options.TopP = _GREEDY.top_p,
    min_p: options.MinP = _GREEDY.min_p,
    repetition_penalty: options.RepetitionPenalty = _GREEDY.repetition_penalty,
    seed: options.Seed = _GREEDY.seed,
    schema: options.Schema = None,
    json_value: options.JsonValue = False,
    regex: options.Regex = None,
    grammar: options.GrammarFile = None,
    tools: options.Tools = None,
    tool_choice: options.ToolChoiceText = None,
    parallel: options.Parallel = True,
    drafts: options.Drafts = True,
    stats: options.Stats = False,
    as_json: options.AsJson = False,
) -> None:
    """Answer a prompt, or complete at a cursor of a file.

    The text goes to standard output as it is written, with a line break at its end if it has none; each call
    of a tool is a line of its own.
    """
    sampling = Sampling(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        seed=seed,
    )
    _require_one_reader(prompt, schema, grammar, tools)
    structure = structure_of(
        schema=schema,
        json_value=json_value,
        regex=regex,
        grammar=grammar,
        tools=tools,
        tool_choice=tool_choice,
        parallel=parallel,
    )
    how = How(Limits(max_tokens=max_tokens), sampling, drafts, structure)
    chosen, request, question = _asked(prompt, _cursor(file, line, column), how, model=model, raw=raw)
    with _Output(silent=as_json) as output:
        lines = AnswerLines(output.write)
        reader = AnswerReader(question, lines)
        try:
            completion = run_sync(
                lambda client: _ask(client, request, chosen.name, reader.feed),
                name="velospec run",
                on_event=output.on_event,
            )
        except ContextError as error:
            raise ContextError(error.cause, _room_remedy(structure)) from error
        answer = reader.close(completion)
        lines.close(complete=all(call.complete for call in answer.tool_calls))
    if as_json:
        calls = {} if question is None or question.style is None else answer_plain(answer)
        typer.echo(json.dumps({"model": chosen.name, **to_plain(completion), **calls}, indent=2))
    if answer.finish is ChatFinish.LENGTH and (told := _cut(completion, max_tokens, structure)):
        Console(stderr=True, highlight=False).print(told, soft_wrap=True)
    if stats:
        Console(stderr=True, highlight=False).print("", request_view(completion.statistics))


def _require_one_reader(*given: str | Path | None) -> None:
    """Raises typer.BadParameter where two options are to be read from standard input."""
    if [str(each) for each in given].count(STDIN) > 1:
        raise typer.BadParameter("Only one option can be read from standard input.")


def _cut(completion: Completion, max_tokens: int, structure: Structure) -> str:
    """What to tell of an answer that was cut short; nothing of a free text that is as long as was wanted."""
    counts = completion.statistics
    if counts.new_tokens < max_tokens:
        # The last token that is decided takes no place.
        context = counts.prompt_tokens + counts.new_tokens - 1
        return (
            f"The answer was cut short after {counts.new_tokens} tokens: "
            f"with the prompt, it fills the model's context of {context}."
        )
    return "" if structure.free else f"The answer was cut short by --max-tokens {max_tokens}."


def _room_remedy(structure: Structure) -> str:
    """What to do about a prompt that does not fit: the tools are a part of it."""
    able = structure.choice.among(structure.tools)
    what = f"fewer --tools, of which there are {len(able)}, or a shorter" if able else "a shorter"
    return f"Give {what} --prompt; or set VELOSPEC_CONTEXT (tokens) and run `velospec daemon stop`."


def _cursor(file: Path | None, line: int | None, column: int | None) -> Cursor | None:
    """The cursor that the options name. Raises typer.BadParameter where they do not fit together."""
    if file is None:
        if line is not None or column is not None:
            raise typer.BadParameter("--line and --column say where in a --file.")
        return None
    if line is None:
        raise typer.BadParameter("--file needs a --line: where the cursor is.")
    return Cursor(file, line, column)


def _asked(
    prompt: str | None, cursor: Cursor | None, how: How, *, model: str | None, raw: bool
) -> tuple[InstalledModel, TextRequest | InfillRequest, Question | None]:
    """What to ask of which model, and the question that it is where that is a chat model.

    Raises VeloSpecError, typer.BadParameter for options that do not fit.
    """
    if (prompt is None) == (cursor is None):
        raise typer.BadParameter("Give either a --prompt, or a --file with a --line.")
    if cursor is not None:
        if raw:
            raise typer.BadParameter("--raw is for a --prompt.")
        if not how.structure.free:
            raise typer.BadParameter("The form of an answer can be given for a --prompt.")
        return model_for(["completion"], model), cursor_request(cursor, how), None
    assert prompt is not None  # noqa: S101 - one of the two is given, as was just seen
    if raw:
        if how.structure.tools:
            raise typer.BadParameter("--tools are for a chat model, so leave --raw out.")
        return model_for(["chat", "completion"], model), raw_request(prompt, how), None
    chosen = model_for(["chat"], model)
    question = chat_question(prompt, how, chosen)
    return chosen, question.request, question


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
