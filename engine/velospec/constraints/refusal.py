"""What a user is told of a grammar that an engine refuses: the cause in one line.

Engines name places in grammars that the user has not written, and print whole ones. Knows no engine.
"""

from __future__ import annotations

import re

from velospec.core.errors import GrammarError
from velospec.core.grammar import GrammarKind

NAMES = {
    GrammarKind.JSON: "JSON grammar",
    GrammarKind.JSON_SCHEMA: "JSON Schema",
    GrammarKind.EBNF: "EBNF grammar",
    GrammarKind.REGEX: "regular expression",
    GrammarKind.TAGS: "grammar of the calls",
}
"""What users call the kinds."""

_LONGEST = 160  # characters of an engine's message
_PLACE = re.compile(  # in the C++ source, in a grammar made of the user's, or in the engine
    r"^(?:\[[\d:]+\] \S+:\d+: |(?:at )?\d+\(\d+\): |failed to compile JSON schema: |\w+ error: )+",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"; (?:consider|try) .*")  # to those who write an engine's own grammars
_PANIC = re.compile(r"^panic: .*")
_UNDECIDED = re.compile(r"^Unable to determine if regex is empty:.*?/\^?(?:\(\?:)*(.*?)\)*\$?/.*")
_EMPTY = re.compile(r"Unsatisfiable schema|Regex is empty")


def reason(message: str) -> str:
    """An engine's `message`, as far as it is about what the user wrote: one line."""
    lines = message.strip().splitlines() or [""]
    text = _PANIC.sub("it has too many parts", _ADVICE.sub("", _PLACE.sub("", lines[0])))
    text = _UNDECIDED.sub(r"the conditions of a string are too much together, among them \1", text).strip(
        " .:"
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"


def refusal(kind: GrammarKind, message: str) -> GrammarError:
    """The error for a grammar of `kind` that an engine does not compile and says `message` of."""
    if _EMPTY.search(message):
        return GrammarError(
            f"No value satisfies the {NAMES[kind]}.", "Look for parts of it that exclude each other."
        )
    return GrammarError(
        f"The {NAMES[kind]} cannot be enforced: {reason(message)}.",
        "Change what is named there, or ask without it and check the answer.",
    )


def overload(message: str) -> GrammarError:
    """The error for a place in a grammar that an engine gives up on and says `message` of."""
    return GrammarError(
        f"The grammar is too much for its engine at this place: {reason(message)}.",
        "Simplify the grammar or schema: fewer alternatives, shorter bounds of lengths and counts.",
    )
