"""Grammars of every kind with texts of theirs, and what can be asked of an engine's cursor in them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from tests.support.grammar_vocabulary import GrammarVocabulary
from tests.support.schema_engines import grammar_compiler
from velospec.constraints.compiler import GrammarCompiler
from velospec.constraints.matcher import CompiledGrammar, Matcher
from velospec.core.grammar import Grammar, GrammarKind, Tag, Tags, Whitespace

VOCABULARY = GrammarVocabulary()


def compiler(engine: str) -> GrammarCompiler:
    return grammar_compiler(engine, VOCABULARY)


def schema(value: object, whitespace: Whitespace = Whitespace.SPACED) -> Grammar:
    return Grammar(GrammarKind.JSON_SCHEMA, json.dumps(value), whitespace)


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "blü", "😀"]}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
ARGUMENTS = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["x"],
    "additionalProperties": False,
}
NOTHING = {"type": "object", "additionalProperties": False}
F = '<tool_call>\n{"name": "f", "arguments": {"x": 12, "s": "é😀"}}\n</tool_call>'
G = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'


def tags(
    *,
    free_text: bool = True,
    at_least_one: bool = False,
    parallel: bool = True,
    separator: str = "",
    around: tuple[str, str] = ("", ""),
) -> Grammar:
    calls = tuple(
        Tag(f'<tool_call>\n{{"name": "{name}", "arguments": ', json.dumps(wanted), "}\n</tool_call>")
        for name, wanted in (("f", ARGUMENTS), ("g", NOTHING))
    )
    opening, closing = around
    trigger = f"{opening}<tool_call>"
    made = Tags(calls, trigger, free_text, at_least_one, parallel, separator, opening, closing)
    return Grammar(GrammarKind.TAGS, tags=made)


GRAMMARS = {
    "any JSON": Grammar(GrammarKind.JSON),
    "an object": schema(PERSON),
    "an open object": schema({"type": "object", "properties": {"name": {"type": "string"}}}),
    "compact": schema(PERSON, Whitespace.COMPACT),
    "flexible": schema(PERSON, Whitespace.FLEXIBLE),
    "recursion": schema(
        {
            "$ref": "#/$defs/n",
            "$defs": {
                "n": {
                    "type": "object",
                    "properties": {"name": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
                    "additionalProperties": False,
                }
            },
        }
    ),
    "strings": schema({"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 3}),
    "a pattern and a length": schema({"type": "string", "pattern": "^[a-cé😀]+( [^a]*)?$", "maxLength": 7}),
    "bounds": schema({"type": "array", "items": {"type": "number", "minimum": -1.5, "maximum": 123}}),
    "EBNF": Grammar(GrammarKind.EBNF, 'root ::= item+\nitem ::= "- " [a-z ]+ ("\\n" | " é\\n")'),
    "a regular expression": Grammar(GrammarKind.REGEX, "(fox |the)+[0-9]{2,3}é?"),
    "text and calls": tags(),
    "text and a call at least": tags(at_least_one=True),
    "text or a call": tags(parallel=False),
    "calls": tags(free_text=False, separator="\n"),
    "a call": tags(free_text=False, parallel=False),
    "calls in a block": tags(around=("[", "]"), separator=", "),
}
TEXTS = [
    ("any JSON", '{"a": [1, -2.5e+3, true, null, {}], "b": {"c": "é😀\\n\\u000e\\u007f日本"}}'),
    ("any JSON", '"the fox"'),
    ("an object", '{"name": "the fox", "age": 12}'),
    ("an object", '{"name": "日本", "age": -1, "tags": ["red", "blü", "😀"]}'),
    ("an open object", '{"name": "a", "nam": 1, "x": {}}'),
    ("an open object", "{}"),
    ("compact", '{"name":"a","age":123,"tags":["green"]}'),
    ("flexible", '{\n  "name" : "a",\n\n"age":12 , "tags": [ ]\n}'),
    ("recursion", '{"name": [{}, {"name": []}]}'),
    ("strings", '["", "😀é\\n", "abc"]'),
    ("a pattern and a length", '"abé \\"b"'),
    ("bounds", "[-1.25, 0, 12.25, 123.0]"),
    ("EBNF", "- the fox\n- a é\n"),
    ("a regular expression", "thefox the123é"),
    ("text and calls", f"the {F} fox {G}"),
    ("text and calls", "a < b <tool> <tool_cal"),
    ("text and a call at least", f"{G}{F} <"),
    ("text or a call", f"the <tool_{F}"),
    ("calls", f"{F}\n{G}\n{F}"),
    ("a call", F),
    ("calls in a block", f"a [b [{F}, {G}] c"),
]


def compiled(engine: str, name: str) -> CompiledGrammar:
    return compiler(engine).compile(GRAMMARS[name])


def spellings(text: str) -> Iterator[list[int]]:
    """The ids of a text, in long tokens and byte by byte."""
    yield VOCABULARY.encode(text)
    yield list(text.encode())


def allowed(matcher: Matcher) -> set[int]:
    """The ids of the mask, but end tokens, whose bits have no meaning."""
    mask = np.zeros(-(-VOCABULARY.size // 32), dtype=np.int32)
    matcher.fill(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    assert not bits[VOCABULARY.size :].any()
    return set(np.flatnonzero(bits).tolist()) - VOCABULARY.end_ids


def taken(matcher: Matcher) -> set[int]:
    """The ids that `accept` takes."""
    found = set()
    for token in sorted(set(range(VOCABULARY.size)) - VOCABULARY.end_ids):
        if matcher.accept(token):
            matcher.rollback(1)
            found.add(token)
    return found


def seen(matcher: Matcher) -> tuple[object, ...]:
    """All that can be seen of a place."""
    return allowed(matcher), matcher.forced(), matcher.accepting, matcher.stopped


def accepts(matcher: Matcher, text: str) -> bool:
    return all(map(matcher.accept, text.encode())) and matcher.accepting


def is_prefix(matcher: Matcher, text: str) -> bool:
    return all(map(matcher.accept, text.encode()))
