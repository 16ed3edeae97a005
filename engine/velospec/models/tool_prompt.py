"""What a chat template does not do about tools, done in the messages: the list of tools, calls, results.

The words are few: a small model reads a prompt slowly and is soon confused by it. They follow what most
models were trained on since Hermes 2 Pro. Knows messages; nothing of templates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from velospec.core.messages import Message
from velospec.core.tools import Tool, ToolCall, ToolStyle
from velospec.models.tool_form import ToolForm

_BEFORE = "You can call these tools:"
_HOW = "To call a tool, write its name and arguments:"


def with_tools(messages: Sequence[Message], tools: Sequence[Tool], form: ToolForm) -> list[Message]:
    """`messages` for a template of `form`: what it does not do itself is in their text."""
    prepared: list[Message] = []
    for message in messages:
        if message.role == "tool" and not form.results:
            _add_result(prepared, message.content)
        elif message.calls and not form.writes:
            prepared.append(_with_calls(message, form.style))
        else:
            prepared.append(message)
    if tools and not form.lists:
        return _with_system(prepared, tool_prompt(tools, form.style))
    return prepared


def tool_prompt(tools: Sequence[Tool], style: ToolStyle) -> str:
    """The list of `tools` for a model that has none of its own, and how to call them."""
    listed = [
        json.dumps(
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": json.loads(tool.parameters),
            },
            ensure_ascii=False,
        )
        for tool in tools
    ]
    return "\n".join([_BEFORE, *listed, _HOW, style.write([ToolCall("NAME", "{ARGUMENTS}")])])


def system_as_user(messages: Sequence[Message]) -> list[Message]:
    """`messages` for a template that refuses the role `system`: its text begins the first question."""
    if len(messages) < 2 or messages[0].role != "system" or messages[1].role != "user":
        return list(messages)
    first = replace(messages[1], content=f"{messages[0].content}\n\n{messages[1].content}")
    return [first, *messages[2:]]


def _with_system(messages: list[Message], text: str) -> list[Message]:
    if messages and messages[0].role == "system":
        return [replace(messages[0], content=f"{messages[0].content}\n\n{text}"), *messages[1:]]
    return [Message("system", text), *messages]


def _with_calls(message: Message, style: ToolStyle) -> Message:
    written = style.write(message.calls)
    content = f"{message.content}\n{written}" if message.content else written
    return replace(message, content=content, calls=())


def _add_result(messages: list[Message], content: str) -> None:
    """Add a result as the user's turn; results that follow each other share one, since turns alternate."""
    text = f"<tool_response>\n{content}\n</tool_response>"
    if messages and messages[-1].role == "user" and messages[-1].name == "tool":
        messages[-1] = replace(messages[-1], content=f"{messages[-1].content}\n{text}")
    else:
        messages.append(Message("user", text, name="tool"))
