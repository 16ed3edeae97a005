r"""What a syntax rule and a language are: plain data, written down in one file per language beside this one.

A rule says: where the text so far ends in `left`, `text` follows. `left` is a small regular expression over
the *squeezed* text, in which the contents of strings and comments and the indentation of lines are left out,
and `""` stands for any string. It is compiled once into an automaton (`pattern`); nothing is searched at run
time. Knows no tokens.

Notation of `left`: letters stand for themselves; `^` line start, `\t` start of an indented line, `\n` start
of one that is not, or line end; `\i` first byte of an identifier, `\w` any byte of one, `\b` any byte that is
none, `\d` digit, `.` any byte of the line, `[...]` and `[^...]` classes, `( | )`, `*`, `+`, `?`; `{name}` and
`{path}` stand for an identifier, without and with dots. Other signs are escaped by a backslash.

Notation of `text`: literal, but that the whitespace after a newline is relative: nothing for the indentation
of the line before, `\t` for one level deeper, `\b` for one level less. A text that ends in whitespace stops
before the first letter of what follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MACROS = {"{name}": r"\i\w*", "{path}": r"\i[\w.]*"}
INDENTED = 1
"""The byte that patterns see before the first letter of an indented line."""


class Rule(NamedTuple):
    """`text` follows `left`, with the chance `prior` for its first token as long as nothing was counted."""

    left: str
    text: str
    prior: float = 0.6


@dataclass(frozen=True, slots=True)
class Lexis:
    """Where strings and comments begin and end.

    `quotes` open strings of one line that a backslash escapes in; `blocks` are (open, close, escapes) of
    strings over several lines; in `joining` brackets a line's end does not end the statement.
    """

    quotes: str = "\"'"
    blocks: tuple[tuple[str, str, bool], ...] = ()
    line_comments: tuple[str, ...] = ()
    block_comments: tuple[tuple[str, str], ...] = ()
    joining: str = "()[]"
    lifetimes: bool = False  # an apostrophe that does not close after one character is no quote


@dataclass(frozen=True, slots=True)
class Language:
    """All that is known of one language: its rules, its lexis, and its usual unit of indentation."""

    name: str
    rules: tuple[Rule, ...]
    lexis: Lexis
    unit: str = "    "
