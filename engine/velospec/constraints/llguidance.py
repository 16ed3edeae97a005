"""Grammars by llguidance (MIT, 3 MB, no dependencies): the engine of the light install.

Every grammar is handed over in its Lark notation with forcing switched off: by itself the engine allows
forced text in one tokenization only, which the unconstrained model might not choose. The one home of the
llguidance package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from llguidance.gbnf_to_lark import any_to_lark

from velospec.backends.base import Vocabulary
from velospec.constraints.gbnf import for_llguidance
from velospec.constraints.json_schema.patterns import write
from velospec.constraints.marks import marks_in
from velospec.constraints.matcher import Words
from velospec.constraints.refusal import overload, reason, refusal
from velospec.constraints.regex import whole_text
from velospec.constraints.schema import check_schema
from velospec.constraints.tags_lark import tags_lark
from velospec.core.errors import GrammarError
from velospec.core.grammar import LONGEST_WHITESPACE, Grammar, GrammarKind, Whitespace

_HEADER = '%llguidance {"no_forcing": true}\n'
_SPECIAL = b"\xff"  # marks a token that no text stands for
# Each optional property is four items of a row; by itself the engine takes 2,000 of them. Errors are told
# without the engine's state.
_LIMITS = LLParserLimits(max_items_in_row=50_000, verbose_errors=False)
_SEPARATORS = {
    Whitespace.SPACED: {"item_separator": ", ", "key_separator": ": ", "whitespace_flexible": False},
    Whitespace.COMPACT: {"item_separator": ",", "key_separator": ":", "whitespace_flexible": False},
    Whitespace.FLEXIBLE: {"whitespace_pattern": f"[\\x20\\x0A\\x0D\\x09]{{1,{LONGEST_WHITESPACE}}}"},
}


class LlguidanceEngine:
    """Implements `constraints.matcher.Engine`. Made once for a vocabulary: 0.1 s for 49,000 tokens."""

    name = "llguidance"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        pieces = {vocabulary.piece(token): token for token in range(vocabulary.size)}
        self._bytes = {piece[0]: token for piece, token in pieces.items() if len(piece) == 1}
        self._tokenizer = LLTokenizer(
            TokenizerWrapper(_Tokens(vocabulary)),
            n_vocab=vocabulary.size,
            eos_token=sorted(vocabulary.end_ids),
            slices=LLTokenizer.json_slices(),
        )

    def compile(self, grammar: Grammar) -> LlguidanceGrammar:
        """See `Engine.compile`."""
        marks = {} if grammar.tags is None else marks_in(grammar.tags.literals, self._vocabulary)
        source = LLMatcher.grammar_from_lark(_HEADER + _lark(grammar, marks))
        matcher = LLMatcher(self._tokenizer, source, log_level=0, limits=_LIMITS)
        messages = [matcher.get_error()] if matcher.is_error() else matcher.get_grammar_warnings()
        if messages:
            raise refusal(grammar.kind, messages[0])
        return LlguidanceGrammar(self._tokenizer, self._bytes, matcher, marked=bool(marks))


class LlguidanceGrammar:
    """Implements `constraints.matcher.CompiledGrammar`."""

    def __init__(
        self, tokenizer: LLTokenizer, single: Mapping[int, int], matcher: LLMatcher, *, marked: bool
    ) -> None:
        self._tokenizer = tokenizer
        self._single = single  # the ids of single bytes
        self._marked = marked
        self._matcher = matcher

    def matcher(self, after: bytes = b"") -> LlguidanceMatcher:
        """See `CompiledGrammar.matcher`."""
        matcher = self._matcher.deep_copy()
        ids = self._ids(after)
        read = matcher.try_consume_tokens(ids)
        if read < len(ids):
            fits = self._tokenizer.decode_bytes(ids[:read]).decode(errors="replace")
            raise GrammarError(
                f"The text before the answer does not fit the grammar behind its character {len(fits)}.",
                "Mend the text there, or ask without a grammar.",
            )
        return LlguidanceMatcher(matcher, marked=self._marked)

    def _ids(self, text: bytes) -> list[int]:
        """Some ids that spell `text`, which may end inside a character."""
        whole = text.decode(errors="ignore")
        rest = text[len(whole.encode()) :]
        return [*self._tokenizer.greedy_tokenize(whole), *(self._single[byte] for byte in rest)]


class LlguidanceMatcher:
    """Implements `constraints.matcher.Matcher`."""

    def __init__(self, matcher: LLMatcher, *, marked: bool = False) -> None:
        """`marked` says whether control tokens are part of the grammar."""
        self._matcher = matcher
        self._marked = marked

    @property
    def accepting(self) -> bool:
        self._check(self._matcher)
        return self._matcher.is_accepting()

    @property
    def stopped(self) -> bool:
        self._check(self._matcher)
        return self._matcher.is_stopped()

    def accept(self, token: int) -> bool:
        accepted = self._matcher.try_consume_tokens([token]) == 1
        self._check(self._matcher)
        return accepted

    def consume(self, ids: Sequence[int]) -> int:
        count = self._matcher.try_consume_tokens(list(ids))
        self._check(self._matcher)
        return count

    def check(self) -> None:
        self._check(self._matcher)
        # Cursors of one grammar share its lexer: where that gave up, the others are told with their mask.
        other = self._matcher.deep_copy()
        other.compute_bitmask()
        self._check(other)

    def valid(self, ids: Sequence[int]) -> int:
        count = self._matcher.validate_tokens(list(ids))
        self._check(self._matcher)
        return count

    def rollback(self, count: int) -> None:
        if not self._matcher.rollback(count):
            raise overload(self._matcher.get_error())

    def fill(self, mask: Words) -> None:
        if self.stopped:
            return
        self._matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
        self._check(self._matcher)

    def forced(self) -> bytes:
        if not self._marked:
            text = self._matcher.compute_ff_bytes()
            self._check(self._matcher)
            return text
        # 1.9.1 makes no mask any more where it was asked for forced bytes and a control token is forced.
        return self._matcher.deep_copy().compute_ff_bytes().split(_SPECIAL, 1)[0]

    @staticmethod
    def _check(matcher: LLMatcher) -> None:
        """A matcher that gave up says of everything that it is refused, and that the text has to end."""
        if matcher.is_error():
            raise overload(matcher.get_error())


class _Tokens:
    """The vocabulary as llguidance reads one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        hidden = vocabulary.control_ids | vocabulary.end_ids
        self._encode = vocabulary.encode
        self.eos_token_id = min(vocabulary.end_ids)
        self.bos_token_id = None
        self.special_token_ids = sorted(hidden)
        self.tokens = [
            _SPECIAL + b"%d" % token if token in hidden else vocabulary.piece(token)
            for token in range(vocabulary.size)
        ]

    def __call__(self, text: bytes) -> list[int]:
        return self._encode(text.decode(errors="replace"))


def _lark(grammar: Grammar, marks: Mapping[str, int]) -> str:
    match grammar.kind:
        case GrammarKind.JSON:
            return f"start: {_json('{}', grammar.whitespace)}\n"
        case GrammarKind.JSON_SCHEMA:
            return f"start: {_json(grammar.source, grammar.whitespace, weaken=grammar.weaken)}\n"
        case GrammarKind.EBNF:
            return _from_ebnf(grammar.source)
        case GrammarKind.REGEX:
            return f"start: TEXT\nTEXT: /{write(whole_text(grammar.source))}/\n"
        case GrammarKind.TAGS:
            if grammar.tags is None:
                raise GrammarError(
                    "A grammar of the kind TAGS needs `tags`.", "Name the calls in Grammar.tags."
                )
            return tags_lark(grammar.tags, partial(_json, whitespace=grammar.whitespace), marks)


def _json(schema: str, whitespace: Whitespace, *, weaken: bool = False) -> str:
    prepared = check_schema(schema, weaken=weaken)
    return "%json " + json.dumps({**prepared.schema, "x-guidance": _SEPARATORS[whitespace]})


def _from_ebnf(source: str) -> str:
    plain = for_llguidance(source)
    try:
        lark: str = any_to_lark(plain)
    except RecursionError as error:
        raise GrammarError(
            "The EBNF grammar cannot be read: its groups are nested too deep.",
            "Give the inner ones rules of their own.",
        ) from error
    except Exception as error:  # the converter raises plain exceptions
        raise GrammarError(
            f"The EBNF grammar cannot be read: {reason(str(error))}.", "See llama.cpp's grammars/README."
        ) from error
    return lark
