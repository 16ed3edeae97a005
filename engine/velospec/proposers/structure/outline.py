"""The outline of a text at its end: open brackets, the statement under way, the blocks around it, its layout.

Made lexeme by lexeme; values, so that an earlier one can be returned to. Knows nothing of drafts.
"""

from __future__ import annotations

from typing import NamedTuple

from velospec.proposers.structure.layout import Layout
from velospec.proposers.structure.lexing import Kind, Lexeme

_CLOSERS = {b")": b"(", b"]": b"[", b"}": b"{"}
_PREFIXES = frozenset(
    b"async export default public private protected static pub final abstract extern inline".split()
)

_DEFINERS = frozenset((b"def", b"class", b"async", b"@"))
_TYPES = frozenset(b"class interface struct impl trait enum namespace mod".split())


class Bracket(NamedTuple):
    """An open bracket: its sign, the indentation of its line, whether its content began a new line."""

    sign: bytes
    indentation: bytes
    broken: bool
    head: bytes  # the first word of its statement


class Block(NamedTuple):
    """A line that others are indented below, by its indentation and first word."""

    indentation: bytes
    head: bytes


class Outline(NamedTuple):
    """Where a text stands."""

    open: tuple[Bracket, ...] = ()
    blocks: tuple[Block, ...] = ()
    layout: Layout = Layout()  # the indentation of the statement's first line
    head: bytes = b""  # the first word of the statement, modifiers passed over
    last: Lexeme = Lexeme(Kind.OPERATOR, b"", b"")  # no comment
    before: Lexeme = Lexeme(Kind.OPERATOR, b"", b"")  # the one before `last`
    level: int = 0  # brackets open where the statement began
    gaps: tuple[int, int, int] = (2, 2, 1)  # line ends between blocks, by `nesting`, as last seen
    words: int = 0  # lexemes of the statement


def advance(outline: Outline, lexeme: Lexeme, *, braces: bool) -> Outline:
    """The outline after one more lexeme; `braces` says that those, not indentation, make blocks."""
    open_, blocks, layout, head, last, _, level, gaps, words = outline
    kind, lead, text = lexeme
    if kind is Kind.COMMENT:
        return outline
    ends = b"\n" in lead
    if ends and open_ and last.text == open_[-1].sign and last.kind is Kind.OPEN:
        open_ = (*open_[:-1], open_[-1]._replace(broken=True))
    joined = bool(open_) and (not braces or open_[-1].sign != b"{")
    inside = kind is Kind.TEXT or (kind is Kind.QUOTE and last.kind is Kind.TEXT)
    first = not last.text
    if not inside and not joined and (ends or first or last.text in (b";", b"{", b"}")):
        if ends or first:
            above, layout = layout.indentation, _layout(lead, layout, last.text, open_ if braces else ())
            blocks = _enclosing(blocks, layout.indentation, Block(above, head))
            if _is_next(outline, text, braces=braces):
                gaps = _replace(gaps, nesting(open_, layout, braces=braces), lead.count(b"\n"))
        head, level, words = text, len(open_), 0
    elif words == 1 and head in _PREFIXES:
        head, words = text, 0
    if kind is Kind.OPEN:
        line = _line(lead, open_, layout) if joined else layout.indentation
        open_ = (*open_, Bracket(text[-1:], line, broken=False, head=head))
    elif kind is Kind.CLOSE:
        open_ = _closed(open_, _CLOSERS.get(text, b""))
    return Outline(open_, blocks, layout, head, lexeme, last, level, gaps, words + 1)


def nesting(open_: tuple[Bracket, ...], layout: Layout, *, braces: bool) -> int:
    """How blocks stand here: 0 at the margin, 1 as members of a type (all that are indented), 2 elsewhere."""
    if not braces:
        return 1 if layout.indentation else 0
    if not open_:
        return 0
    return 1 if open_[-1].head in _TYPES else 2


def _is_next(outline: Outline, word: bytes, *, braces: bool) -> bool:
    """Whether a line that begins with `word` follows a block of its kind."""
    if braces:
        return outline.last.text == b"}"
    return word in _DEFINERS and outline.last.text != b":" and outline.head not in (b"", b"@")


def _layout(lead: bytes, layout: Layout, last: bytes, open_: tuple[Bracket, ...]) -> Layout:
    """The layout of a statement behind `lead`; what a block is indented by is the unit."""
    new = lead[lead.rfind(b"\n") + 1 :]
    above = open_[-1].indentation if open_ else layout.indentation
    opened = last in (b":", b"{") and len(new) > len(above) and new.startswith(above)
    return Layout(new, new[len(above) :] if opened else layout.unit)


def _enclosing(blocks: tuple[Block, ...], indentation: bytes, above: Block) -> tuple[Block, ...]:
    """The blocks around a line of `indentation` that follows the statement `above`."""
    if len(indentation) > len(above.indentation):
        return (*blocks, above)
    while blocks and len(blocks[-1].indentation) >= len(indentation):
        blocks = blocks[:-1]
    return blocks


def _replace(gaps: tuple[int, int, int], place: int, lines: int) -> tuple[int, int, int]:
    first, second, third = (lines if place == index else old for index, old in enumerate(gaps))
    return first, second, third


def _line(lead: bytes, open_: tuple[Bracket, ...], layout: Layout) -> bytes:
    """The indentation of the line that a bracket inside others is opened in."""
    if b"\n" in lead:
        return lead[lead.rfind(b"\n") + 1 :]
    return open_[-1].indentation + layout.unit if open_[-1].broken else open_[-1].indentation


def _closed(open_: tuple[Bracket, ...], sign: bytes) -> tuple[Bracket, ...]:
    for place in range(len(open_) - 1, -1, -1):
        if open_[place].sign == sign:
            return open_[:place]
    return open_
