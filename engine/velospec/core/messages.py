"""The turns of a conversation, calls of tools and their results among them. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from velospec.core.tools import ToolCall

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    `calls` are those that an assistant's turn made, beside its text. A turn of the role `tool` is the result
    of one call: `call_id` names the call, `name` the tool.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
