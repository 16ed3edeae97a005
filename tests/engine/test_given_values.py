"""What callers from Python give: wrong values are told where they are given, with their name and a remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from velospec.chat import Chat, schema_grammar
from velospec.constraints.schema_source import schema_text
from velospec.core.errors import SettingsError
from velospec.core.grammar import Grammar, GrammarKind, Tag, Tags, Whitespace
from velospec.core.messages import Message
from velospec.core.openai_json import read_messages, read_tools
from velospec.core.request import InfillRequest, Limits, TextRequest
from velospec.core.tools import Tool, ToolChoice, ToolMode
from velospec.models.chat import ChatFormat
from velospec.models.store import InstalledModel

_any: Any = None
"""Stands for a value of a wrong type, which the type checker would not let pass."""


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: Limits(-1), "Limits.max_tokens should be a whole number of at least 0, not -1."),
        (lambda: Limits(2.5), "Limits.max_tokens should be a whole number of at least 0, not 2.5."),  # type: ignore[arg-type]  # on purpose
        (lambda: Limits(max_lines=0), "Limits.max_lines should be a whole number of at least 1, not 0."),
        (lambda: Limits(budget_ms=math.nan), "Limits.budget_ms should be a number of at least 0, not nan."),
        (lambda: Limits(stop=""), "Limits.stop should be a tuple of str, not of the type str."),  # type: ignore[arg-type]  # on purpose
        (lambda: Limits(stop=("a", _any)), "Limits.stop[1] should be a str, not None."),
        (lambda: TextRequest("d", _any), "TextRequest.prompt should be a str, not None."),
        (lambda: TextRequest(_any, "x"), "TextRequest.document should be a str, not None."),
        (
            lambda: TextRequest("d", "x", grammar="a|b"),  # type: ignore[arg-type]  # on purpose
            "TextRequest.grammar should be a Grammar, not of the type str.",
        ),
        (lambda: InfillRequest("d", "x", _any), "InfillRequest.suffix should be a str, not None."),
        (
            lambda: InfillRequest("d", "x", "y", limits=3),  # type: ignore[arg-type]  # on purpose
            "InfillRequest.limits should be a Limits, not of the type int.",
        ),
        (lambda: Grammar("rx", "a"), "Grammar.kind cannot be 'rx'."),  # type: ignore[arg-type]  # on purpose
        (lambda: Grammar(GrammarKind.REGEX, _any), "Grammar.source should be a str, not None."),
        (
            lambda: Grammar(GrammarKind.JSON_SCHEMA, {"type": "null"}),  # type: ignore[arg-type]  # on purpose
            "Grammar.source should be a str, not of the type dict.",
        ),
        (
            lambda: Grammar(GrammarKind.JSON, whitespace="wide"),  # type: ignore[arg-type]  # on purpose
            "Grammar.whitespace cannot be 'wide'.",
        ),
        (lambda: Tags(_any, "<"), "Tags.tags should be a tuple of Tag, not None."),
        (lambda: Tag("<", _any, ">"), "Tag.schema should be a str, not None."),
        (lambda: Message("bogus", "x"), "Message.role cannot be 'bogus'."),  # type: ignore[arg-type]  # on purpose
        (lambda: Message("user", _any), "Message.content should be a str, not None."),
        (lambda: Tool("f", parameters={}), "Tool.parameters should be a str, not of the type dict."),  # type: ignore[arg-type]  # on purpose
        (lambda: ToolChoice("maybe"), "ToolChoice.mode cannot be 'maybe'."),  # type: ignore[arg-type]  # on purpose
        (
            lambda: read_tools([{"name": "f", "parameters": {"enum": {1}}}]),
            "tools#/0/parameters cannot be written as JSON: Object of type set is not JSON serializable.",
        ),
        (lambda: read_messages([{"role": "bogus", "content": ""}]), "messages#/0/role: 'bogus' is no role."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_by_its_name(make: Callable[[], object], cause: str) -> None:
    with pytest.raises(SettingsError) as told:
        make()
    assert told.value.cause == cause
    assert told.value.remedy


def test_kinds_may_be_spelled() -> None:
    spelled = Grammar("regex", "a|b", "compact")  # type: ignore[arg-type]  # as a user without a type checker
    assert spelled == Grammar(GrammarKind.REGEX, "a|b", Whitespace.COMPACT)
    assert spelled.kind is GrammarKind.REGEX
    assert ToolChoice("required").mode is ToolMode.REQUIRED  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("schema", "cause"),
    [
        (None, "A JSON Schema is an object, true or false, not None."),
        ([1], "A JSON Schema is an object, true or false, not of the type list."),
        (3, "A JSON Schema is an object, true or false, not of the type int."),
        ("3", "3 is JSON, but a JSON Schema is an object, true or false."),
        ("null", "null is JSON, but a JSON Schema is an object, true or false."),
        ('"string"', '"string" is JSON, but a JSON Schema is an object, true or false.'),
        (" [] ", " []  is JSON, but a JSON Schema is an object, true or false."),
        ("", "An empty text is no JSON Schema."),
        (" \n", "An empty text is no JSON Schema."),
        ("none.json", "The schema none.json cannot be read: No such file or directory."),
        ("a\0b", "The schema a\0b cannot be read: embedded null byte."),
        ({"const": {1}}, "The JSON Schema cannot be written as JSON: Object of type set"),
        ({"minimum": math.nan}, "The JSON Schema cannot be written as JSON: Out of range float values"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_told(schema: Any, cause: str) -> None:
    with pytest.raises(SettingsError) as told:
        schema_grammar(schema)
    assert told.value.cause.startswith(cause)
    assert told.value.remedy


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"const": "é"}, '{"const": "é"}'),
        (True, "true"),
        ('  {"type": "string"}', '  {"type": "string"}'),
        ('\ufeff{"type": "string"}', '{"type": "string"}'),
        ("true", "true"),
        ('{"type": ', '{"type": '),  # what is wrong with it is told by whoever reads it
    ],
)
def test_a_schema_may_be_given_as_values_or_text(schema: Any, text: str) -> None:
    assert schema_text(schema) == text


@pytest.mark.parametrize("name", ["true-story.json", "3", "[id].json"])
def test_a_schema_may_be_given_as_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    for mark in ("", "\ufeff"):
        (tmp_path / name).write_text(mark + '{"type": "null"}', "utf-8")
        assert schema_text(name) == schema_text(tmp_path / name) == '{"type": "null"}'


def test_a_schema_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"{\xff}")
    with pytest.raises(SettingsError, match=r"noise is not text in UTF-8\."):
        schema_text(tmp_path / "noise")
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        schema_text(tmp_path)


@pytest.mark.model
@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ({"messages": []}, "There is no message to answer."),
        ({"messages": "Hello"}, "messages should be a tuple of Message, not of the type str."),
        ({"messages": [{"role": "user"}]}, "messages[0] should be a Message, not of the type dict."),
        ({"tools": [{"name": "f"}]}, "tools[0] should be a Tool, not of the type dict."),
        ({"choice": "auto"}, "choice should be a ToolChoice, not of the type str."),
        ({"schema": {"const": {1, 2}}}, "The JSON Schema cannot be written as JSON: Object of type set"),
    ],
)
def test_a_question_that_is_none_is_told(
    chat_model: InstalledModel, arguments: dict[str, Any], cause: str
) -> None:
    chat = Chat(ChatFormat.for_file(chat_model.path))
    with pytest.raises(SettingsError) as told:
        chat.ask(**{"messages": [Message("user", "Hi")], **arguments})
    assert told.value.cause.startswith(cause)
    assert told.value.remedy
