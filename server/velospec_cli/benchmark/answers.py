"""What a structured answer has to be, as each decoder is told of it, and whether one is."""

from __future__ import annotations

from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.tools import ToolStyle
from velospec.integrations.grammar_rivals import gbnf_of_schema
from velospec_cli.benchmark.suites.prompt import Structure


def grammar_of(structure: Structure, style: ToolStyle) -> Grammar:
    """VeloSpec's grammar of the answer; a model of `style` writes the calls."""
    return Grammar(GrammarKind.JSON_SCHEMA, structure.schema)


def gbnf_of(structure: Structure) -> str:
    """llama.cpp's grammar of the answer."""
    return gbnf_of_schema(structure.schema)


def violations_of(text: str, structure: Structure) -> list[str]:
    """What is wrong with an answer; nothing if it is what was asked for."""
    from velospec.constraints.validation import violations  # noqa: PLC0415 - LANDS LATER

    return violations(text, structure.schema)
