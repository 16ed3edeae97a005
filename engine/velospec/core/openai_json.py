"""Tools, choices and messages from the JSON of OpenAI's API, and from what its relatives make of it.

Whatever does not fit is named by its JSON pointer. Knows shapes only: schemas stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from velospec.core.checks import json_text
from velospec.core.errors import SettingsError
from velospec.core.messages import ROLES, Message, Role
from velospec.core.tools import Tool, ToolCall, ToolChoice, ToolMode

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_SCHEMAS = ("parameters", "input_schema", "inputSchema")  # OpenAI, Anthropic, the Model Context Protocol
_MODES = {
    "auto": ToolMode.AUTO,
    "none": ToolMode.NONE,
    "required": ToolMode.REQUIRED,
    "any": ToolMode.REQUIRED,  # the name of Anthropic and Mistral
}
_ROLES = {"developer": "system", "function": "tool"}  # by their newer and older names
_TEXTS = ("text", "input_text", "output_text")


def read_tools(value: object) -> tuple[Tool, ...]:
    """The tools in a list such as `[{"type": "function", "function": {"name": …, "parameters": …}}]`.

    The inner map may stand alone, and its schema may be called as in Anthropic's API and in MCP.
    Raises SettingsError.
    """
    tools = tuple(
        _tool(item, f"tools#/{place}") for place, item in enumerate(_list(value, "tools#", "a list of tools"))
    )
    names = [tool.name for tool in tools]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise _unfit(
                f"tools#/{place}", f"a second tool is called {name!r}", "Give each tool a name of its own."
            )
    return tools


def read_choice(value: object, tools: Sequence[Tool], *, parallel: bool = True) -> ToolChoice:
    """The choice in a word (`auto`, `none`, `required`) or a map; None is `auto`.

    The maps are `{"type": "function", "function": {"name": …}}` for one function, and
    `{"type": "allowed_tools", "allowed_tools": {"mode": …, "tools": […]}}` for some.
    Raises SettingsError, also where it names a tool that is not among `tools` or wants one and there is none.
    """
    choice = replace(_choice(value), parallel=parallel)
    known = [tool.name for tool in tools]
    unknown = next((name for name in choice.names if name not in known), None)
    if unknown is not None:
        raise _unfit(
            "tool_choice#", f"there is no tool {unknown!r}", f"There are: {', '.join(known) or 'none'}."
        )
    if choice.mode is ToolMode.REQUIRED and not known:
        raise _unfit(
            "tool_choice#", "a call is required and there are no tools", "Give the tools, or choose auto."
        )
    return choice


def read_messages(value: object) -> list[Message]:
    """The messages in a list such as `[{"role": "user", "content": "Hello"}]`.

    Contents may be lists of parts, of text alone. Raises SettingsError.
    """
    return [
        _message(_map(item, f"messages#/{place}", "a message"), f"messages#/{place}")
        for place, item in enumerate(_list(value, "messages#", "a list of messages"))
    ]


def _tool(value: object, where: str) -> Tool:
    tool = _map(value, where, "a tool")
    if "function" in tool:
        where = f"{where}/function"
        tool = _map(tool["function"], where, "a function")
    elif tool.get("type", "function") not in ("function", "custom") and "input_schema" not in tool:
        raise _unfit(f"{where}/type", f"tools of the type {tool['type']!r} are not known", 'Use "function".')
    name = _name(tool, where)
    description = tool.get("description") or ""
    if not isinstance(description, str):
        raise _unfit(f"{where}/description", "it should be a string", "Write what the function does.")
    key = next((key for key in _SCHEMAS if tool.get(key) is not None), None)
    if key is None:
        return Tool(name, description)
    schema = _map(tool[key], f"{where}/{key}", "a JSON Schema")
    if schema.get("type", "object") != "object":
        raise _unfit(f"{where}/{key}/type", "arguments are an object", 'Use "object".')
    return Tool(
        name, description, json_text(f"{where}/{key}", {"type": "object", "properties": {}, **schema})
    )


def _choice(value: object) -> ToolChoice:
    if value is None:
        return ToolChoice()
    if isinstance(value, str):
        return ToolChoice(_mode(value, "tool_choice#"))
    choice = _map(value, "tool_choice#", "auto, none, required or an object")
    kind = choice.get("type")
    if kind == "allowed_tools":
        inner = _map(choice.get("allowed_tools", choice), "tool_choice#/allowed_tools", "an object")
        items = _list(inner.get("tools"), "tool_choice#/allowed_tools/tools", "a list of tools")
        names = [
            _named(item, f"tool_choice#/allowed_tools/tools/{place}") for place, item in enumerate(items)
        ]
        return ToolChoice(_mode(inner.get("mode", "auto"), "tool_choice#/allowed_tools/mode"), tuple(names))
    if kind in ("function", "tool"):
        return ToolChoice(ToolMode.REQUIRED, (_named(choice, "tool_choice#"),))
    if isinstance(kind, str) and kind in _MODES:
        return ToolChoice(_MODES[kind])
    raise _unfit(
        "tool_choice#/type",
        f"{kind!r} is no kind of choice",
        "Use function, allowed_tools, or one word for all.",
    )


def _mode(value: object, where: str) -> ToolMode:
    if not isinstance(value, str) or value not in _MODES:
        raise _unfit(where, f"{value!r} is no choice", f"Use one of {', '.join(_MODES)}, or name a function.")
    return _MODES[value]


def _named(value: object, where: str) -> str:
    """The name of a tool, alone or inside `function`."""
    item = _map(value, where, "an object")
    return (
        _name(_map(item["function"], f"{where}/function", "an object"), f"{where}/function")
        if "function" in item
        else _name(item, where)
    )


def _name(value: Mapping[str, Any], where: str) -> str:
    name = value.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _unfit(
            f"{where}/name",
            f"{name!r} is no name of a tool",
            "Use up to 128 of the letters a to z, digits and _ - . : /",
        )
    return name


def _message(value: Mapping[str, Any], where: str) -> Message:
    role = value.get("role")
    role = _ROLES.get(role, role) if isinstance(role, str) else role
    if role not in ROLES:
        raise _unfit(f"{where}/role", f"{role!r} is no role", "Use system, user, assistant or tool.")
    calls = value.get("tool_calls") or []
    if calls and role != "assistant":
        raise _unfit(f"{where}/tool_calls", f"the role {role} makes no calls", "Leave them to assistant.")
    return Message(
        cast("Role", role),
        _content(value.get("content"), f"{where}/content"),
        tuple(
            _call(item, f"{where}/tool_calls/{place}")
            for place, item in enumerate(_list(calls, f"{where}/tool_calls", "a list of calls"))
        ),
        call_id=str(value.get("tool_call_id") or ""),
        name=str(value.get("name") or ""),
    )


def _content(value: object, where: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    texts = []
    for place, item in enumerate(_list(value, where, "a string, or a list of parts")):
        part = _map(item, f"{where}/{place}", "a part")
        if part.get("type") not in _TEXTS or not isinstance(part.get("text"), str):
            raise _unfit(
                f"{where}/{place}/type", f"parts of the type {part.get('type')!r} cannot be read", "Use text."
            )
        texts.append(part["text"])
    return "".join(texts)


def _call(value: object, where: str) -> ToolCall:
    call = _map(value, where, "a call")
    function = _map(call.get("function", call), f"{where}/function", "a function")
    arguments = function.get("arguments", "{}")
    text = arguments if isinstance(arguments, str) else json_text(f"{where}/function/arguments", arguments)
    try:
        json.loads(text)
    except ValueError as error:
        raise _unfit(
            f"{where}/function/arguments", f"they are not JSON ({error})", "Give a JSON object as text."
        ) from error
    return ToolCall(_name(function, f"{where}/function"), text, str(call.get("id") or ""))


def _list(value: object, where: str, wanted: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise _unfit(where, f"it should be {wanted}, not {_kind(value)}", "See OpenAI's API for the shape.")
    return value


def _map(value: object, where: str, wanted: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _unfit(where, f"it should be {wanted}, not {_kind(value)}", "See OpenAI's API for the shape.")
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _unfit(where: str, cause: str, remedy: str) -> SettingsError:
    return SettingsError(f"{where}: {cause}.", remedy)
