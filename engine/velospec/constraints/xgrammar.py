"""Grammars by xgrammar (Apache-2.0): the other engine, for installations that have torch.

Every grammar becomes EBNF: by `schema_ebnf` and `tags_ebnf`, and a regular expression by xgrammar itself. Its
own JSON grammars guess what follows a string; where JSON ends inside other text, that makes masks refuse what
`accept` takes. The one home of the xgrammar package.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import xgrammar

from velospec.backends.base import Vocabulary
from velospec.constraints.ebnf import char_class, expression
from velospec.constraints.gbnf import for_xgrammar
from velospec.constraints.marks import marks_in
from velospec.constraints.matcher import Words
from velospec.constraints.refusal import refusal
from velospec.constraints.regex import whole_text
from velospec.constraints.schema import check_schema
from velospec.constraints.schema_ebnf import schema_ebnf
from velospec.constraints.tags_ebnf import tags_ebnf
from velospec.core.errors import GrammarError
from velospec.core.grammar import Grammar, GrammarKind, Whitespace

_LONG_RULE = (
    30_000  # characters; the masks of longer rules are made with the grammar: later they take seconds
)
_KEPT_BYTES = 64_000_000  # of masks of rules that several grammars share
_THREADS = 2


class XgrammarEngine:
    """Implements `constraints.matcher.Engine`. Made once for a vocabulary: 0.1 s for 49,000 tokens."""

    name = "xgrammar"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokens = _Tokens(vocabulary)
        settings = {"max_threads": _THREADS, "cache_limit_bytes": _KEPT_BYTES}
        self._eager = xgrammar.GrammarCompiler(self._tokens.info, **settings)
        self._lazy = xgrammar.GrammarCompiler(self._tokens.info, enable_dynamic_compilation=True, **settings)

    def compile(self, grammar: Grammar) -> XgrammarGrammar:
        """See `Engine.compile`."""
        try:
            ebnf = _ebnf(grammar, self._vocabulary)
            longest = max(map(len, ebnf.splitlines()))
            compiled = (self._eager if longest > _LONG_RULE else self._lazy).compile_grammar(ebnf)
        except (RuntimeError, ValueError) as error:  # what xgrammar raises
            raise refusal(grammar.kind, str(error)) from error
        return XgrammarGrammar(compiled, self._tokens)


class XgrammarGrammar:
    """Implements `constraints.matcher.CompiledGrammar`."""

    def __init__(self, compiled: xgrammar.CompiledGrammar, tokens: _Tokens) -> None:
        self._compiled = compiled
        self._tokens = tokens

    def matcher(self, after: bytes = b"") -> XgrammarMatcher:
        """See `CompiledGrammar.matcher`."""
        matcher = xgrammar.GrammarMatcher(self._compiled)
        if after and not matcher.accept_string(after):
            fits = next(
                length
                for length in range(len(after))
                if not matcher.accept_string(after[length : length + 1])
            )
            read = after[:fits].decode(errors="replace")
            raise GrammarError(
                f"The text before the answer does not fit the grammar behind its character {len(read)}.",
                "Mend the text there, or ask without a grammar.",
            )
        return XgrammarMatcher(matcher, self._tokens)


class XgrammarMatcher:
    """Implements `constraints.matcher.Matcher`."""

    def __init__(self, matcher: xgrammar.GrammarMatcher, tokens: _Tokens) -> None:
        self._matcher = matcher
        self._tokens = tokens

    @property
    def accepting(self) -> bool:
        return bool(self._matcher.is_completed())

    @property
    def stopped(self) -> bool:
        if not self._matcher.is_completed():
            return False
        mask = np.zeros_like(self._tokens.endless)
        self.fill(mask)
        return not mask.any()

    def accept(self, token: int) -> bool:
        # xgrammar warns on the error stream of each token without text.
        return token not in self._tokens.blank and bool(self._matcher.accept_token(token))

    def consume(self, ids: Sequence[int]) -> int:
        return next((place for place, token in enumerate(ids) if not self.accept(token)), len(ids))

    def check(self) -> None:
        """This engine gives up on a grammar when it compiles it, and not later."""

    def valid(self, ids: Sequence[int]) -> int:
        count = self.consume(ids)
        self.rollback(count)
        return count

    def rollback(self, count: int) -> None:
        if count:
            self._matcher.rollback(count)

    def fill(self, mask: Words) -> None:
        self._matcher.fill_next_token_bitmask(mask)
        mask &= self._tokens.endless

    def forced(self) -> bytes:
        return b"" if self._matcher.is_completed() else self._matcher.find_jump_forward_string().encode()


class _Tokens:
    """The vocabulary as xgrammar reads one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Control tokens get bytes that no text has, so that they can be named by id, and only so."""
        ends, size = vocabulary.end_ids, vocabulary.size
        pieces = [
            b""
            if token in ends
            else b"\xff%d" % token
            if token in vocabulary.control_ids
            else vocabulary.piece(token)
            for token in range(size)
        ]
        self.info = xgrammar.TokenizerInfo(
            pieces, xgrammar.VocabType.RAW, vocab_size=size, stop_token_ids=sorted(ends)
        )
        self.blank = frozenset(token for token, piece in enumerate(pieces) if not piece)
        allowed = np.zeros(-(-size // 32) * 32, dtype=np.uint8)
        allowed[:size] = 1
        allowed[list(ends)] = 0
        self.endless: Words = np.packbits(allowed, bitorder="little").view(np.int32)
        """A mask of all ids but the end tokens."""


def _ebnf(grammar: Grammar, vocabulary: Vocabulary) -> str:
    json_of = partial(_json, whitespace=grammar.whitespace)
    match grammar.kind:
        case GrammarKind.JSON:
            return json_of("{}")
        case GrammarKind.JSON_SCHEMA:
            return json_of(grammar.source, weaken=grammar.weaken)
        case GrammarKind.EBNF:
            return for_xgrammar(grammar.source)
        case GrammarKind.REGEX:
            return f"root ::= {expression(whole_text(grammar.source), char_class)}"
        case GrammarKind.TAGS:
            if grammar.tags is None:
                raise GrammarError(
                    "A grammar of the kind TAGS needs `tags`.", "Name the calls in Grammar.tags."
                )
            return tags_ebnf(grammar.tags, json_of, marks_in(grammar.tags.literals, vocabulary))


def _json(schema: str, whitespace: Whitespace, *, weaken: bool = False) -> str:
    return schema_ebnf(check_schema(schema, weaken=weaken).schema, whitespace)
