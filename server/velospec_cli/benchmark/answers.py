"""What a structured answer has to be, as each decoder is told of it, and whether one is."""

from __future__ import annotations

import json
from typing import Any

from velospec.constraints.tools import tool_grammar
from velospec.constraints.validation import violations
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.tools import ToolChoice, ToolMode, ToolStyle
from velospec.integrations.grammar_rivals import gbnf_of_calls, gbnf_of_schema
from velospec.models.calls import read_answer
from velospec_cli.benchmark.suites.prompt import Structure

_KEYS = ("name", "arguments")


def grammar_of(structure: Structure) -> Grammar:
    """VeloSpec's grammar of the answer: JSON of the schema, or one call or several, and nothing else."""
    choice = ToolChoice(ToolMode.REQUIRED, parallel=structure.parallel)
    calls = tool_grammar(structure.tools, choice, structure.style)
    return calls or Grammar(GrammarKind.JSON_SCHEMA, structure.schema)


def gbnf_of(structure: Structure) -> str:
    """llama.cpp's grammar of the same answer, by its own conversion of the schemas."""
    if not structure.tools:
        return gbnf_of_schema(structure.schema)
    style = structure.style
    keys = _keys(style)
    head, tail = (style.begin[: style.begin.index("{")], style.end[1:]) if keys else ("", "")
    return gbnf_of_calls(
        json.dumps(
            {"anyOf": [_call_schema(tool.name, tool.parameters, keys or _KEYS) for tool in structure.tools]}
        ),
        style.opening + head,
        tail + style.closing,
        separator=tail + style.separator + head if structure.parallel and style.several else None,
    )


def violations_of(text: str, structure: Structure) -> list[str]:
    """What is wrong with an answer; nothing if it is what was asked for."""
    if not structure.tools:
        return violations(text, structure.schema)
    content, calls = read_answer(text, structure.style)
    found = [f"text beside the calls: {content!r}"] if content else []
    if not calls:
        found.append("no call")
    if len(calls) > 1 and not structure.parallel:
        found.append(f"{len(calls)} calls instead of one")
    schemas = {tool.name: tool.parameters for tool in structure.tools}
    for call in calls:
        if call.name not in schemas:
            found.append(f"there is no tool {call.name!r}")
        else:
            found += [f"{call.name}: {each}" for each in violations(call.arguments, schemas[call.name])]
    return found


def _call_schema(name: str, parameters: str, keys: tuple[str, str]) -> dict[str, Any]:
    named, given = keys
    return {
        "type": "object",
        "properties": {named: {"const": name}, given: json.loads(parameters)},
        "required": [named, given],
    }


def _keys(style: ToolStyle) -> tuple[str, str] | None:
    """The keys of name and arguments where a call is written as an object with these two; else None."""
    if "{" not in style.begin:
        return None
    written = style.begin[style.begin.index("{") :] + "x" + style.middle + "{}" + style.end[:1]
    try:
        call = json.loads(written)
    except ValueError:
        return None
    names = [key for key, value in call.items() if value == "x"]
    given = [key for key, value in call.items() if value == {}]
    return (names[0], given[0]) if len(call) == 2 and names and given else None
