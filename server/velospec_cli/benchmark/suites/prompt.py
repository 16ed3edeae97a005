"""One prompt of a suite: text to continue, a cursor in a file, or a question whose answer has a grammar."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from velospec.core.grammar import Grammar
from velospec.core.messages import Role
from velospec.core.request import InfillRequest, Limits, TextRequest
from velospec.core.tools import GENERIC, Tool, ToolStyle


@dataclass(frozen=True, slots=True)
class Structure:
    """What is asked of a chat model, and what its answer has to be: JSON of a schema, or calls of tools."""

    kind: str  # of schema or of call: prompts of a kind are told of together
    messages: tuple[tuple[Role, str], ...]
    schema: str = ""  # JSON Schema as JSON text
    tools: tuple[Tool, ...] = ()
    parallel: bool = False  # several calls
    style: ToolStyle = GENERIC  # in which the model writes calls


@dataclass(frozen=True, slots=True)
class Prompt:
    """`before` is continued as it stands or, where there is an `after`, completed up to it.

    `corpus` names the files that the engine learns first, `path` the file that the cursor is in. With a
    `structure`, `before` is put together for the model that answers, and `grammar` holds what that must be.
    """

    name: str
    before: str
    after: str | None = None
    path: str = ""
    corpus: tuple[Path, ...] = ()
    structure: Structure | None = None
    grammar: Grammar | None = None

    def request(
        self, document: str, limits: Limits, *, speculate: bool, free: bool = False
    ) -> TextRequest | InfillRequest:
        """What to ask of an engine, in the KV slot that `document` names; `free` leaves the grammar out."""
        if self.after is not None:
            return InfillRequest(document, self.before, self.after, self.path, limits, speculate)
        grammar = None if free else self.grammar
        special = self.structure is not None  # a chat prompt has control tokens
        return TextRequest(document, self.before, limits, speculate, special, grammar=grammar)
