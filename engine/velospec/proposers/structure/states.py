"""What followed at each place of answers of one grammar: counts of ids by state, learned as they are written.

The idea of Domino (Beurer-Kellner et al., 2024, arXiv:2403.06988), P(token | grammar state). Grammar engines
give their states no names; so a state here is a place in the JSON (`json_place`): the keys around and what
was written of the value. Where a value is new, what followed other values at that place counts instead; where
the grammar is new, what followed at places of that kind in others. The latest counts for most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from velospec.proposers.structure.json_place import LONGEST, End, Mode, Path, Place

MOST_STATES = 1500
"""Of one grammar; about 1.5 KB each. When there are more, all are forgotten."""

_MOST_FOLLOWERS = 16
_MOST_KINDS = 1000
_FADING = 0.7  # what another id leaves of a count
_LARGEST = 20.0
_RECENT = 0.3  # weight of the newest decision between going on and ending
_DEEPEST = 4  # objects and arrays around that are told apart

_EVEN = 0.5

Key = TypeVar("Key")


class Guess(NamedTuple):
    """The id that most often followed, how often it did, and its share."""

    token: int
    times: float
    share: float


class Followers:
    """Counts of the ids that followed somewhere."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[int, float] = {}

    def learn(self, token: int) -> None:
        counts = self._counts
        known = counts.get(token, 0.0)
        if len(counts) > (known > 0):
            for other in counts:
                counts[other] *= _FADING
        if not known and len(counts) >= _MOST_FOLLOWERS:
            del counts[min(counts, key=counts.__getitem__)]
        counts[token] = min(known + 1, _LARGEST)

    def best(self) -> Guess | None:
        return _most(self._counts)

    def spelling(self, text: bytes, piece: Callable[[int], bytes]) -> Guess | None:
        """The best of those that `text` begins with."""
        return _most({token: count for token, count in self._counts.items() if text.startswith(piece(token))})


def _most(counts: dict[int, float]) -> Guess | None:
    if not counts:
        return None
    token = max(counts, key=counts.__getitem__)
    return Guess(token, counts[token], counts[token] / sum(counts.values()))


class State:
    """One place of a grammar, with what followed there."""

    __slots__ = ("_states", "_steps", "followers", "place", "spelled")

    def __init__(self, states: States, place: Place) -> None:
        self.place = place
        self.followers = states.followers(place)
        self.spelled: tuple[bytes, ...] | None = (
            None  # the texts that the grammar leaves the choice of, if few
        )
        self._states = states
        self._steps: dict[bytes, tuple[State, tuple[End, ...]]] = {}

    def after(self, piece: bytes) -> State:
        """The state behind `piece`."""
        return self._step(piece)[0]

    def spelling(self, text: bytes, piece: Callable[[int], bytes]) -> Guess | None:
        """The id that followed most often here of those that `text` begins with."""
        return self.followers[0].spelling(text, piece) if self.followers else None

    def learn(self, token: int, piece: bytes) -> State:
        """Take note that `token` followed; the state behind it."""
        for followers in self.followers:
            followers.learn(token)
        state, ends = self._step(piece)
        for path, goes_on in ends:
            self._states.note_end(path, goes_on=goes_on)
        return state

    def _step(self, piece: bytes) -> tuple[State, tuple[End, ...]]:
        known = self._steps.get(piece)
        if known is None:
            place, ends = self.place.follow(piece)
            known = self._states.at(place), ends
            if self.followers:
                self._steps[piece] = known
        return known


class Shared:
    """What the grammars of a workspace have in common."""

    def __init__(self) -> None:
        self.kinds: dict[Place, Followers] = {}  # by kind of place
        self.ends: dict[bool, float] = {}  # how often arrays, and objects, go on behind a value


class States:
    """The states of one grammar."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._states: dict[Place, State] = {}
        self._shapes: dict[Place, Followers] = {}
        self._ends: dict[Path, float] = {}

    def at(self, place: Place) -> State:
        """The state of `place`; far inside a text, which will not come again, one that learns nothing."""
        known = self._states.get(place)
        if known is None and _is_deep(place):
            return State(self, place)
        if known is None:
            if len(self._states) >= MOST_STATES:
                self._states.clear()
                self._shapes.clear()
                self._ends.clear()
            known = self._states[place] = State(self, place)
        return known

    def followers(self, place: Place) -> Sequence[Followers]:
        """By level, from exactly this place to places of its kind; inside keys and texts the first alone."""
        path, mode, written = place
        if _is_deep(place):
            return ()
        if mode is Mode.KEY or (mode in (Mode.TEXT, Mode.STRING) and written):
            return (Followers(),)
        shape = Place(path, mode, b"0" if written and mode is Mode.SCALAR else written)
        kind = (None,) * (min(len(path), _DEEPEST) - 1) + ((path[-1] and b"k",) if path else ())
        kinds = self._shared.kinds
        if len(kinds) >= _MOST_KINDS:
            kinds.clear()
        general = kinds.setdefault(Place(kind, mode, shape.written), Followers())
        return Followers(), self._shapes.setdefault(shape, Followers()), general

    def goes_on(self, path: Path) -> bool:
        """Whether another member or element is likelier to follow the value at `path` than the end.

        At a new path as at all others; before anything was seen, objects go on and arrays end.
        """
        array = path[-1] is None
        return self._ends.get(path, self._shared.ends.get(array, 0.0 if array else 1.0)) > _EVEN

    def note_end(self, path: Path, *, goes_on: bool) -> None:
        _note(self._ends, path, goes_on)
        _note(self._shared.ends, path[-1] is None, goes_on)


def _note(shares: dict[Key, float], key: Key, happened: bool) -> None:  # noqa: FBT001 - a count of it
    known = shares.get(key, float(happened))
    shares[key] = known + _RECENT * (happened - known)


def _is_deep(place: Place) -> bool:
    return place.mode in (Mode.TEXT, Mode.STRING) and len(place.written) >= LONGEST


class Memory:
    """The states of the grammars last used, and what they share."""

    def __init__(self, most: int = 12) -> None:
        self._most = most
        self._shared = Shared()
        self._grammars: dict[object, States] = {}

    def of(self, key: object) -> States:
        """The states of the grammar `key`; new ones where it is not known."""
        states = self._grammars.pop(key, None) or States(self._shared)
        self._grammars[key] = states
        if len(self._grammars) > self._most:
            del self._grammars[next(iter(self._grammars))]
        return states
