"""Tools, choices and messages in the JSON of OpenAI's API and of its relatives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from velospec.core.errors import SettingsError
from velospec.core.messages import Message
from velospec.core.openai_json import read_choice, read_messages, read_tools
from velospec.core.tools import Tool, ToolCall, ToolChoice, ToolMode, new_call_id

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool("get_weather", "The weather now.", json.dumps(SCHEMA))
NOT_JSON = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
TOOLS = (WEATHER, Tool("get_time"), Tool("math.gcd"))


@pytest.mark.parametrize(
    "shape",
    [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "The weather now.", "parameters": SCHEMA},
        },
        {
            "type": "function",
            "name": "get_weather",
            "description": "The weather now.",
            "parameters": SCHEMA,
            "strict": True,
        },
        {"name": "get_weather", "description": "The weather now.", "input_schema": SCHEMA},
        {"name": "get_weather", "description": "The weather now.", "inputSchema": SCHEMA},
        {"type": "custom", "name": "get_weather", "description": "The weather now.", "input_schema": SCHEMA},
    ],
    ids=["chat completions", "responses", "anthropic", "mcp", "anthropic custom"],
)
def test_tools_of_all_relatives_are_read(shape: dict[str, Any]) -> None:
    assert read_tools([shape]) == (WEATHER,)


def test_a_tool_without_parameters_takes_none() -> None:
    (tool,) = read_tools([{"type": "function", "function": {"name": "get_time", "parameters": None}}])
    assert tool == Tool("get_time")
    assert json.loads(tool.parameters) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("tools", "where"),
    [
        ({}, "tools#: it should be a list of tools, not an object."),
        ([3], "tools#/0: it should be a tool, not a number."),
        (
            [{"type": "function", "function": "f"}],
            "tools#/0/function: it should be a function, not a string.",
        ),
        ([{"type": "retrieval"}], "tools#/0/type: tools of the type 'retrieval' are not known."),
        ([{"name": "f"}, {"type": "function"}], "tools#/1/name: None is no name of a tool."),
        ([{"function": {"name": "two words"}}], "tools#/0/function/name: 'two words' is no name of a tool."),
        ([{"name": 'f"'}], "tools#/0/name: 'f\"' is no name of a tool."),
        ([{"name": "f"}, {"name": "f"}], "tools#/1: a second tool is called 'f'."),
        ([{"name": "f", "description": 3}], "tools#/0/description: it should be a string."),
        ([{"name": "f", "parameters": []}], "tools#/0/parameters: it should be a JSON Schema, not a list."),
        (
            [{"name": "f", "parameters": {"type": "array"}}],
            "tools#/0/parameters/type: arguments are an object.",
        ),
    ],
)
def test_what_is_no_tool_is_named_by_its_pointer(tools: object, where: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_tools(tools)
    assert caught.value.cause == where
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        (None, ToolChoice()),
        ("auto", ToolChoice(ToolMode.AUTO)),
        ("none", ToolChoice(ToolMode.NONE)),
        ("required", ToolChoice(ToolMode.REQUIRED)),
        ("any", ToolChoice(ToolMode.REQUIRED)),
        ({"type": "auto"}, ToolChoice(ToolMode.AUTO)),
        (
            {"type": "function", "function": {"name": "get_time"}},
            ToolChoice(ToolMode.REQUIRED, ("get_time",)),
        ),
        ({"type": "function", "name": "math.gcd"}, ToolChoice(ToolMode.REQUIRED, ("math.gcd",))),
        ({"type": "tool", "name": "get_time"}, ToolChoice(ToolMode.REQUIRED, ("get_time",))),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [
                        {"type": "function", "function": {"name": "get_time"}},
                        {"type": "function", "name": "math.gcd"},
                    ],
                },
            },
            ToolChoice(ToolMode.REQUIRED, ("get_time", "math.gcd")),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_time"}]},
            ToolChoice(ToolMode.AUTO, ("get_time",)),
        ),
    ],
)
def test_choices_are_read(value: object, choice: ToolChoice) -> None:
    assert read_choice(value, TOOLS) == choice


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("maybe", "tool_choice#: 'maybe' is no choice."),
        (3, "tool_choice#: it should be auto, none, required or an object, not a number."),
        ({"type": []}, "tool_choice#/type: [] is no kind of choice."),
        ({"type": "function", "function": {}}, "tool_choice#/function/name: None is no name of a tool."),
        ({"type": "function", "name": "other"}, "tool_choice#: there is no tool 'other'."),
        (
            {"type": "allowed_tools"},
            "tool_choice#/allowed_tools/tools: it should be a list of tools, not null.",
        ),
        (
            {"type": "allowed_tools", "mode": {}, "tools": []},
            "tool_choice#/allowed_tools/mode: {} is no choice.",
        ),
    ],
)
def test_what_is_no_choice_is_named_by_its_pointer(value: object, where: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_choice(value, TOOLS)
    assert caught.value.cause == where


def test_a_call_that_no_tool_can_answer_is_refused() -> None:
    with pytest.raises(SettingsError, match="a call is required and there are no tools"):
        read_choice("required", ())


def test_a_choice_narrows_the_tools() -> None:
    assert ToolChoice().among(TOOLS) == TOOLS
    assert ToolChoice(ToolMode.NONE).among(TOOLS) == ()
    assert ToolChoice(ToolMode.AUTO, ("get_time",)).among(TOOLS) == (TOOLS[1],)


def test_a_conversation_with_calls_is_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": '{"a": 1}'}}
    parts = [{"type": "text", "text": "What "}, {"type": "text", "text": "time?"}]
    messages = read_messages(
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "name": "get_time", "content": "noon"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"ä": 1}}}]},
        ]
    )
    assert messages == [
        Message("system", "Be brief."),
        Message("user", "What time?"),
        Message("assistant", "", (ToolCall("get_time", '{"a": 1}', "c1"),)),
        Message("tool", "noon", call_id="c1", name="get_time"),
        Message("assistant", "", (ToolCall("f", '{"ä": 1}'),)),
    ]


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("Hello", "messages#/0: it should be a message, not a string."),
        ({"content": "Hello"}, "messages#/0/role: None is no role."),
        ({"role": ["user"]}, "messages#/0/role: ['user'] is no role."),
        (
            {"role": "user", "content": 3},
            "messages#/0/content: it should be a string, or a list of parts, not a number.",
        ),
        (
            {"role": "user", "content": [{"type": "image_url"}]},
            "messages#/0/content/0/type: parts of the type 'image_url' cannot be read.",
        ),
        ({"role": "user", "tool_calls": [{}]}, "messages#/0/tool_calls: the role user makes no calls."),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]},
            f"messages#/0/tool_calls/0/function/arguments: they are not JSON ({NOT_JSON}).",
        ),
    ],
)
def test_what_is_no_message_is_named_by_its_pointer(message: object, where: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_messages([message])
    assert caught.value.cause == where


def test_ids_of_calls_are_of_the_form_that_every_template_takes() -> None:
    ids = {new_call_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(each) == 9 and each.isalnum() for each in ids)
