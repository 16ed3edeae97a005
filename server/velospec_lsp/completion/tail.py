"""The text right of the cursor: closers that an editor put there by itself, or real text.

An editor that closes brackets leaves `)` behind the cursor of `print(`. A completion that closes the bracket
itself must replace that one, and one that does not must leave it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from velospec_lsp.completion.languages import Language, Span
from velospec_lsp.completion.outline import PAIRS, pattern, rest_of

_INERT = re.compile(r"[\s)\]}>\"'`]*[;:,{]?\s*")
_QUOTES = frozenset("\"'`")


def is_inert(tail: str) -> bool:
    """Whether `tail` is closers, quotes and spaces only, then at most one of `;:,{`."""
    return _INERT.fullmatch(tail) is not None


def closing(text: str, tail: str, language: Language) -> list[int]:
    """Where in `text` the closers at the start of `tail` are written once more, in order.

    A closer counts where `text` itself did not open it: `x)` closes the tail `)`, `f(x)` does not.
    """
    expected = "".join(tail.split())
    found = _end_of_string(text, expected, language)
    if expected[:1] in _QUOTES and not found:
        return []
    open_closers: list[str] = []
    place = found[-1] + 1 if found else 0
    signs = pattern(_with_signs(language))
    while len(found) < len(expected) and (match := signs.match(text, place)) and match.end() > place:
        place = match.end()
        if match.lastgroup is None:
            continue
        at, wanted, sign = match.start(match.lastgroup), expected[len(found)], match[match.lastgroup]
        if open_closers and sign == open_closers[-1]:
            open_closers.pop()
        elif not open_closers and (sign == wanted or (wanted in _QUOTES and sign[0] == wanted)):
            found.append(at)
            place = at + 1
        elif sign in PAIRS:
            open_closers.append(PAIRS[sign])
    return found


def covers(text: str, tail: str, language: Language) -> bool:
    """Whether `text` writes the whole inert `tail` itself, so that it may replace it."""
    if not tail.strip() or not is_inert(tail):
        return False
    wanted = len("".join(tail.split()))
    return len(closing(text, tail, language)) == wanted and _is_subsequence(tail, text)


def _end_of_string(text: str, expected: str, language: Language) -> list[int]:
    """Where `text` ends the string that the quote at the start of `expected` ends; empty if nowhere."""
    quote = expected[:1]
    if quote not in _QUOTES:
        return []
    spans = [span for span in language.strings if span.close[0] == quote and expected.startswith(span.close)]
    span = max(spans, key=lambda span: len(span.close), default=Span(quote, quote))
    rest = rest_of(span).match(text)
    if rest is None or rest["closed"] is None:
        return []
    return list(range(rest.start("closed"), rest.end("closed")))


@cache
def _with_signs(language: Language) -> Language:
    """`language` with the signs that may stand in a tail; in prose an editor closes brackets too."""
    return replace(language, brackets=language.brackets or "()[]{}", signs=";:,>")


def _is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(char in rest for char in part)
