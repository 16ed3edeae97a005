"""What a chat template does about tools, and messages and tools in the form that it wants them in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from velospec.core.errors import ChatError
from velospec.core.messages import Message
from velospec.core.tools import GENERIC, Tool, ToolCall, ToolStyle

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolForm:
    """What one template does about tools, and the style of its model's calls."""

    style: ToolStyle = GENERIC
    lists: bool = False  # it lists the tools
    writes: bool = False  # it writes the calls of earlier turns
    results: bool = False  # it knows the role `tool`
    text_arguments: bool = False  # it wants arguments as JSON text rather than as a map
    no_content: str | None = None  # it wants this as the content of a turn that only calls
    thinks: bool = False  # it has the model think aloud before it answers


def plain_tools(tools: Iterable[Tool]) -> list[Plain]:
    """The tools as templates expect them: OpenAI's maps."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": json.loads(tool.parameters),
            },
        }
        for tool in tools
    ]


def plain_message(message: Message, form: ToolForm) -> Plain:
    """The message as templates expect it."""
    plain: Plain = {"role": message.role, "content": message.content}
    if message.calls:
        plain["content"] = message.content or form.no_content
        plain["tool_calls"] = [_plain_call(call, form) for call in message.calls]
    if message.role == "tool":
        plain["tool_call_id"] = message.call_id
        plain["name"] = message.name
    return plain


def _plain_call(call: ToolCall, form: ToolForm) -> Plain:
    try:
        arguments = call.arguments if form.text_arguments else json.loads(call.arguments)
    except ValueError as error:
        raise ChatError(
            f"The arguments of a call of {call.name} are not JSON: {error}.",
            "Leave a call that was cut short out of the conversation.",
        ) from error
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
