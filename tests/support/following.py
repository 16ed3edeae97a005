"""What a proposer drafts at each place of a text, as bytes; and that it does so however it came there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft
from velospec.proposers.base import Proposer


def spell(vocabulary: Vocabulary, ids: Sequence[int]) -> str:
    return b"".join(map(vocabulary.piece, ids)).decode()


def draft_after(proposer: Proposer, vocabulary: Vocabulary, text: str, limit: int = 15) -> str:
    """What `proposer` drafts behind `text`."""
    proposer.begin(vocabulary.encode(text))
    return spell(vocabulary, proposer.propose(limit).ids)


def drafts_along(proposer: Proposer, ids: Sequence[int], start: int) -> Iterator[tuple[int, Draft]]:
    """Each place from `start` on, with what is drafted there when the ids are told one by one."""
    proposer.begin(ids[:start])
    for place in range(start, len(ids)):
        draft = proposer.propose(15)
        if draft is not EMPTY:
            yield place, draft
        proposer.extend([ids[place]])


def right(draft: Draft, ids: Sequence[int], place: int) -> int:
    """How many ids of `draft` are those of `ids` from `place` on."""
    pairs = zip(draft.ids, ids[place:], strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
