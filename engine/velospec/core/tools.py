"""Tools that a model may call: what they are, which it may choose, and how a model writes its calls.

Plain data. Schemas and arguments stay JSON text, as they came: nothing here looks into them.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from velospec.core.checks import choice, require, require_all

_ID_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 9  # Mistral's templates refuse ids of any other length; no other template minds


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is the JSON Schema of its arguments, an object."""

    name: str
    description: str = ""
    parameters: str = '{"type": "object", "properties": {}}'

    def __post_init__(self) -> None:
        for name in ("name", "description", "parameters"):
            remedy = "Give it as text; read_tools makes tools of OpenAI's JSON."
            require(f"Tool.{name}", getattr(self, name), str, remedy)


class ToolMode(StrEnum):
    """Whether the answer has calls. The names are those of OpenAI's `tool_choice`."""

    AUTO = "auto"  # text, calls or both, as the model likes
    NONE = "none"  # text only
    REQUIRED = "required"  # at least one call, and nothing else


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools the model may call, and whether it has to.

    `names` narrows the choice to those; empty means all. One function by name is REQUIRED with one name.
    `parallel` allows more than one call in an answer.
    """

    mode: ToolMode = ToolMode.AUTO
    names: tuple[str, ...] = ()
    parallel: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", choice("ToolChoice.mode", self.mode, ToolMode))
        require_all("ToolChoice.names", self.names, str, "Give a tuple of names of tools.")

    def among(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Those of `tools` that may be called."""
        if self.mode is ToolMode.NONE:
            return ()
        return tuple(tool for tool in tools if not self.names or tool.name in self.names)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: `arguments` is JSON text as the model wrote it, cut short where not `complete`."""

    name: str
    arguments: str
    id: str = ""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ToolStyle:
    """How a model writes calls: the literal texts around the names and the arguments, which are JSON.

    All calls of a block together:
    `opening`, then calls `begin` name `middle` arguments `end` with `separator` between them, then `closing`.
    A model whose style has `several` False writes one call in an answer at the most.
    """

    begin: str
    middle: str
    end: str
    opening: str = ""
    separator: str = ""
    closing: str = ""
    several: bool = True

    def write(self, calls: Sequence[ToolCall]) -> str:
        """The text of `calls`, one or more, as the model would write it."""
        written = (self.begin + call.name + self.middle + call.arguments + self.end for call in calls)
        return self.opening + self.separator.join(written) + self.closing

    @property
    def trigger(self) -> str:
        """The text that no answer has but before a call: the mark that `opening` and `begin` begin with."""
        head = self.opening + self.begin
        text = head.lstrip()
        mark = _mark(text)
        if mark:
            return head[: len(head) - len(text)] + mark
        plain = head.split("{", 1)[0].rstrip()
        return plain or head


GENERIC = ToolStyle('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>", separator="\n")
"""The style of models that bring none: the one that most models were trained on, from Hermes 2 Pro on."""


def new_call_id() -> str:
    """An id for a call, unlike any other."""
    return "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))


def _mark(text: str) -> str:
    """The bracketed word that `text` begins with, such as `<tool_call>` or `[TOOL_CALLS]`; empty if none."""
    for first, last in ("<>", "[]"):
        if text.startswith(first) and last in text:
            mark = text[: text.index(last) + 1]
            if not set(mark) & set(' \n{}"'):
                return mark
    return ""
