"""A deterministic backend for exact tests: logits are a pure function of the ids before them.

It keeps its KV cache as the ids themselves, checks every call as strictly as a real backend should, and
records what it was asked. No model, no native code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from velospec.backends.base import Logits, Vocabulary
from velospec.core.errors import BackendError, ContextError

Rule = Callable[[tuple[int, ...]], Logits]
"""From all ids of a slot to the logits of the next one, float32, shape [vocabulary]."""


class ScriptedVocabulary:
    """Bytes 0 to 255 as ids, then longer `words`, one end token and one control token."""

    def __init__(self, words: Sequence[bytes] = ()) -> None:
        self._pieces = [bytes((byte,)) for byte in range(256)] + list(words) + [b"", b""]
        self.size = len(self._pieces)
        self.end = self.size - 2
        self.control = self.size - 1
        self.end_ids = frozenset({self.end})
        self.control_ids = frozenset({self.end, self.control})
        self._longest_first = sorted(range(self.size - 2), key=lambda token: -len(self._pieces[token]))

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Greedy longest match; with `special` the texts "<end>" and "<control>" are the two tokens."""
        data, ids = text.encode(), []
        marks = {b"<end>": self.end, b"<control>": self.control} if special else {}
        while data:
            mark = next((mark for mark in marks if data.startswith(mark)), None)
            if mark is not None:
                ids.append(marks[mark])
                data = data[len(mark) :]
                continue
            token = next(token for token in self._longest_first if data.startswith(self._pieces[token]))
            ids.append(token)
            data = data[len(self._pieces[token]) :]
        return ids

    def piece(self, token: int) -> bytes:
        return self._pieces[token]


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the backend saw it; `kind` is "prefill", "decode" or "truncate"."""

    kind: str
    slot: int
    position: int
    ids: tuple[int, ...] = ()


class ScriptedBackend:
    """Implements `backends.base.Backend` on a `Rule`; raises BackendError at the first irregular call."""

    def __init__(
        self,
        rule: Rule,
        vocabulary: Vocabulary,
        *,
        slots: int = 2,
        context: int = 256,
        min_rows: int = 1,
        snapshots: int | None = None,
    ) -> None:
        """With `snapshots` it cuts back as a hybrid model does: see `truncate`."""
        self.vocabulary = vocabulary
        self.slots = slots
        self.context = context
        self.min_rows = min_rows
        self.max_rows = 16 if snapshots is None else snapshots + 1
        self.calls: list[Call] = []
        self.kv: list[list[int]] = [[] for _ in range(slots)]
        self._rule = rule
        self._snapshots = snapshots
        self._least = [0] * slots  # what the last batch of each slot can be cut back to
        self._checkpoints: list[list[int]] = [[0] for _ in range(slots)]

    @property
    def prefilled(self) -> int:
        """Ids scored without logits, over all calls."""
        return sum(len(call.ids) for call in self.calls if call.kind == "prefill")

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        self._append("prefill", slot, ids, position)
        self._checkpoints[slot].append(len(self.kv[slot]))

    def decode(self, slot: int, ids: Sequence[int], position: int) -> Logits:
        if len(ids) > self.max_rows:
            raise BackendError(f"{len(ids)} rows are more than {self.max_rows}.")
        self._append("decode", slot, ids, position)
        known = tuple(self.kv[slot])
        return np.stack([self._rule(known[: position + row + 1]) for row in range(len(ids))])

    def truncate(self, slot: int, length: int) -> int:
        """As the protocol says; with snapshots, beyond the last batch to the end of an earlier prefill."""
        if length < 0:
            raise BackendError(f"Slot {slot} cannot be cut back to {length} ids.")
        if length < len(self.kv[slot]):
            self.calls.append(Call("truncate", slot, length))
            kept = [end for end in self._checkpoints[slot] if end <= length]
            if self._snapshots is not None and length < self._least[slot]:
                length = self._least[slot] = kept[-1]
            self._checkpoints[slot] = kept
            del self.kv[slot][length:]
        return len(self.kv[slot])

    def close(self) -> None:
        self.kv = []

    def _append(self, kind: str, slot: int, ids: Sequence[int], position: int) -> None:
        if not ids or position != len(self.kv[slot]):
            raise BackendError(f"{kind} of {len(ids)} ids at {position}; slot holds {len(self.kv[slot])}.")
        if position + len(ids) > self.context:
            raise ContextError(f"Position {position + len(ids)} is beyond the context of {self.context}.")
        if not all(0 <= token < self.vocabulary.size for token in ids):
            raise BackendError(f"Ids outside the vocabulary: {ids}.")
        self.calls.append(Call(kind, slot, position, tuple(ids)))
        self.kv[slot].extend(ids)
        self._least[slot] = position + len(ids) - min(len(ids) - 1, self._snapshots or 0)


def hash_rule(vocabulary: Vocabulary, *, seed: int, order: int, likely: Sequence[int] = ()) -> Rule:
    """Pseudo-random logits from a hash of the last `order` ids: the smaller it is, the sooner text repeats.

    Ids in `likely` get larger logits, so that stop strings, line ends or the end token come up often enough.
    """

    @lru_cache(maxsize=4096)
    def logits(tail: tuple[int, ...]) -> Logits:
        values = np.random.default_rng((seed, *tail)).random(vocabulary.size, dtype=np.float32)
        values[list(likely)] += np.float32(0.6)
        return values

    return lambda ids: logits(ids[-order:])


def script_rule(vocabulary: Vocabulary, script: Sequence[int], *, after: int) -> Rule:
    """The model wants to write `script` after a prompt of `after` ids, whatever is in it; then to end."""
    end = min(vocabulary.end_ids)

    def logits(ids: tuple[int, ...]) -> Logits:
        values = np.zeros(vocabulary.size, dtype=np.float32)
        written = len(ids) - after
        values[script[written] if 0 <= written < len(script) else end] = 1
        return values

    return logits
