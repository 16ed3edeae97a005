"""Regular expressions for a whole answer: ECMA 262, as in patterns of JSON Schema, alike for all engines."""

from __future__ import annotations

from velospec.constraints.json_schema.pattern_nodes import Anchor, Choice, Node, PatternError, Sequence
from velospec.constraints.json_schema.pattern_parser import parse
from velospec.constraints.json_schema.patterns import lengths, write
from velospec.core.errors import GrammarError

LONGEST_LEAST = 20_000
"""The most characters that the shortest text may have: engines give up on more, and no context holds it."""


def whole_text(pattern: str) -> Node:
    """What the whole text must be; anchors at its ends change nothing. Raises GrammarError."""
    try:
        node = _bare(parse(pattern))
        write(node)  # refuses anchors elsewhere
    except PatternError as error:
        raise GrammarError(
            f"The regular expression cannot be enforced: {error}.",
            "Write it without what is named there; its dialect is that of ECMA 262.",
        ) from error
    if lengths(node)[0] > LONGEST_LEAST:
        raise GrammarError(
            f"The regular expression matches no text of {LONGEST_LEAST:,} characters or fewer.",
            "Let it repeat less often.",
        )
    return node


def _bare(node: Node) -> Node:
    match node:
        case Anchor():
            return Sequence(())
        case Choice(options):
            return Choice(tuple(map(_bare, options)))
        case Sequence((only,)):
            return _bare(only)
        case Sequence(parts):
            begin = int(parts[:1] == (Anchor("^"),))
            end = len(parts) - (parts[-1:] == (Anchor("$"),))
            return Sequence(parts[begin:end])
        case _:
            return node
