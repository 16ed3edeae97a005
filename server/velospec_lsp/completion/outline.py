"""Brackets, strings and comments of a piece of text: what it opens and does not close, and the reverse.

One regular expression per language finds strings and comments whole, so that brackets in them count for
nothing; the time is linear in the text. A piece may begin and end within a string or comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from velospec_lsp.completion.languages import Language, Span

PAIRS = {"(": ")", "[": "]", "{": "}"}
"""The closing bracket of each opening one."""

_BEFORE = 4096  # characters before the cursor in which brackets are counted
_TAB = 4  # columns; where tabs and spaces are mixed, it is as good as any


@dataclass(frozen=True, slots=True)
class Bracket:
    """An opening or closing bracket: the `closer` it is or needs, and the indentation of its line.

    `indent` is None for a closing bracket with other text before it on its line.
    """

    closer: str
    at: int
    indent: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """What is left over of a text's brackets, in the order of the text."""

    opened: tuple[Bracket, ...]  # not closed in it
    closed: tuple[Bracket, ...]  # not opened in it
    crossed: int | None  # where the first bracket stands that closes another one than the last open one
    inside: Span | None  # the string or comment in which the text ends
    inside_at: int  # where that begins
    ended: bool  # the string or comment in which the text began has its end in it


class _Brackets:
    """The brackets left over of those taken so far, as closers with their places."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, int]] = []
        self.closed: list[tuple[str, int]] = []
        self.crossed: int | None = None

    def take(self, sign: str, at: int) -> None:
        if sign in PAIRS:
            self.opened.append((PAIRS[sign], at))
            return
        for place in range(len(self.opened) - 1, -1, -1):
            if self.opened[place][0] == sign:
                if self.crossed is None and place < len(self.opened) - 1:
                    self.crossed = at
                del self.opened[place:]
                return
        if not self.opened:
            self.closed.append((sign, at))
        elif self.crossed is None:
            self.crossed = at


def outline(
    text: str, language: Language, start: Span | None = None, *, indent: int | None = None
) -> Outline:
    """The outline of `text`.

    It begins within the string or comment `start`, if there is one. `indent` is the indentation of its first
    line where that begins before the text.
    """
    brackets, inside, inside_at, begin, ended = _Brackets(), None, 0, 0, False
    if start is not None:
        rest = rest_of(start).match(text)
        begin = rest.end() if rest else 0
        ended = rest is not None and rest["closed"] is not None
        if not ended and begin == len(text):
            return Outline((), (), None, start, 0, ended=False)
    spans = (*language.comments, *language.strings)
    for found in pattern(language).finditer(text, begin):
        name = found.lastgroup
        if name in ("open", "close"):
            brackets.take(found[name], found.start(name))
        elif name and name[0] == "s" and found.end() == len(text) and found["c" + name[1:]] is None:
            inside, inside_at = spans[int(name[1:])], found.start(name)
    return Outline(
        tuple(Bracket(closer, at, _indent(text, at, indent)) for closer, at in brackets.opened),
        tuple(Bracket(closer, at, _own_indent(text, at)) for closer, at in brackets.closed),
        brackets.crossed,
        inside,
        inside_at,
        ended,
    )


def outline_before(prefix: str, language: Language, *, from_start: bool) -> Outline:
    """The outline of the end of `prefix`, which begins where the document does if `from_start`.

    Elsewhere it may begin within a string of several lines.
    """
    window = prefix[-_BEFORE:]
    if len(prefix) > _BEFORE:
        window = window[window.find("\n") + 1 :]
    elif from_start:
        return outline(window, language)
    return outline(window, language, _started_in(window, language))


def _started_in(window: str, language: Language) -> Span | None:
    """The string or comment of several lines in which `window` begins, as far as its first signs tell."""
    firsts = []
    for span in (*language.comments, *language.strings):
        if not span.lines or len(span.close) == 1:  # a lone quote tells too little
            continue
        close, opener = window.find(span.close), window.find(span.opener)
        if close >= 0 and (
            close < opener or opener < 0 or (close == opener and _first_closes(window, span.close))
        ):
            firsts.append((close, span))
    return min(firsts, key=lambda first: first[0])[1] if firsts else None


def _first_closes(window: str, sign: str) -> bool:
    """Whether the first `sign` in `window` ends a string. They begin and end in turn; a clear one tells."""
    at, turn = window.find(sign), 0
    while at >= 0:
        closes = _closes_here(window, at)
        if closes is not None:
            return closes if turn % 2 == 0 else not closes
        at, turn = window.find(sign, at + len(sign)), turn + 1
    return False


def _closes_here(window: str, at: int) -> bool | None:
    """Whether the sign of three characters at `at` ends a string; None if nothing is beside or above it."""
    above, _, before = window[:at].rpartition("\n")
    behind = window[at + 3 :].partition("\n")[0]
    stem = before.strip().rstrip("rRbBuUfF")
    if stem:
        return not stem.endswith(("=", "(", "[", "{", ",", ":", "+", "return"))
    above = above.rstrip()
    if behind.strip():
        return False
    return None if not above else not above.endswith((":", "=", "(", "[", "{", ","))


def unclosed(opened: Sequence[Bracket], closed: Iterable[Bracket]) -> list[Bracket]:
    """Those of `opened` that `closed`, further on in the text, leaves open; the innermost first.

    A bracket at the start of a line closes nothing that was opened in a line indented more than its own.
    """
    stack, left = list(opened), []
    for bracket in closed:
        while stack and not _closes(bracket, stack[-1]):
            left.append(stack.pop())
        if not stack:
            break
        stack.pop()
    return left + stack[::-1]


def indentation(line: str) -> int:
    """How many columns the blanks at the start of `line` take."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB))


def _closes(bracket: Bracket, opener: Bracket) -> bool:
    deep_enough = bracket.indent is None or opener.indent is None or bracket.indent >= opener.indent
    return bracket.closer == opener.closer and deep_enough


def _indent(text: str, at: int, first: int | None) -> int:
    begin = text.rfind("\n", 0, at) + 1
    if begin == 0 and first is not None:
        return first
    line = text[begin : at + 1]
    return indentation(line)


def _own_indent(text: str, at: int) -> int | None:
    begin = text.rfind("\n", 0, at) + 1
    return indentation(text[begin:at]) if begin and not text[begin:at].strip(" \t") else None


@cache
def pattern(language: Language) -> re.Pattern[str]:
    """Finds brackets (`open`, `close`), strings and comments whole (`s0`, with `c0` where it is closed).

    A match takes in what stands before it, and may have no group; to run over plain text is fast that way.
    """
    parts, firsts = [], {*language.brackets, *language.signs}
    for number, span in enumerate((*language.comments, *language.strings)):
        firsts.add(span.opener[0])
        apart = r"(?<![^\s(\[{,=])" if span.apart else ""
        parts.append(f"(?P<s{number}>{apart}{re.escape(span.opener)}{_body(span, f'c{number}')})")
    if language.characters:
        firsts.add("'")
        parts.append(r"(?P<quoted>'(?:\\[^\n][^'\n]{0,8}|[^'\\\n])')")
    if language.regex:
        firsts.add("/")
        operand = r"(?:(?<=[=(,:\[!&|?{;])|(?<=[=(,:\[!&|?{;] )|(?<=return ))"
        parts.append(rf"(?P<regex>{operand}/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)")
    if language.brackets:
        parts.append(f"(?P<open>[{re.escape(language.brackets[::2])}])")
        parts.append(f"(?P<close>[{re.escape(language.brackets[1::2])}])")
    if language.signs:
        parts.append(f"(?P<mark>[{re.escape(language.signs)}])")
    if not firsts:
        return re.compile(r"(?!)")
    plain = f"[^{re.escape(''.join(sorted(firsts)))}]*+"
    return re.compile(rf"{plain}(?:{'|'.join(parts)}|[\s\S]|\Z)")


@cache
def rest_of(span: Span) -> re.Pattern[str]:
    """Matches the rest of a string or comment; the group `closed` is set where it has an end."""
    return re.compile(_body(span, "closed"))


def _body(span: Span, closed: str) -> str:
    """What follows the opener: to the close, the end of the line for a span of one line, or the end."""
    if not span.close:
        return rf"[^\n]*+(?P<{closed}>(?=\n))?"
    first, close = re.escape(span.close[0]), re.escape(span.close)
    stop = "" if span.lines else r"\n"
    plain = rf"[^{first}{stop}\\]++" if span.escapes else rf"[^{first}{stop}]++"
    other = rf"|(?!{close}){first}" if len(span.close) > 1 else ""
    escaped = r"|\\[\s\S]" if span.escapes else ""
    tail = r"\\?" if span.escapes else ""
    at_end = "" if span.lines else r"(?=\n)|"
    return rf"(?:{plain}{other}{escaped})*+{tail}(?:(?P<{closed}>{close})|{at_end}\Z)"
