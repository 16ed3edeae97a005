"""How a JSON text under a grammar goes on: a walk through forced text and guessed choices, part by part.

At each choice it asks what the model chose there before, then what the request mentions, then which of few
alternatives there are; it ends where nothing is known. Whatever it says is verified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from velospec.backends.base import Vocabulary
from velospec.proposers.structure.basis import PRIORS, Basis
from velospec.proposers.structure.chain import Chain
from velospec.proposers.structure.json_place import LONGEST, Mode
from velospec.proposers.structure.mentions import Mentions, numbers_in
from velospec.proposers.structure.states import Guess, State, States

_SURE_TIMES, _SURE_SHARE = 2.0, 0.8
_LEAST_SHARE = 0.5
_LEVEL_TRUST = (1.0, 0.8, 0.7)  # of what was counted elsewhere
_TEXT_TRUST = (0.5, 0.9, 1.0)  # of what was counted of strings, by how often it was seen: they differ most
_MOST_PARTS = 24
_MOST_SPELLED = 40  # ids that a place may allow for each to be spelled out
_KEYS_TRIED = 6
_NAMES_TRIED = 3
_PROBE = b"zq"  # what hardly any enumeration begins with
_DIGIT = b"7"


class Walk:
    """One draft of `grammar_state`: goes on from `state` and fills `chain`."""

    def __init__(
        self, chain: Chain, state: State, states: States, mentions: Mentions, vocabulary: Vocabulary
    ) -> None:
        self._chain = chain
        self._state = state
        self._states = states
        self._mentions = mentions
        self._piece = vocabulary.piece
        self._copied = b""  # the value that was copied last

    @property
    def complete(self) -> bool:
        """Whether the JSON is complete where the chain ends."""
        place = self._state.place
        return place.mode is Mode.TEXT and not place.written

    def go(self, answer: bytes) -> None:
        """Fill the chain behind `answer`, all that was decided so far."""
        self._answer = answer
        parts = 0
        while self._chain.open and parts < _MOST_PARTS and self._part():
            parts += 1

    def _part(self) -> bool:
        """Add one part; False where nothing is known of how it goes on."""
        if forced := self._chain.forced():
            return self._spell_out(forced)
        guess = self._best(0)
        if guess and guess.times >= _SURE_TIMES and guess.share >= _SURE_SHARE and self._take(0, guess):
            return True
        return self._counted(blank=True) or any(ask(self) for ask in self._ASKED[self._state.place.mode])

    def _spell_out(self, forced: bytes) -> bool:
        """Forced text: in the tokens that the model wrote it with before, and else in the tokenizer's."""
        while forced:
            guess = self._state.spelling(forced, self._piece)
            if guess is None:
                return self._add((forced, Basis.FORCED), sure=True)
            basis = Basis.SPELLED if guess.share >= _SURE_SHARE else Basis.RESPELLED
            prior = PRIORS[basis] * guess.share * (guess.times + 1) / (guess.times + 1.05)
            self._chain.add_id(guess.token, int(basis), prior, sure=True)
            piece = self._piece(guess.token)
            self._move(piece)
            forced = forced[len(piece) :]
        return True

    # What was counted.

    def _best(self, level: int) -> Guess | None:
        followers = self._state.followers
        return followers[level].best() if level < len(followers) else None

    def _counted(self, *, blank: bool = False) -> bool:
        """The id that mostly followed, at the first level where one did; with `blank` only a blank."""
        for level in range(len(self._state.followers)):
            guess = self._best(level)
            if guess is None or guess.share < _LEAST_SHARE:
                continue
            if (not blank or self._piece(guess.token)[:1].isspace()) and self._take(level, guess):
                return True
        return False

    def _take(self, level: int, guess: Guess) -> bool:
        count = 0 if guess.times < 1.5 else 1 if guess.times < 4 else 2
        share = 0 if guess.share < 0.7 else 1 if guess.share < 0.95 else 2
        kind = int(self._state.place.mode)
        evidence = Basis.COUNTED + ((level * 8 + kind) * 3 + count) * 3 + share
        prior = _LEVEL_TRUST[level] * guess.share * (guess.times + 1.0) / (guess.times + 1.6)
        if kind == Mode.STRING:
            prior *= _TEXT_TRUST[count]
        if not self._chain.add_id(guess.token, evidence, prior):
            return False
        self._move(self._piece(guess.token))
        return True

    # Values.

    def _number(self) -> bool:
        """A number of the request, where there may be one."""
        found = self._mentions.number_near(self._key_before(), self._used())
        return found is not None and self._copy(found, b"", Basis.NUMBER)

    def _number_end(self) -> bool:
        written = self._state.place.written
        if written == self._copied:
            return self._end(Basis.NUMBER_END)
        longer = next(
            (text for text in self._mentions.texts if len(text) > len(written) and text.startswith(written)),
            b"",
        )
        if longer and written not in self._mentions.texts and self._copy(longer, written, Basis.REST):
            return True
        return self._end(Basis.NUMBER_END if written in self._mentions.texts else Basis.MAYBE_END)

    def _string(self) -> bool:
        written = self._state.place.written
        if not written:
            unused = [name for name in self._mentions.names if name not in self._answer][:_NAMES_TRIED]
            return any(self._copy(name, b"", Basis.NAME) for name in unused)
        if written == self._copied:
            return self._add((b'"', Basis.TEXT_END))
        longer = next((name for name in self._mentions.names if name.startswith(written)), b"")
        if len(longer) > len(written):
            return self._copy(longer, written, Basis.REST)
        rest = self._mentions.rest(written)
        if rest is None:
            return False
        return self._copy(written + rest, written, Basis.REST) if rest else self._add((b'"', Basis.TEXT_END))

    def _copy(self, value: bytes, written: bytes, basis: Basis) -> bool:
        """The value of the request behind what is written of it."""
        text = value[len(written) :]
        if not self._add((text[:1], basis), (text[1:], Basis.REST)):
            return False
        self._copied = value[-LONGEST:]
        return True

    def _used(self) -> set[int]:
        """The places of numbers of the request that the answer has already."""
        written = Counter(numbers_in(self._answer))
        used = set()
        for place, text in self._mentions.numbers:
            if written[text]:
                written[text] -= 1
                used.add(place)
        return used

    def _key_before(self) -> bytes:
        return next((key for key in reversed(self._state.place.path) if key), b"")

    # What is around values.

    def _next(self) -> bool:
        return self._end(Basis.NEXT)

    def _end(self, basis: Basis) -> bool:
        """A comma, or the end of the object or array."""
        path = self._state.place.path
        if not path:
            return False
        close = b"]" if path[-1] is None else b"}"
        first, other = (b",", close) if self._states.goes_on(path) else (close, b",")
        if self._add((first, Basis.NEXT if self._chain.fits(other) else basis)):
            return True
        return self._add((other, basis))

    def _key(self) -> bool:
        """The next of the prompt's keys that may stand here."""
        place, keys = self._state.place, self._mentions.keys
        before = place.path[-1] or (place.path[-2] if len(place.path) > 1 else None) or b""
        start = keys.index(before) + 1 if before in keys else 0
        tried: list[bytes] = []
        for key in keys[start:]:
            if key in tried or not key.startswith(place.written):
                continue
            if self._add((key[len(place.written) :] + b'"', Basis.KEY)):
                return True
            tried.append(key)
            if len(tried) == _KEYS_TRIED:
                break
        return False

    def _alternative(self) -> bool:
        """One of few texts that the grammar leaves the choice of: the one that the request speaks of."""
        state = self._state
        if state.spelled is None:
            free = self._chain.fits(_PROBE if state.place.mode is Mode.STRING else _DIGIT)
            state.spelled = () if free else self._spell()
        texts = state.spelled
        if not texts:
            return False
        scored = [(self._mentions.mentioned(text), -number, text) for number, text in enumerate(texts)]
        words, _, text = max(scored)
        return self._add((text[:1], Basis.MENTIONED if words else Basis.GUESSED), (text[1:], Basis.REST))

    def _spell(self) -> tuple[bytes, ...]:
        """Each text that the grammar leaves the choice of, up to where it leaves another."""
        found: dict[bytes, None] = {}
        for token in self._chain.few(_MOST_SPELLED):
            piece = self._piece(token)
            text = piece + self._chain.forced_behind(token) if piece else b""
            quote = text.find(b'"', len(piece))
            found[text[: quote + 1] if quote > 0 else text] = None
        texts = [text for text in found if text]
        return tuple(
            text for text in texts if not any(text != other and other.startswith(text) for other in texts)
        )

    # Moving.

    def _add(self, *parts: tuple[bytes, Basis], sure: bool = False) -> bool:
        kept = [(text, int(basis), PRIORS[basis]) for text, basis in parts if text]
        if not kept or not self._chain.add(*kept, sure=sure):
            return False
        for text, _, _ in kept:
            self._move(text)
        return True

    def _move(self, text: bytes) -> None:
        self._state = self._state.after(text)
        self._answer += text

    def _quote(self) -> bool:
        return self._add((b'"', Basis.GUESSED))

    def _colon(self) -> bool:
        return self._add((b":", Basis.FORCED))

    # What is asked in turn where the grammar leaves a choice, until something is known.
    _ASKED: ClassVar[dict[Mode, tuple[Callable[[Walk], bool], ...]]] = {
        Mode.TEXT: (_counted,),
        Mode.FIRST: (_counted, _quote),
        Mode.KEY: (_counted, _key, _alternative),
        Mode.COLON: (_colon,),
        Mode.VALUE: (_number, _counted, _alternative),
        Mode.STRING: (_string, _counted, _alternative),
        Mode.SCALAR: (_number_end, _counted),
        Mode.AFTER: (_next,),
    }
