"""What the ids of a draft under a grammar rest on, and how sure they are until that was counted."""

from __future__ import annotations

from enum import IntEnum


class Basis(IntEnum):
    """What an id rests on: its evidence, together with the counts behind COUNTED."""

    FORCED = 0
    EDGE = 1  # the end of forced text, which may go on
    NUMBER = 2  # of the request
    NAME = 3  # of the request: its beginning
    REST = 4  # more of a value whose beginning is right
    NUMBER_END = 5
    TEXT_END = 6
    NEXT = 7  # whether a value is the last, where it may be and need not
    KEY = 8  # the next key of the prompt's schemas
    MENTIONED = 9  # one of few alternatives, of which the request has words
    GUESSED = 10  # one of few alternatives
    SPELLED = 11  # forced text, as it was cut into tokens before
    MAYBE_END = 12  # of a number that the request does not have
    RESPELLED = 13  # forced text, as it was cut most often before, but not always
    COUNTED = 16  # and above: by level, kind of place, count and share


PRIORS = {
    Basis.FORCED: 0.93,
    Basis.EDGE: 0.9,
    Basis.NUMBER: 0.65,
    Basis.NAME: 0.4,
    Basis.REST: 0.85,
    Basis.NUMBER_END: 0.8,
    Basis.TEXT_END: 0.55,
    Basis.NEXT: 0.6,
    Basis.KEY: 0.6,
    Basis.MENTIONED: 0.6,
    Basis.GUESSED: 0.4,
    Basis.SPELLED: 0.995,
    Basis.RESPELLED: 0.9,
    Basis.MAYBE_END: 0.25,
}
