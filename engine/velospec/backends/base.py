"""The backend protocol: one model, several KV slots, batches of token rows in, logits of chosen rows out.

A backend knows token ids and positions. It knows nothing of drafts, prompts, grammars or requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]


class Vocabulary(Protocol):
    """The tokenizer of a model."""

    size: int
    end_ids: frozenset[int]  # end-of-generation tokens; only the target may choose one
    control_ids: frozenset[int]  # never shown; banned at sampling unless they are end tokens

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of `text`, no BOS added; control tokens written in the text count only if `special`."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for control tokens."""
        ...


class Backend(Protocol):
    """A loaded model. Not thread-safe: one worker calls it, but `abort` may come from any thread."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    slots: int  # independent KV sequences, numbered from 0
    context: int  # positions per slot
    min_rows: int  # exact mode scores no fewer rows than this in a batch (1 or 2); see verify/exact
    max_rows: int  # most rows of one `decode` with logits

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        """Put `ids` into the KV cache of `slot` from `position` on, no logits. Raises BackendError."""
        ...

    def decode(self, slot: int, ids: Sequence[int], position: int) -> Logits:
        """As `prefill`, and return the logits of every row.

        Returns a view, shape [len(ids), vocabulary.size], float32, valid until the next call.
        Raises BackendError.
        """
        ...

    def truncate(self, slot: int, length: int) -> int:
        """Cut the KV cache of `slot` back to its first `length` positions; returns how many are left.

        All rows of the last `decode` but its first can be taken back exactly. Beyond that a model with a
        running state may have to go back further than asked. Raises BackendError if it is refused.
        """
        ...

    def close(self) -> None:
        """Free the model; the backend is unusable afterwards."""
        ...
