"""The output of one request: decided ids in, text and the ids kept out, streamed as far as it is settled.

Joins the vocabulary's bytes, the stop rules and the detokenizer. The bytes that healing spells out again are
already in the document: they count towards no rule and are not part of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from velospec.backends.base import Vocabulary
from velospec.core.request import FinishReason
from velospec.decode.detokenize import Detokenizer
from velospec.decode.stop import StopRules

OnText = Callable[[str], None]


class Output:
    """What a request has decided so far."""

    def __init__(  # noqa: PLR0913 - all but the first two by name
        self,
        vocabulary: Vocabulary,
        rules: StopRules,
        *,
        room: int,
        heal: int = 0,
        on_text: OnText | None = None,
        end_ids: frozenset[int] | None = None,
        marks: Mapping[int, bytes] | None = None,
    ) -> None:
        """`room` is the most ids that may be decided, `heal` the number of bytes to be spelled out again.

        `end_ids` end the completion; the vocabulary's if not given. `marks` are control tokens that show.
        """
        self._vocabulary = vocabulary
        self._end_ids = vocabulary.end_ids if end_ids is None else end_ids
        self._marks = marks or {}
        self._rules = rules
        self._heal = heal
        self._on_text = on_text
        self._detokenizer = Detokenizer()
        self._parts: list[str] = []
        self._shown = 0
        self._ends: list[int] = []  # [i]: where id i ends, in bytes after the healed ones
        self.ids: list[int] = []
        self.decided = 0  # ids decided up to the end, an end token included
        self.room = room

    @property
    def left(self) -> int:
        """How many more ids may be decided."""
        return self.room - len(self.ids)

    def extend(self, ids: Sequence[int]) -> FinishReason | None:
        """Take decided ids in order, up to the one that ends the completion; show what is settled."""
        finish = None
        for token in ids:
            finish = self._append(token)
            if finish is not None:
                break
        self._show(self._rules.settled)
        return finish

    def pause(self) -> FinishReason | None:
        """The time for more is used up: end with whole lines, now or as soon as there is one."""
        finish = self._rules.pause()
        self._show(self._rules.settled)
        return finish

    def close(self) -> tuple[str, int]:
        """The text, whole characters only, and how many ids lie wholly inside it."""
        self._show(self._rules.end)
        end = self._rules.end - self._detokenizer.waiting
        kept = len(self.ids)
        while kept and self._ends[kept - 1] > end:
            kept -= 1
        return "".join(self._parts), kept

    def ends(self, count: int) -> tuple[int, ...]:
        """How many characters of the text there are up to the end of each of the first `count` ids."""
        # A character that goes over the end of an id is counted with the id that completes it.
        return tuple(len(Detokenizer().feed(self._rules.bytes(0, end))) for end in self._ends[:count])

    def _append(self, token: int) -> FinishReason | None:
        self.decided += 1
        if token in self._end_ids:
            return FinishReason.END
        piece = self._marks.get(token) or self._vocabulary.piece(token)
        if self._heal:
            skipped = min(self._heal, len(piece))
            self._heal -= skipped
            piece = piece[skipped:]
        before = self._ends[-1] if self._ends else 0
        self.ids.append(token)
        self._ends.append(before + len(piece))
        finish = self._rules.feed(piece) if piece else None
        if finish is None and len(self.ids) >= self.room:
            finish = FinishReason.LENGTH
        return finish

    def _show(self, end: int) -> None:
        if end <= self._shown:
            return
        text = self._detokenizer.feed(self._rules.bytes(self._shown, end))
        self._shown = end
        if text:
            self._parts.append(text)
            if self._on_text is not None:
                self._on_text(text)
