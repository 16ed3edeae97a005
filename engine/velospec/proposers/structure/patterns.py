"""The regular expressions that `lexing` reads with, made from a language's lexicon.

Each matches one lexeme and the whitespace before it, `lead`; the name of the group that matched after it says
what the lexeme is. `drop` matches nothing: there a string or comment ends without a sign of its own.
"""

from __future__ import annotations

import re
from functools import cache

from velospec.proposers.structure.lexicon import Lexicon, StringRule

_WORD = rb"(?P<word>[\w\x80-\xff]{1,64})"
_BLANK = rb"(?P<lead>(?:[ \t\r\n\f\v]|\\\r?\n)*)"
_BLANK_IN_LINE = rb"(?P<lead>[ \t\r\f\v]*)"
_SPACED = rb"(?P<lead>[ \t\r\n\f\v]*)"
_LINE_END = rb"(?P<drop>(?=\n))"
_OTHER = rb"(?P<other>.)"
_NUMBER = rb"0[xX][\w.]*|%b[0-9](?:[eEpP][+-](?=[\w])|\w|\.(?!\.))*"


def _join(lead: bytes, *choices: bytes) -> re.Pattern[bytes]:
    return re.compile(lead + rb"(?:" + rb"|".join(choice for choice in choices if choice) + rb")?", re.DOTALL)


def code(facts: Lexicon, *, operand: bool) -> re.Pattern[bytes]:
    """Code after an operand, where a slash divides and a dot leads to a member, or elsewhere."""
    strings = [
        rb"(?P<string%d>%b)" % (number, rule.opener.replace("<mark>", f"<mark{number}>").encode("latin-1"))
        for number, rule in enumerate(facts.strings)
    ]
    comments = "|".join(map(re.escape, facts.line_comments))
    blocks = "|".join(re.escape(opener) for opener, _ in facts.block_comments)
    longest_first = sorted(facts.operators, key=len, reverse=True)
    operators = "|".join((*map(re.escape, longest_first), "."))
    return _join(
        _BLANK,
        _group("comment", comments),
        _group("block", blocks),
        _group("extra", facts.extra),
        *strings,
        rb"(?P<number>%b)" % (_NUMBER % (b"" if operand else rb"\.?")),
        _group("name", facts.name),
        _group("regex", "/") if facts.regex and not operand else b"",
        rb"(?P<open>[(\[{])",
        rb"(?P<close>[)\]}])",
        _group("operator", operators),
    )


def beginnings(facts: Lexicon) -> frozenset[bytes]:
    """What may yet become an operator or opener of several bytes."""
    signs = [*facts.operators, *facts.line_comments, *(opener for opener, _ in facts.block_comments)]
    found = {sign[:end].encode() for sign in signs for end in range(1, len(sign))}
    return frozenset(found | {b"\\"})


def unfinished(facts: Lexicon) -> re.Pattern[bytes]:
    """What ends a text in the midst of a number or an opener."""
    choices = [r"[0-9][\w.]*[eEpP][+-]", *filter(None, [facts.unfinished])]
    return re.compile("|".join(choices).encode("latin-1"), re.DOTALL)


@cache
def string(rule: StringRule, close: bytes) -> re.Pattern[bytes]:
    """The inside of a string that `close` ends."""
    hole = b""
    escape = rb"(?P<escape>\\(?:\r\n|.))" if rule.escapes else b""
    if rule.hole == "{":
        hole = rb"(?P<doubled>\{\{|\}\})|(?P<hole>\{)"
        escape = rb"(?P<escape>\\N\{[^}\n]*\}|\\(?:\r\n|[^{N]))"
    elif rule.hole:
        hole = _group("hole", re.escape(rule.hole))
    return _join(
        _SPACED if rule.lines else _BLANK_IN_LINE,
        escape,
        rb"(?P<end>%b)" % re.escape(close),
        hole,
        b"" if rule.lines else _LINE_END,
        _WORD,
        _OTHER,
    )


@cache
def block(opener: bytes, close: bytes, *, nested: bool) -> re.Pattern[bytes]:
    """The inside of a comment that `close` ends."""
    inner = rb"(?P<block>%b)" % re.escape(opener) if nested else b""
    return _join(_SPACED, rb"(?P<end>%b)" % re.escape(close), inner, _WORD, _OTHER)


LINE = _join(_BLANK_IN_LINE, _LINE_END, _WORD, _OTHER)
"""The inside of a comment that its line ends."""
FORMAT = _join(rb"(?P<lead>)", rb"(?P<drop>(?=\}))", rb"(?P<hole>\{)", _WORD, _OTHER)
"""What says in a string how an embedded expression is written."""
REGEX = _join(
    _BLANK_IN_LINE,
    _LINE_END,
    rb"(?P<escape>\\[^\n])",
    rb"(?P<class>\[(?:\\.|[^\]\\\n])*\])",
    rb"(?P<end>/[a-z]*)",
    _WORD,
    _OTHER,
)
"""The inside of a regular expression literal."""


def _group(name: str, pattern: str) -> bytes:
    return f"(?P<{name}>{pattern})".encode("latin-1") if pattern else b""
