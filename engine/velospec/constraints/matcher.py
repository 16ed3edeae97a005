"""What a grammar engine offers, in terms of ids: one compiled grammar, and cursors in it that can go back.

The two engines, `llguidance` and `xgrammar`, implement these protocols; `cursor` makes a constraint of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from velospec.core.grammar import Grammar

Words = npt.NDArray[np.int32]
"""A mask, one bit for each id, the lowest bit of the first word for id 0: shape [ceil(vocabulary / 32)]."""


class Matcher(Protocol):
    """A cursor in one text of the grammar. It is never given an end token."""

    @property
    def accepting(self) -> bool:
        """Whether the text may end here."""
        ...

    @property
    def stopped(self) -> bool:
        """Whether the text must end here."""
        ...

    def accept(self, token: int) -> bool:
        """Move over `token` where that is allowed; False, and no move, where not."""
        ...

    def consume(self, ids: Sequence[int]) -> int:
        """Move over `ids` as far as they are allowed; over how many it moved."""
        ...

    def check(self) -> None:
        """Tell why an id that a mask allowed was not read, where that is known.

        Raises GrammarError where the engine has given up, so that it refuses everything.
        """
        ...

    def valid(self, ids: Sequence[int]) -> int:
        """How many of `ids` are allowed, counted from the first. Does not move."""
        ...

    def rollback(self, count: int) -> None:
        """Go back over the last `count` ids: the cursor is then in every respect as it was before them."""
        ...

    def fill(self, mask: Words) -> None:
        """Write the mask of the ids that `accept` would take. The bits of end tokens have no meaning.

        Raises GrammarError where the engine gives up on this place.
        """
        ...

    def forced(self) -> bytes:
        """The bytes that every continuation begins with."""
        ...


class CompiledGrammar(Protocol):
    """A grammar for one vocabulary."""

    def matcher(self, after: bytes = b"") -> Matcher:
        """A new cursor, behind the bytes `after`. Raises GrammarError where those do not fit."""
        ...


class Engine(Protocol):
    """Compiles grammars for one vocabulary."""

    name: str

    def compile(self, grammar: Grammar) -> CompiledGrammar:
        """Compile `grammar`; its `after` is left to the matchers.

        Raises GrammarError that names what cannot be enforced, and where.
        """
        ...
