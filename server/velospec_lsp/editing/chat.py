"""Puts a question to the chat model by its own template, and binds the answer to a call.

Which model that is follows the role `chat` of the installed ones. The libraries that read model files are
loaded with the first question, since most sessions ask none.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from velospec.core.errors import ModelNotFoundError
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.messages import Message
from velospec.core.request import Completion, FinishReason, Limits, TextRequest
from velospec_lsp.editing.calls import RefusedError, Schema, read_call

if TYPE_CHECKING:
    from velospec.models.chat import ChatFormat
    from velospec.models.store import InstalledModel

OnText = Callable[[str], None]


class Generator(Protocol):
    """What is needed of the daemon's client."""

    async def generate(
        self, request: TextRequest, *, model: str | None = None, on_text: OnText | None = None
    ) -> Completion:
        """Continue a text; raises VeloSpecError. Cancelling the awaiting task stops the decode."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """One question and the call that is to answer it.

    `expected` is about how many characters the answer has, for the progress; `document` and `workspace` are
    the engine's, see `core.request`.
    """

    turns: tuple[Message, ...]
    schema: Schema
    max_tokens: int
    expected: int
    document: str
    workspace: str = ""
    speculate: bool = True


class ChatModel:
    """The chat model, wherever it is at the moment."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._formats: dict[Path, tuple[int, ChatFormat]] = {}  # by file, with its modification time

    async def call(self, question: Question, on_fraction: Callable[[float], None]) -> dict[str, Any]:
        """The arguments of the model's call. `on_fraction` hears how far it is, 0 to 1.

        Raises VeloSpecError where the model's side fails, RefusedError where the answer was cut off.
        """
        model = chat_model()
        if model is None:
            raise ModelNotFoundError(
                "No chat model is installed.", "Install one: velospec model install smollm2-135m-instruct"
            )
        template = await asyncio.to_thread(self._format, model)
        request = TextRequest(
            question.document,
            template.render(question.turns),
            Limits(max_tokens=question.max_tokens),
            speculate=question.speculate,
            special=True,
            workspace=question.workspace,
            grammar=Grammar(GrammarKind.JSON_SCHEMA, json.dumps(question.schema)),
        )
        written = 0

        def count(piece: str) -> None:
            nonlocal written
            written += len(piece)
            on_fraction(min(0.95, written / max(question.expected, 1)))

        completion = await self._generator.generate(request, model=model.name, on_text=count)
        if completion.finish is not FinishReason.END:
            raise RefusedError("The model's answer became too long and was cut off.")
        return read_call(completion.text)

    def _format(self, model: InstalledModel) -> ChatFormat:
        from velospec.models.chat import ChatFormat  # noqa: PLC0415  # reads model files; see the module

        known = self._formats.get(model.path)
        if known is None or known[0] != model.modified_ns:
            known = (model.modified_ns, ChatFormat.for_file(model.path))
            self._formats[model.path] = known
        return known[1]


def chat_model() -> InstalledModel | None:
    """The model that answers in conversations; None where none is installed."""
    from velospec.models.store import ModelStore  # noqa: PLC0415  # needed in edits only

    return ModelStore().default("chat")
