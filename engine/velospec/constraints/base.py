"""The constraint protocol: which token ids may come next, decided per row of a batch.

Thin for now: its one implementation is token healing (`constraints/healing.py`). Grammars implement the
same protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]


class Constraint(Protocol):
    """A cursor in the allowed continuations, moved by the ids that are decided."""

    def allowed(self, ahead: Sequence[int]) -> Ids | None:
        """The sorted ids allowed after the decided ids and the draft ids `ahead`; None if all are.

        Does not move the cursor.
        """
        ...

    def trim(self, ids: Sequence[int]) -> int:
        """How many of the draft `ids` are allowed, counted from the first."""
        ...

    def advance(self, ids: Sequence[int]) -> None:
        """Move the cursor over decided `ids`."""
        ...
