"""What the structure of a text obliges it to go on with: closers, colons, line ends, indentation.

Each duty is a text that follows the last lexeme, and the reason for it. One function for languages whose
blocks are indented, one for those with braces, one for lists. Knows no tokens, and no text but its outline.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from velospec.proposers.structure.lexing import Kind
from velospec.proposers.structure.outline import Outline, nesting


class Reason(IntEnum):
    """Why a text must go on so; the evidence of a draft."""

    BLOCK = 0  # a block was opened: a new line, one level in
    HEADER = 1  # the header of a block that takes nothing more
    DEFINITION = 2  # the header of a function or class, its parameters closed
    CONDITION = 3  # the header of a condition or loop that may be over
    LEAVE = 4  # nothing can follow in this block: a new line, one level out
    RETURN = 5  # the same after what may be the whole of a returned value
    NEXT = 6  # the end of a function: the next one
    CLOSE = 7  # brackets that are open and may be full
    LINE = 8  # a statement that may be over: a new line
    SEMICOLON = 9  # a statement that is over: a new line
    BRACE = 10  # a block was closed
    ITEM = 11  # the next of a list or table
    ELEMENT = 12  # an element of markup that is open


class Duty(NamedTuple):
    """`text` follows the last lexeme, for `reason`; `detail`, 0 to 3, tells cases of it apart."""

    reason: Reason
    text: bytes
    detail: int = 0


_Rule = Callable[[Outline], Duty | None]
_NOTHING = Duty(Reason.LINE, b"")
_OPENERS = frozenset(b"if elif else for while with try except finally def class match case".split())
_SOLO = frozenset(b"else try finally".split())
_LEAVERS = frozenset(b"break continue pass".split())
_CONTROL = frozenset(b"if for while switch catch match else loop unless foreach".split())
_BARE = frozenset(b"else do try finally loop".split())
_FUNCTIONS = frozenset(b"function func fn def".split())
_EXITS = frozenset(b"return break continue throw goto".split())
_OPERANDS = frozenset((Kind.NAME, Kind.NUMBER, Kind.CLOSE, Kind.QUOTE))
_VALUES = frozenset(b"True False None true false null nil self this undefined nullptr".split())
_NAME = 3  # how a statement ends, see `_ending`
_CLOSERS = {b"(": b")", b"[": b"]", b"{": b"}"}
SEMICOLONS = frozenset(("javascript", "typescript", "java", "c", "cpp", "rust"))


def indented(outline: Outline) -> Duty | None:
    """The duty in a language of indented blocks."""
    return _first(_INDENTED, outline)


def braced(outline: Outline, *, semicolons: bool) -> Duty | None:
    """The duty in a language of blocks in braces; `semicolons` says that those end its statements."""
    return _first(_WITH_SEMICOLONS if semicolons else _WITHOUT_SEMICOLONS, outline)


def listed(outline: Outline, *, values: bool) -> Duty | None:
    """The duty in a language of lists: JSON, where an item is one value (`values`), or SQL."""
    if not outline.open:
        return Duty(Reason.SEMICOLON, b"\n") if outline.last.text == b";" else None
    inner, last = outline.open[-1], outline.last
    if last.text == b"," and last.kind is Kind.OPERATOR:
        deeper = b"\n" + inner.indentation + outline.layout.unit
        return Duty(Reason.ITEM, deeper if inner.broken else b" ", inner.broken)
    if not _ends_operand(outline):
        return Duty(Reason.ITEM, b" ", 2) if values and last.text == b":" else None
    if values and inner.broken:
        return Duty(Reason.ITEM, b",\n" + inner.indentation + outline.layout.unit, 3)
    return None if inner.broken else Duty(Reason.CLOSE, _CLOSERS[inner.sign])


def _first(duties: tuple[_Rule, ...], outline: Outline) -> Duty | None:
    return next((duty for rule in duties if (duty := rule(outline)) is not None), None)


# The rules. Each gives a duty, no duty where it has no say, or one without text where nothing is owed.


def _inside_brackets(outline: Outline) -> Duty | None:
    if not outline.open:
        return None
    colon = outline.head in _OPENERS
    return _closers(outline, _colon(outline) if colon else b"\n" + outline.layout.indentation)


def _indented_header(outline: Outline) -> Duty | None:
    last, head = outline.last, outline.head
    if head not in _OPENERS:
        return None
    text = _colon(outline)
    if last.text == b":":
        return Duty(Reason.BLOCK, text[1:])
    if head in _SOLO and outline.words == 1:
        return Duty(Reason.HEADER, text)
    ending = _ending(outline) if _ends_operand(outline) else _NAME
    if head in (b"def", b"class"):
        return Duty(Reason.DEFINITION, text, head == b"class") if last.text == b")" else _NOTHING
    return Duty(Reason.CONDITION, text, ending) if ending < _NAME else _NOTHING


def _indented_exit(outline: Outline) -> Duty | None:
    if outline.head in _LEAVERS and outline.words == 1:
        return _leave(outline, Reason.LEAVE, 0)
    if outline.head in (b"return", b"raise") and _ends_operand(outline):
        return _leave(outline, Reason.RETURN, _ending(outline))
    return None


def _after_opener(outline: Outline) -> Duty | None:
    if outline.last.kind is not Kind.OPEN:
        return None
    if outline.last.text != b"{" or not outline.open:
        return _NOTHING
    sure = outline.before.kind is Kind.CLOSE or outline.head in _BARE | _CONTROL
    return Duty(Reason.BLOCK, b"\n" + outline.open[-1].indentation + outline.layout.unit, 0 if sure else 1)


def _inside_parentheses(outline: Outline, end: bytes) -> Duty | None:
    if len(outline.open) <= outline.level:
        return None
    if outline.open[-1].sign == b"{":
        return _NOTHING
    return _closers(
        outline, _brace(outline) if outline.head in _CONTROL else end + outline.layout.indentation
    )


def _after_semicolon(outline: Outline) -> Duty | None:
    if outline.last.text != b";":
        return None
    if outline.head in _EXITS and outline.open:
        margin = b"\n" * outline.gaps[0] if len(outline.open) == 1 else b""
        return Duty(Reason.LEAVE, b"\n" + outline.open[-1].indentation + b"}" + margin)
    return Duty(Reason.SEMICOLON, b"\n" + outline.layout.indentation)


def _after_brace(outline: Outline) -> Duty | None:
    if outline.last.text != b"}":
        return None
    depth = nesting(outline.open, outline.layout, braces=True)
    return Duty(Reason.BRACE, b"\n" * outline.gaps[depth] + outline.layout.indentation, depth)


def _braced_header(outline: Outline) -> Duty | None:
    control = outline.head in _CONTROL
    if outline.last.text == b")" and (control or outline.head in _FUNCTIONS):
        return Duty(Reason.CONDITION if control else Reason.DEFINITION, _brace(outline))
    if outline.head in _BARE and outline.words == 1:
        return Duty(Reason.HEADER, _brace(outline))
    return None


def _braced_exit(outline: Outline, end: bytes) -> Duty | None:
    bare = outline.words == 1 and outline.head in _LEAVERS
    if outline.head not in _EXITS or not (bare or _ends_operand(outline)):
        return None
    if not outline.open:
        return _NOTHING
    return Duty(Reason.RETURN, end + outline.open[-1].indentation + b"}", _ending(outline))


def _statement(outline: Outline, end: bytes) -> Duty | None:
    """A statement may be over, unless a name ends it: most go on there."""
    ending = _ending(outline) if _ends_operand(outline) else _NAME
    return Duty(Reason.LINE, end + outline.layout.indentation, ending) if ending < _NAME else None


def _rules(end: bytes) -> tuple[_Rule, ...]:
    """The rules of a language with braces whose statements `end` ends."""
    return (
        _after_opener,
        lambda outline: _inside_parentheses(outline, end),
        _after_semicolon,
        _after_brace,
        _braced_header,
        lambda outline: _braced_exit(outline, end),
        lambda outline: _statement(outline, end),
    )


_INDENTED: tuple[_Rule, ...] = (
    _inside_brackets,
    _indented_header,
    _indented_exit,
    lambda outline: _statement(outline, b"\n"),
)
_WITH_SEMICOLONS = _rules(b";\n")
_WITHOUT_SEMICOLONS = _rules(b"\n")


def _colon(outline: Outline) -> bytes:
    return b":\n" + outline.layout.indentation + outline.layout.unit


def _brace(outline: Outline) -> bytes:
    return b" {\n" + outline.layout.indentation + outline.layout.unit


def _ends_operand(outline: Outline) -> bool:
    return outline.last.kind in _OPERANDS or outline.last.text in _VALUES


def _ending(outline: Outline) -> int:
    """What a statement ends with: 0 a bracket, 1 a string, 2 a number or constant, 3 a name."""
    kind = outline.last.kind
    return 0 if kind is Kind.CLOSE else 1 if kind is Kind.QUOTE else _NAME if kind is Kind.NAME else 2


def _closers(outline: Outline, after: bytes) -> Duty:
    """Close what the statement has opened, all in this line, and go on with `after`."""
    if not _ends_operand(outline):
        return _NOTHING
    closers = b""
    for bracket in reversed(outline.open[outline.level :]):
        if bracket.broken:
            return _NOTHING
        if bracket.sign == b"{":
            return Duty(Reason.CLOSE, closers)
        closers += _CLOSERS[bracket.sign]
    return Duty(Reason.CLOSE, closers + after, min(3, len(closers))) if closers else _NOTHING


def _leave(outline: Outline, reason: Reason, detail: int) -> Duty:
    """A new line, one level out; after a function with what begins the next."""
    if not outline.blocks:
        return _NOTHING
    block = outline.blocks[-1]
    if block.head != b"def":
        return Duty(reason, b"\n" + block.indentation, detail)
    lines = outline.gaps[1 if block.indentation else 0]
    return Duty(Reason.NEXT, b"\n" * lines + block.indentation + b"def", detail)
