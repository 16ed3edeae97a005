"""The constraint protocol: which token ids may come next, decided per row of a batch.

A constraint stands behind the decided ids. What it is asked of ids `ahead` of these, the draft's, leaves it
there, however often and in whatever order it is asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]


class Constraint(Protocol):
    """A cursor in the allowed continuations, moved by the ids that are decided."""

    @property
    def slow_masks(self) -> bool:
        """Whether `allowed` takes so long that single ids had better be asked about by `allows`."""
        ...

    def allowed(self, ahead: Sequence[int]) -> Ids | None:
        """The sorted ids allowed after the decided ids and the draft ids `ahead`; None if all are."""
        ...

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        """Whether `token` is allowed there. The ids `ahead` are themselves allowed."""
        ...

    def ends(self, ahead: Sequence[int]) -> bool:
        """Whether the answer may end there if an end token is what the model, unrestricted, would choose.

        Beside that, end tokens are allowed as others are. With both in one, a model that is kept from what
        it would write would rather end.
        """
        ...

    def trim(self, ids: Sequence[int]) -> int:
        """How many of the draft `ids` are allowed, counted from the first."""
        ...

    def advance(self, ids: Sequence[int]) -> None:
        """Move the cursor over decided `ids`."""
        ...


class GrammarCursor(Constraint, Protocol):
    """What the constraint of a grammar has besides."""

    marks: Mapping[int, bytes]
    """Control tokens that the grammar names, and the names, as which the answer shows them."""

    seconds: float
    """Spent in it so far: on masks, forced text, moves and their reversal."""

    key: Hashable
    """The same for all answers of one grammar; None where that is not known."""

    before: bytes
    """The text that stands there already, and that the grammar begins with."""

    @property
    def forced_tokens(self) -> int:
        """Decided ids that lay wholly in text that the grammar left no choice about."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the decided text, an end token left aside, cannot go on, so that none need be decided."""
        ...

    def closes(self, ids: Sequence[int]) -> bool:
        """Whether the text could not go on behind the allowed `ids`."""
        ...

    @property
    def complete(self) -> bool:
        """Whether it is closed, or an end token was decided."""
        ...

    @property
    def accepting(self) -> bool:
        """Whether an end token may follow the decided ids."""
        ...

    def density(self, ahead: Sequence[int] = ()) -> float:
        """The allowed share of the vocabulary, 0 to 1; 1 where masks are too slow to find out."""
        ...

    def valid(self, ahead: Sequence[int], ids: Sequence[int]) -> int:
        """How many of `ids` are allowed behind the allowed ids `ahead`, counted from the first."""
        ...

    def rough_density(self) -> float:
        """What is known of the density behind the decided ids without a mask, which takes time in every step.

        That of a single id where text is forced; 1 elsewhere.
        """
        ...

    def forced(self, ahead: Sequence[int] = ()) -> bytes:
        """The bytes that every continuation begins with; empty where there is a choice at once."""
        ...
