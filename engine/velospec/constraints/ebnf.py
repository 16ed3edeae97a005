"""Grammars as EBNF text, in the notation of llama.cpp with two additions of xgrammar's: counts and token ids.

Knows how symbols are written and rules renamed; what a grammar means is not its business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_RULE = re.compile(r"^([A-Za-z_][\w-]*) ::=", re.MULTILINE)
# What stands in a rule's body: texts and classes, which are left alone, and names.
_TERM = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[A-Za-z_][\w-]*')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|.)", re.DOTALL)


def literal(text: str) -> str:
    """`text` as a terminal."""
    return f'"{"".join(map(_escaped, text))}"'


def other_than(chars: str) -> str:
    """The class of all characters but `chars`."""
    return f"[^{''.join(map(_escaped, chars))}]" if chars else r"[\0-\U0010ffff]"


def char_class(ranges: Iterable[tuple[int, int]]) -> str:
    """The class of the characters in `ranges` of code points, ends included."""
    spans = (_escaped(chr(low)) + (f"-{_escaped(chr(high))}" if high > low else "") for low, high in ranges)
    return f"[{''.join(spans)}]"


def symbols(parts: Iterable[str | int]) -> str:
    """Texts and token ids, one after the other; two quotes where there is none."""
    written = [f"Token({part})" if isinstance(part, int) else literal(part) for part in parts]
    return " ".join(written) or '""'


def with_long_escapes(grammar: str) -> str:
    r"""`grammar` with escapes of two digits written with four: xgrammar reads all digits behind `\x`."""
    return _ESCAPE.sub(lambda found: f"\\u00{found[1]}" if found[1] else found[0], grammar)


def prefixed(grammar: str, prefix: str) -> str:
    """`grammar` with `prefix` before the name of each of its rules."""
    names = set(_RULE.findall(grammar))

    def renamed(found: re.Match[str]) -> str:
        return prefix + found[0] if found[0] in names else found[0]

    return _TERM.sub(renamed, grammar)


def _escaped(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
