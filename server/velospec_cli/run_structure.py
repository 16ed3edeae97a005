"""What the options of `velospec run` want an answer to look like: a schema, a grammar, or calls of tools.

Reads files; knows nothing of models.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from velospec.chat import ChatAnswer, schema_grammar
from velospec.core.errors import VeloSpecError
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.openai_json import read_choice, read_tools
from velospec.core.tools import Tool, ToolChoice
from velospec.models.calls import Delta
from velospec_cli.run_files import STDIN, named, read_text

_WORDS = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class Structure:
    """The form of an answer: free where neither a grammar nor tools are given."""

    grammar: Grammar | None = None
    tools: tuple[Tool, ...] = ()
    choice: ToolChoice = field(default_factory=ToolChoice)

    @property
    def free(self) -> bool:
        return self.grammar is None and not self.tools


def structure_of(  # noqa: PLR0913 - each is an option of the command
    *,
    schema: str | None,
    json_value: bool,
    regex: str | None,
    grammar: Path | None,
    tools: Path | None,
    tool_choice: str | None,
    parallel: bool,
) -> Structure:
    """What the options want. Raises VeloSpecError, and typer.BadParameter where they do not fit together."""
    given = [schema is not None, json_value, regex is not None, grammar is not None, tools is not None]
    if sum(given) > 1:
        raise typer.BadParameter("--schema, --json-value, --regex, --grammar and --tools exclude each other.")
    if tools is None and (tool_choice is not None or not parallel):
        raise typer.BadParameter("--tool-choice and --no-parallel are about --tools.")
    if schema is not None:
        return Structure(schema_grammar(read_text(STDIN) if schema == STDIN else schema))
    if json_value:
        return Structure(Grammar(GrammarKind.JSON))
    if regex is not None:
        return Structure(Grammar(GrammarKind.REGEX, regex))
    if grammar is not None:
        return Structure(Grammar(GrammarKind.EBNF, read_text(grammar)))
    if tools is None:
        return Structure()
    found = read_tools(_parsed(read_text(tools), named(tools)))
    return Structure(tools=found, choice=read_choice(_choice(tool_choice), found, parallel=parallel))


def answer_plain(answer: ChatAnswer) -> dict[str, Any]:
    """The content and the calls of an answer, as OpenAI's API has them."""
    return {
        "content": answer.content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                "complete": call.complete,
            }
            for call in answer.tool_calls
        ],
    }


class AnswerLines:
    """Writes an answer as it comes: text as it is, each call on a line of its own, as `name(arguments)`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._open = False  # whether a call is being written
        self._ends_line = True

    def __call__(self, delta: Delta) -> None:
        if delta.index is None:
            self._end_call()
            self._put(delta.content)
        elif delta.name:
            self._end_call()
            self._put(f"{'' if self._ends_line else chr(10)}{delta.name}(")
            self._open = True
        else:
            self._put(delta.arguments)

    def close(self, *, complete: bool) -> None:
        """The answer is over; a call that is not `complete` is left as it is."""
        if complete:
            self._end_call()

    def _end_call(self) -> None:
        if self._open:
            self._put(")\n")
            self._open = False

    def _put(self, text: str) -> None:
        self._write(text)
        self._ends_line = text.endswith("\n")


def _choice(text: str | None) -> Any:
    """A word, a map in JSON, or the name of a tool."""
    if text is None or text in _WORDS:
        return text
    if text.lstrip().startswith("{"):
        return _parsed(text, "--tool-choice")
    return {"type": "function", "name": text}


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise VeloSpecError(f"{where} is not JSON: {error}.", "Mend it, or give another file.") from error
