"""Grammars made ready for one model's vocabulary, by the engine that is there; compiled ones are kept."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import partial
from typing import Literal

from velospec.backends.base import Vocabulary
from velospec.constraints.budget import COMPILE_SECONDS, TimeLimit, check_size
from velospec.constraints.cursor import GrammarConstraint
from velospec.constraints.marks import marks_in
from velospec.constraints.matcher import CompiledGrammar, Engine
from velospec.core.cancellation import CancelToken
from velospec.core.errors import GrammarError
from velospec.core.grammar import Grammar

EngineName = Literal["auto", "llguidance", "xgrammar"]

_MOST_KEPT = 64  # compiled grammars
_REMEDIES = {
    "llguidance": "Install it: pip install llguidance",
    "xgrammar": "Install it: pip install 'velospec[torch]'",
}


class GrammarCompiler:
    """Compiles grammars for `vocabulary`; loads its engine with the first one.

    `auto` takes llguidance, which is part of the light install, or else xgrammar.
    """

    def __init__(self, vocabulary: Vocabulary, engine: EngineName = "auto") -> None:
        self._vocabulary = vocabulary
        self._wanted = engine
        self._engine: Engine | None = None
        self._kept: dict[Grammar, CompiledGrammar] = {}  # the least recently used first
        self._limit = TimeLimit[CompiledGrammar](COMPILE_SECONDS)

    def start(
        self, grammar: Grammar, heal: bytes = b"", cancel: CancelToken | None = None
    ) -> GrammarConstraint:
        """The constraint of one answer.

        `heal` are bytes at the end of `grammar.after` that the answer begins with once more (token healing).
        Raises GrammarError; CancelledError where `cancel` was cancelled while the grammar was compiled.
        """
        after = grammar.after.encode("utf-8", "replace").removesuffix(heal)
        alone = replace(grammar, after="")  # so that it is found again for other texts
        compiled = self.compile(alone, cancel)
        marks = {} if grammar.tags is None else marks_in(grammar.tags.literals, self._vocabulary)
        shown = {token: name.encode() for name, token in marks.items()}
        return GrammarConstraint(
            compiled.matcher(after),
            self._vocabulary,
            marks=shown,
            part=grammar.part,
            key=alone,
            before=after,
        )

    @property
    def engine(self) -> Engine:
        """The engine in use. Raises GrammarError where it is not installed."""
        if self._engine is None:
            self._engine = _open(self._wanted, self._vocabulary)
        return self._engine

    def compile(self, grammar: Grammar, cancel: CancelToken | None = None) -> CompiledGrammar:
        """`grammar` compiled, or as it is remembered.

        Raises GrammarError, also where it is too long or takes too long; CancelledError.
        """
        compiled = self._kept.pop(grammar, None)
        if compiled is None:
            check_size(grammar)
            compiled = self._limit.result(partial(self.engine.compile, grammar), cancel)
        self._kept[grammar] = compiled
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return compiled


def _open(wanted: EngineName, vocabulary: Vocabulary) -> Engine:
    name = wanted
    if name == "auto":
        name = "llguidance" if importlib.util.find_spec("llguidance") else "xgrammar"
    if importlib.util.find_spec(name) is None:
        raise GrammarError(f"The grammar engine {name} is not installed.", _REMEDIES[name])
    if name == "llguidance":
        from velospec.constraints.llguidance import LlguidanceEngine  # noqa: PLC0415 - loaded when first used

        return LlguidanceEngine(vocabulary)
    from velospec.constraints.xgrammar import XgrammarEngine  # noqa: PLC0415 - loads torch

    return XgrammarEngine(vocabulary)
