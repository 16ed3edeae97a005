"""Grammars in llama.cpp's notation, with characters and classes of them rewritten so that engines agree.

The engines' own readers differ: one mixes up the escapes of code points, the other reads any number of digits
behind `x`, lets surrogates through negated classes, and knows no dot. Rules and their operators are left to
the engines. Source of the notation: llama.cpp, grammars/README.md and src/llama-grammar.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from velospec.constraints.ebnf import char_class, literal
from velospec.constraints.gbnf_rules import endless_rule
from velospec.constraints.json_schema.pattern_nodes import LAST, Ranges, complement
from velospec.core.errors import GrammarError

_TERM = re.compile(r'"((?:\\.|[^"\\\n])*)"|\[((?:\\.|[^\]\\\n])*)\]|#[^\n]*|\.')
_CHAR = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))|(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-", "^": "^"}
_TWICE = re.compile(  # texts and classes, which are left alone, and repetitions of a repetition in brackets
    r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|([*+?]|\{[^}]*\})(?=\s*\)\s*[*+?{])'
)
_TEXT = {'"': '\\"', "\\": "\\\\"}
_ROOT = re.compile(r"^\s*root\s*::=", re.MULTILINE)


def for_llguidance(source: str) -> str:
    """`source` as llguidance's converter reads it: characters as themselves or by two digits.

    It takes the brackets off a single term, whatever repeats inside and outside of them; not off two terms.
    """
    return _TWICE.sub(lambda found: found[0] + (' ""' if found[1] else ""), _rewritten(source, _text, _chars))


def for_xgrammar(source: str) -> str:
    """`source` as xgrammar reads it: escapes of four or eight digits."""
    return _rewritten(source, literal, char_class)


def _text(text: str) -> str:
    shown = (_TEXT.get(char, char) if char.isprintable() or char > "~" else _escaped(char) for char in text)
    return f'"{"".join(shown)}"'


def _chars(ranges: Ranges) -> str:
    ends = ((_escaped(chr(low)), _escaped(chr(high))) for low, high in ranges)
    return f"[{''.join(low if low == high else f'{low}-{high}' for low, high in ends)}]"


def _escaped(char: str) -> str:
    return char if char.isalnum() or char > "~" else f"\\x{ord(char):02x}"


def _rewritten(source: str, text: Callable[[str], str], chars: Callable[[Ranges], str]) -> str:
    """`source` with texts as `text` writes them, classes as `chars` does, and no comments."""
    if not _ROOT.search(source):
        raise GrammarError(
            "The EBNF grammar has no rule `root ::= ...`.", "Name the rule for the whole text root."
        )
    endless = endless_rule(source)
    if endless is not None:
        raise GrammarError(
            f"The rule `{endless}` of the EBNF grammar has no end: each of its alternatives needs it again.",
            "Give it an alternative that ends.",
        )

    def term(found: re.Match[str]) -> str:
        if found[1] is not None:
            return text("".join(map(chr, _codes(found[1]))))
        if found[2] is not None:
            ranges = _ranges(found[2])
            if not ranges:
                raise GrammarError(
                    f"The EBNF grammar has the class {found[0]}, which no character is of.",
                    'Name its characters, or write "" for nothing.',
                )
            return chars(ranges)
        return chars(((0, LAST),)) if found[0] == "." else ""

    return _TERM.sub(term, source)


def _codes(written: str) -> list[int]:
    return [_code(found) for found in _CHAR.finditer(written)]


def _code(found: re.Match[str]) -> int:
    digits = found[1] or found[2] or found[3]
    if digits:
        code = int(digits, 16)
        if code <= LAST:
            return code
    elif found[5]:
        return ord(found[5])
    elif found[4] in _ESCAPES:
        return ord(_ESCAPES[found[4]])
    raise GrammarError(
        f"The EBNF grammar has the escape {found[0]}, which is none.", "Write the character itself."
    )


def _ranges(written: str) -> Ranges:
    negated = written.startswith("^")
    found = list(_CHAR.finditer(written, int(negated)))
    ranges, place = [], 0
    while place < len(found):
        low = high = _code(found[place])
        if place + 2 < len(found) and found[place + 1][0] == "-":
            high = _code(found[place + 2])
            place += 2
        place += 1
        ranges.append((low, high))
    return complement(ranges) if negated else complement(complement(ranges))
