"""The turns of a conversation, calls of tools and their results among them. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from velospec.core.checks import require, require_all
from velospec.core.errors import SettingsError
from velospec.core.tools import ToolCall

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[str, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    `calls` are those that an assistant's turn made, beside its text. A turn of the role `tool` is the result
    of one call: `call_id` names the call, `name` the tool.

    Raises SettingsError for a role that there is not, and for fields of the wrong type.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise SettingsError(f"Message.role cannot be {self.role!r}.", f"Use one of: {', '.join(ROLES)}.")
        for name in ("content", "call_id", "name"):
            require(f"Message.{name}", getattr(self, name), str, "Give it as text.")
        require_all("Message.calls", self.calls, ToolCall, "Write ToolCall(name, arguments) for each.")
