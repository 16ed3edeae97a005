"""What `fit_priors.py` asks under grammars: the questions of `fit_structured.toml`, put to a chat model.

Every other question of a kind comes without the schema in its prompt: servers leave that to the grammar.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from velospec import ChatFormat, Limits, TextRequest
from velospec.constraints.tools import tool_grammar
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.messages import Message
from velospec.core.openai_json import read_tools
from velospec.core.tools import ToolChoice, ToolMode

TOKENS = 128
_ASKED = Path(__file__).with_suffix(".toml")


def prompts() -> list[dict[str, Any]]:
    """All questions, the kinds in turn, as lines of `fit_priors.py record` begin."""
    known = tomllib.loads(_ASKED.read_text(encoding="utf-8"))
    kinds = [*known["kind"], *known["calls"]]
    longest = max(len(kind["questions"]) for kind in kinds)
    turns = [list(_of(kind)) for kind in kinds]
    return [questions[turn] for turn in range(longest) for questions in turns if turn < len(questions)]


def request_of(prompt: dict[str, Any], form: ChatFormat, *, speculate: bool) -> TextRequest:
    """What the engine is asked for one of `prompts`."""
    messages = [Message("user", prompt["question"])]
    if "tools" in prompt:
        tools = read_tools(json.loads(prompt["tools"]))
        choice = ToolChoice(ToolMode.REQUIRED, parallel=prompt["parallel"])
        grammar = tool_grammar(tools, choice, form.tools.style)
        text = form.render(messages, tools)
    else:
        grammar = Grammar(GrammarKind.JSON_SCHEMA, prompt["schema"])
        told = "Use JSON."
        if prompt["told"]:
            told = f"You write JSON that satisfies a schema.\n{prompt['schema']}"
        text = form.render([Message("system", told), *messages])
    return TextRequest("fit", text, Limits(TOKENS), speculate, special=True, grammar=grammar)


def _of(kind: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, question in enumerate(kind["questions"]):
        prompt = {"kind": "structured", "name": kind["name"], "question": question}
        if "tools" in kind:
            tools = [{"type": "function", "function": tool} for tool in json.loads(kind["tools"])]
            yield {**prompt, "tools": json.dumps(tools), "parallel": kind.get("parallel", False)}
        else:
            yield {**prompt, "schema": json.dumps(json.loads(kind["schema"])), "told": number % 2 == 0}
