"""The engines for grammars, by name; a test of one that is not installed is skipped."""

from __future__ import annotations

import importlib.util
from functools import cache

import pytest

from velospec.backends.base import Vocabulary
from velospec.constraints.compiler import GrammarCompiler
from velospec.constraints.matcher import Engine

ENGINES = ("llguidance", "xgrammar")


@cache
def grammar_compiler(name: str, vocabulary: Vocabulary) -> GrammarCompiler:
    """A compiler for `vocabulary` by the engine `name`."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    return GrammarCompiler(vocabulary, name)  # type: ignore[arg-type]  # one of ENGINES


def grammar_engine(name: str, vocabulary: Vocabulary) -> Engine:
    """The engine `name` for `vocabulary`."""
    return grammar_compiler(name, vocabulary).engine
