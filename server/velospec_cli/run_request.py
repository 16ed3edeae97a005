"""What `velospec run` asks of the daemon: a prompt as it stands, a question by a chat template, or a cursor.

Reads files and standard input; knows nothing of how answers come about or are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from velospec.chat import Chat, Question
from velospec.core.errors import ModelNotFoundError, VeloSpecError
from velospec.core.messages import Message
from velospec.core.request import InfillRequest, Limits, Sampling, TextRequest
from velospec.models.store import InstalledModel, ModelStore
from velospec_cli.run_files import STDIN, read_text
from velospec_cli.run_structure import Structure

_DOCUMENT = "velospec-run"
_SMALLEST = {"chat": "smollm2-135m-instruct", "completion": "smollm2-135m-fim"}


@dataclass(frozen=True, slots=True)
class How:
    """How to answer, whatever the question."""

    limits: Limits
    sampling: Sampling
    speculate: bool
    structure: Structure = field(default_factory=Structure)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a file, counted from 1 as editors show it; columns count characters, a tab as one."""

    file: Path
    line: int
    column: int | None  # None: behind the line's last character


def raw_request(prompt: str, how: How) -> TextRequest:
    """Continue `prompt` as it stands."""
    return TextRequest(
        _DOCUMENT,
        _given(prompt),
        how.limits,
        how.speculate,
        sampling=how.sampling,
        grammar=how.structure.grammar,
    )


def chat_question(prompt: str, how: How, model: InstalledModel) -> Question:
    """Answer `prompt` by the chat template of `model`. Raises ChatError, GrammarError, ModelLoadError."""
    return Chat.for_model(model).ask(
        [Message("user", _given(prompt))],
        tools=how.structure.tools,
        choice=how.structure.choice,
        grammar=how.structure.grammar,
        limits=how.limits,
        sampling=how.sampling,
        document=_DOCUMENT,
        speculate=how.speculate,
    )


def cursor_request(cursor: Cursor, how: How) -> InfillRequest:
    """Complete at `cursor`. Raises VeloSpecError where the file has no such place."""
    text = read_text(cursor.file)
    index = _index(text, cursor)
    return InfillRequest(
        _DOCUMENT, text[:index], text[index:], cursor.file.name, how.limits, how.speculate, how.sampling
    )


def model_for(roles: Sequence[str], name: str | None) -> InstalledModel:
    """The model `name`, or the default for the first of `roles` that has one.

    Raises ModelNotFoundError where there is none.
    """
    store = ModelStore()
    if name:
        return store.get(name)
    found = next((model for role in roles if (model := store.default(role))), None)
    if found is None:
        raise ModelNotFoundError(
            f"No model for {roles[0]} is installed.",
            f"Install the smallest: velospec model install {_SMALLEST[roles[0]]}",
        )
    return found


def _given(prompt: str) -> str:
    return read_text(STDIN) if prompt == STDIN else prompt


def _index(text: str, cursor: Cursor) -> int:
    lines = text.split("\n")
    if not 1 <= cursor.line <= len(lines):
        raise VeloSpecError(
            f"{cursor.file} has no line {cursor.line}.",
            f"Its lines are 1 to {len(lines)}; choose one of them.",
        )
    line = lines[cursor.line - 1]
    column = len(line) + 1 if cursor.column is None else cursor.column
    if not 1 <= column <= len(line) + 1:
        raise VeloSpecError(
            f"Line {cursor.line} of {cursor.file} has no column {column}.",
            f"Its columns are 1 to {len(line) + 1}; choose one of them.",
        )
    return sum(len(each) + 1 for each in lines[: cursor.line - 1]) + column - 1
