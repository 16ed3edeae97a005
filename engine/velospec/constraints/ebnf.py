"""Grammars as EBNF text, in the notation of llama.cpp with two additions of xgrammar's: counts and token ids.

Knows how symbols are written and rules renamed; what a grammar means is not its business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from velospec.constraints.json_schema.pattern_nodes import (
    Anchor,
    Chars,
    Choice,
    Node,
    PatternError,
    Ranges,
    Repeat,
    complement,
)
from velospec.constraints.json_schema.pattern_nodes import Sequence as Row

_RULE = re.compile(r"^([A-Za-z_][\w-]*) ::=", re.MULTILINE)
# What stands in a rule's body: texts and classes, which are left alone, and names.
_TERM = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[A-Za-z_][\w-]*')


def literal(text: str) -> str:
    """`text` as a terminal."""
    return f'"{"".join(map(_escaped, text))}"'


def other_than(chars: str) -> str:
    """The class of all characters but `chars`; a negated class of xgrammar's would have surrogates in it."""
    return char_class(complement((ord(char), ord(char)) for char in chars))


def char_class(ranges: Iterable[tuple[int, int]]) -> str:
    """The class of the characters in `ranges` of code points, ends included."""
    spans = (_escaped(chr(low)) + (f"-{_escaped(chr(high))}" if high > low else "") for low, high in ranges)
    return f"[{''.join(spans)}]"


def symbols(parts: Iterable[str | int]) -> str:
    """Texts and token ids, one after the other; two quotes where there is none."""
    written = [f"Token({part})" if isinstance(part, int) else literal(part) for part in parts]
    return " ".join(written) or '""'


def expression(node: Node, symbol: Callable[[Ranges], str]) -> str | None:
    """What `node` matches, with characters as `symbol` writes them; None where no text matches."""
    match node:
        case Chars(ranges):
            return symbol(ranges) if ranges else None
        case Row(parts):
            written = [expression(part, symbol) for part in parts]
            return None if None in written else " ".join(filter(None, written)) or '""'
        case Choice(options):
            found = [text for option in options if (text := expression(option, symbol)) is not None]
            return f"({' | '.join(found)})" if found else None
        case Repeat(inner, least, most):
            text = expression(inner, symbol)
            if text is None or most == 0:
                return None if least else '""'
            if (least, most) in {(0, None), (1, None), (0, 1)}:
                return f"({text})" + {(0, None): "*", (1, None): "+", (0, 1): "?"}[least, most]
            return f"({text}){{{least},{'' if most is None else most}}}"
        case Anchor():
            raise PatternError("an anchor stands in its middle")


def prefixed(grammar: str, prefix: str, shared: Iterable[str]) -> str:
    """`grammar` with `prefix` before the name of each of its rules but those `shared` with others."""
    names = set(_RULE.findall(grammar)).difference(shared)

    def renamed(found: re.Match[str]) -> str:
        return prefix + found[0] if found[0] in names else found[0]

    return _TERM.sub(renamed, grammar)


def _escaped(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
