"""Drafts what the structure of the code obliges to: closers, colons, line ends, indentation in and out.

A shadow of the syntax tree follows the text: open brackets, strings and comments (`lexing`), the statement
under way and the blocks around it (`outline`). Where these leave little choice (`duties`), the text that must
follow is drafted; never inside a string or comment. Knows no grammar beyond that, and no names.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.proposers.cursor import before_cursor
from velospec.proposers.structure import duties
from velospec.proposers.structure.duties import Duty, Reason
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.layout import Layout
from velospec.proposers.structure.lexing import Lexer, State, lexer
from velospec.proposers.structure.outline import Outline, advance

_UNITS = {"go": b"\t", "json": b"  ", "javascript": b"  ", "typescript": b"  "}
_LANGUAGES = frozenset(
    ("python", "javascript", "typescript", "go", "rust", "java", "c", "cpp", "json", "sql")
)
_LISTS = frozenset(("json", "sql"))
_PRIORS = {
    Reason.BLOCK: 0.85,
    Reason.HEADER: 0.9,
    Reason.DEFINITION: 0.7,
    Reason.CONDITION: 0.4,
    Reason.LEAVE: 0.8,
    Reason.RETURN: 0.4,
    Reason.NEXT: 0.4,
    Reason.CLOSE: 0.3,
    Reason.LINE: 0.4,
    Reason.SEMICOLON: 0.8,
    Reason.BRACE: 0.6,
    Reason.ITEM: 0.6,
}


class AstShadow:
    """The proposer `ast_shadow`. Its evidence is four times the reason of the draft, plus its detail."""

    name = "ast_shadow"

    def __init__(self, vocabulary: Vocabulary, *, language: str = "") -> None:
        self._vocabulary = vocabulary
        self._encoder = Encoder(vocabulary)
        self._ids: list[int] = []
        self._places: list[tuple[State, Outline]] = []  # after each id
        self._language = language
        self._set(language)

    def use_language(self, name: str) -> None:
        """The language of the next request; one whose structure is not known gets no drafts."""
        if name != self._language:
            self._set(name)

    def begin(self, ids: Sequence[int]) -> None:
        """Start a request; what `ids` have in common with the last one's text need not be read again."""
        text = before_cursor(ids, self._vocabulary.control_ids)
        pairs = enumerate(zip(self._ids, text, strict=False))
        common = next((i for i, (mine, theirs) in pairs if mine != theirs), min(len(self._ids), len(text)))
        del self._ids[common:], self._places[common:]
        self.extend(text[common:])

    def extend(self, ids: Sequence[int]) -> None:
        if self._language not in _LANGUAGES:
            return
        state, outline = self._places[-1] if self._places else (State(), self._start)
        for token in ids:
            state, lexemes = self._lexer.feed(state, self._vocabulary.piece(token))
            for lexeme in lexemes:
                outline = advance(outline, lexeme, braces=self._braces)
            self._ids.append(token)
            self._places.append((state, outline))

    def propose(self, limit: int) -> Draft:
        if limit < 1 or not self._places:
            return EMPTY
        state, outline = self._places[-1]
        open_bytes = len(state.pending)
        state, lexemes = self._lexer.peek(state)
        if not state.in_code:
            return EMPTY
        for lexeme in lexemes:
            outline = advance(outline, lexeme, braces=self._braces)
        duty = self._duty(outline)
        if duty is None or not duty.text.startswith(state.pending):
            return EMPTY
        text = duty.text[len(state.pending) :]
        # Whitespace at the end joins what follows it; a letter stands for that.
        ids = self._encoder.after(self._ids, open_bytes, text + b"x", len(text)) if text else ()
        if not ids:
            return EMPTY
        return Draft(ids[:limit], self.name, 4 * duty.reason + duty.detail, _PRIORS[duty.reason])

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""

    def _set(self, language: str) -> None:
        self._language = language
        self._lexer: Lexer = lexer(language)
        self._braces = language != "python"
        gaps = (2, 2, 1) if self._braces else (3, 2, 1)
        self._start = Outline(layout=Layout(unit=_UNITS.get(language, b"    ")), gaps=gaps)
        self._ids.clear()
        self._places.clear()

    def _duty(self, outline: Outline) -> Duty | None:
        if self._language == "python":
            return duties.indented(outline)
        if self._language in _LISTS:
            return duties.listed(outline, values=self._language == "json")
        return duties.braced(outline, semicolons=self._language in duties.SEMICOLONS)
