r"""Regular expressions of JSON Schema (ECMA 262), rewritten so that every engine reads them alike.

The rewritten form matches whole strings and has only literals, explicit classes, groups, alternatives and
counts: what Python, Rust and ECMA 262 agree on. `\d` and `\w` are ASCII, `.` stops at the four line ends, a
pattern without anchors matches anywhere; all as ECMA 262 says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from velospec.constraints.json_schema.pattern_nodes import (
    ANYTHING,
    Anchor,
    Chars,
    Choice,
    Node,
    PatternError,
    Repeat,
    Sequence,
    complement,
)
from velospec.constraints.json_schema.pattern_parser import parse


@lru_cache(maxsize=4096)
def whole_match(pattern: str) -> str:
    """`pattern` as `^(?:…)$` in the common notation. Raises PatternError."""
    return f"^(?:{write(whole_node(pattern))})$"


def whole_node(pattern: str) -> Choice:
    """What a string must be as a whole for `pattern` to match in it. Raises PatternError."""
    return Choice(tuple(_whole(option) for option in _options(parse(pattern))))


def other_than(texts: Iterable[str], prefixes: Iterable[str] = ()) -> str:
    """A pattern in the common notation: all strings but `texts` and what begins with one of `prefixes`."""
    tree = _Trie({})
    for text in texts:
        tree.down(text).ends = True
    for text in prefixes:
        tree.down(text).barred = True
    return f"^(?:{write(tree.outside())})$"


@dataclass(slots=True)
class _Trie:
    """Strings to leave out, by their characters."""

    below: dict[str, _Trie]
    ends: bool = False  # the string up to here is left out
    barred: bool = False  # and all that it begins

    def down(self, text: str) -> _Trie:
        node = self
        for char in text:
            node = node.below.setdefault(char, _Trie({}))
        return node

    def outside(self) -> Choice:
        """What may follow here."""
        if self.barred:
            return Choice(())
        options: list[Node] = [] if self.ends else [Sequence(())]
        taken = [(ord(char), ord(char)) for char in self.below]
        options.append(Sequence((Chars(complement(taken)), ANYTHING)) if taken or self.ends else ANYTHING)
        for char, node in self.below.items():
            rest = node.outside()
            if rest.options:
                options.append(Sequence((Chars(((ord(char), ord(char)),)), rest)))
        return Choice(tuple(options))


def write(node: Node) -> str:
    """`node` in the common notation."""
    match node:
        case Chars(ranges):
            if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                return _char(ranges[0][0])
            return "[" + "".join(_char(a) if a == b else f"{_char(a)}-{_char(b)}" for a, b in ranges) + "]"
        case Sequence(parts):
            return "".join(write(part) for part in parts)
        case Choice(options):
            return "(?:" + "|".join(write(option) for option in options) + ")"
        case Repeat(inner, least, most):
            text = write(inner) if isinstance(inner, Chars | Choice) else f"(?:{write(inner)})"
            if (least, most) in {(0, None), (1, None), (0, 1)}:
                return text + {(0, None): "*", (1, None): "+", (0, 1): "?"}[least, most]
            return (
                f"{text}{{{least}}}" if least == most else f"{text}{{{least},{'' if most is None else most}}}"
            )
        case Anchor():
            raise PatternError("an anchor stands in its middle")


def lengths(node: Node) -> tuple[float, float]:
    """The fewest and the most characters that `node`, without anchors, may match; infinity is no limit."""
    match node:
        case Chars():
            return 1, 1
        case Sequence(parts):
            ends = [lengths(part) for part in parts]
            return sum(least for least, _ in ends), sum(most for _, most in ends)
        case Choice(options):
            ends = [lengths(option) for option in options]
            return min((least for least, _ in ends), default=0), max((most for _, most in ends), default=0)
        case Repeat(inner, fewest, largest):
            least, most = lengths(inner)
            if 0 in {largest, most}:
                return 0, 0
            return fewest * least, most * (math.inf if largest is None else largest)
    raise PatternError("an anchor stands in its middle")


def _char(code: int) -> str:
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _options(node: Node) -> list[Node]:
    """The alternatives of `node`, with those that an anchor stands in brought to the top."""
    match node:
        case Choice(options):
            return [inner for option in options for inner in _options(option)]
        case Sequence(parts) if parts:
            for place in {0, len(parts) - 1}:
                if isinstance(parts[place], Choice | Sequence) and _has_anchor(parts[place]):
                    return [
                        inner
                        for option in _options(parts[place])
                        for inner in _options(_joined([*parts[:place], option, *parts[place + 1 :]]))
                    ]
    return [node]


def _joined(nodes: list[Node]) -> Sequence:
    return Sequence(
        tuple(part for node in nodes for part in (node.parts if isinstance(node, Sequence) else (node,)))
    )


def _has_anchor(node: Node) -> bool:
    match node:
        case Anchor():
            return True
        case Sequence(parts) | Choice(parts):
            return any(_has_anchor(part) for part in parts)
        case Repeat(inner):
            return _has_anchor(inner)
        case Chars():
            return False


def _whole(option: Node) -> Node:
    parts = list(option.parts) if isinstance(option, Sequence) else [option]
    begins = ends = False
    while parts and parts[0] == Anchor("^"):
        begins, parts = True, parts[1:]
    while parts and parts[-1] == Anchor("$"):
        ends, parts = True, parts[:-1]
    if any(_has_anchor(part) for part in parts):
        raise PatternError("an anchor stands in its middle")
    if not parts and not (begins and ends):
        return ANYTHING
    return Sequence((*([] if begins else [ANYTHING]), *parts, *([] if ends else [ANYTHING])))


ANYTHING_GOES = whole_match("")
"""The pattern of all strings."""
