"""Proposers for tests, good and bad on purpose, and costs that make the selector take what they offer."""

from __future__ import annotations

import random
from collections.abc import Sequence

from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.core.draft import EMPTY, Draft, Verdict


class FlatCost:
    """All batches cost the same, so that the longest draft always pays."""

    def __init__(self) -> None:
        self.observed: list[int] = []

    def seconds(self, rows: int, context: int = 0) -> float:  # noqa: ARG002  (a protocol)
        return 1.0

    def observe(self, rows: int, context: int, seconds: float) -> None:  # noqa: ARG002  (a protocol)
        self.observed.append(rows)


class SteepCost(FlatCost):
    """Every row costs as much as the first, so that no draft pays."""

    def seconds(self, rows: int, context: int = 0) -> float:  # noqa: ARG002  (a protocol)
        return float(rows)


def eager_selector(min_rows: int = 1) -> Selector:
    return Selector(Acceptance(), FlatCost(), min_rows=min_rows)


class TestProposer:
    """Keeps what it was told, and checks that it is told everything in order."""

    __test__ = False
    name = "test"

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.verdicts: list[Verdict] = []

    def begin(self, ids: Sequence[int]) -> None:
        self.ids = list(ids)

    def extend(self, ids: Sequence[int]) -> None:
        self.ids.extend(ids)

    def propose(self, limit: int) -> Draft:
        ids = tuple(self.draft(limit))
        assert len(ids) <= limit
        return Draft(ids, self.name) if ids else EMPTY

    def observe(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def draft(self, limit: int) -> Sequence[int]:
        raise NotImplementedError


class Oracle(TestProposer):
    """Knows the whole answer; right in every position but those it is told to spoil."""

    name = "oracle"

    def __init__(
        self, answer: Sequence[int], vocabulary_size: int, spoil: float = 0.0, seed: int = 0
    ) -> None:
        super().__init__()
        self._answer = answer
        self._size = vocabulary_size
        self._spoil = spoil
        self._random = random.Random(seed)  # noqa: S311  (test data)

    def draft(self, limit: int) -> Sequence[int]:
        length = self._random.randint(0, limit) if self._spoil else limit
        known = list(self._answer[len(self.ids) : len(self.ids) + length])
        return [self._wrong(token) if self._random.random() < self._spoil else token for token in known]

    def _wrong(self, token: int) -> int:
        return (token + self._random.randrange(1, self._size)) % self._size


class AlwaysWrong(Oracle):
    """Proposes anything but the answer."""

    name = "wrong"

    def __init__(self, answer: Sequence[int], vocabulary_size: int) -> None:
        super().__init__(answer, vocabulary_size, spoil=1.0)


class RandomIds(TestProposer):
    """Any ids, control and end tokens among them, of any length."""

    name = "random"

    def __init__(self, vocabulary_size: int, seed: int) -> None:
        super().__init__()
        self._size = vocabulary_size
        self._random = random.Random(seed)  # noqa: S311  (test data)

    def draft(self, limit: int) -> Sequence[int]:
        return [self._random.randrange(self._size) for _ in range(self._random.randint(0, limit))]
