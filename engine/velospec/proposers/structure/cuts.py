"""Tokens that the model itself does not write: where it takes a beginning of one instead, as `{` for `{"`.

A small model under a grammar cuts text otherwise than its tokenizer, and does so again. Knows no text around.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.states import Followers

_MOST = 500  # tokens that are remembered; when there are more, all are forgotten
_LEAST_SHARE = 0.6


class Cuts:
    """What was written in the place of drafted tokens."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._chosen: dict[int, Followers] = {}

    def learn(self, drafted: int, chosen: int) -> None:
        """Take note that `chosen` was decided where `drafted` stood in a draft."""
        whole = self._chosen.get(chosen)
        if whole is not None and chosen != drafted:
            whole.learn(chosen)  # a token that was cut, and is written as it is
        known = self._chosen.get(drafted)
        if known is None:
            beginning = self._encoder.piece(chosen)
            if chosen == drafted or not beginning or not self._encoder.piece(drafted).startswith(beginning):
                return
            if len(self._chosen) >= _MOST:
                self._chosen.clear()
            known = self._chosen[drafted] = Followers()
        known.learn(chosen)

    def apply(self, ids: Sequence[int]) -> tuple[int, ...]:
        """`ids`, those of the same bytes that the model writes instead in their places."""
        if self._chosen.keys().isdisjoint(ids):
            return tuple(ids)
        return tuple(part for token in ids for part in self._parts(token))

    def _parts(self, token: int) -> tuple[int, ...]:
        followers = self._chosen.get(token)
        best = followers.best() if followers is not None else None
        if best is None or best.token == token or best.share < _LEAST_SHARE:
            return (token,)
        whole, beginning = self._encoder.piece(token), self._encoder.piece(best.token)
        if not whole.startswith(beginning):
            return (token,)
        rest = self._encoder.behind((best.token,), whole[len(beginning) :])
        return (best.token, *rest) if rest else (token,)
