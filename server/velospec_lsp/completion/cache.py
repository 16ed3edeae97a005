"""What was offered lately, so that a user who types along is answered without the model.

Keyed by document, by the text before the place and by the text behind it. A place is looked up by the last
characters before it, so that the cost of a look-up grows with the length of the longest text, and not with
the number of texts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from velospec_lsp.completion.closers import follows
from velospec_lsp.completion.site import Site

_KEPT = 250
_KEY = 64  # characters before a place by which it is looked up
_ENOUGH = 200  # characters that tell one place in a document from another


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote at a place."""

    prefix: str
    suffix: str
    text: str

    def typed_at(self, site: Site, count: int) -> bool:
        """Whether `site` is this place with the first `count` characters of the text typed since."""
        end = len(site.prefix) - count
        return (
            end >= 0
            and site.prefix.startswith(self.text[:count], end)
            and _same_place(site.prefix[:end], self.prefix)
            and follows(self.suffix, site.suffix, self.text[:count])
        )

    def typed(self, site: Site) -> int | None:
        """How many characters of the text, and nothing else, were typed to come to `site`; else None."""
        return next((count for count in range(len(self.text)) if self.typed_at(site, count)), None)


@dataclass(frozen=True, slots=True)
class Hit:
    """A remembered completion that still fits: `typed` is there already, `text` is the rest.

    A `fitted` one is made for what stands behind the cursor, and replaces nothing of it. `moved` tells that
    an editor has changed that since: the rest is to be fitted to it. `sampled` ones are further choices,
    which stand behind what the model likes best.
    """

    id: str
    typed: str
    text: str
    fitted: bool = False
    moved: bool = False
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    id: str
    uri: str
    written: Written
    cut: bool
    fitted: bool
    sampled: bool

    @property
    def key(self) -> str:
        return self.written.prefix[-_KEY:]


class OfferCache:
    """The last completions, the least recently used forgotten first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # the last used last
        self._places: dict[str, dict[str, list[_Entry]]] = {}  # by URI, then by the end of the prefix
        self._longest: dict[str, int] = {}  # no text of the document is longer

    def put(self, uri: str, site: Site, hit: Hit, *, cut: bool = False) -> None:
        """Remember what was completed at `site`: the whole of `hit`, of which nothing is typed yet.

        `cut` tells that the time of an automatic request ended the text: it answers no manual one.
        """
        written = Written(site.prefix, site.suffix, hit.text)
        self._add(_Entry(hit.id, uri, written, cut, hit.fitted, hit.sampled))
        while len(self._entries) > _KEPT:
            self._remove(next(iter(self._entries.values())))

    def find(self, uri: str, site: Site, *, manual: bool = False) -> tuple[Hit, ...]:
        """The completions of which the beginning, and nothing else, has been typed since: the best first.

        That is the last one used, which the user sees, or one that extends it. No two have the same rest.
        """
        found = [(entry, count) for entry, count in self._typed_at(uri, site) if not (manual and entry.cut)]
        if not found:
            return ()
        turns = {identity: turn for turn, identity in enumerate(self._entries)}
        # The last used first, and then the further choices in their order.
        found.sort(key=lambda pair: -turns[pair[0].id])
        found.sort(key=lambda pair: turns[pair[0].id] if pair[0].sampled else -1)
        hits: dict[str, Hit] = {}
        for entry, count in found:
            hit = _hit(entry, count, site)
            hits.setdefault(hit.text, hit)
        shown, *others = hits.values()
        longer = (hit for hit in others if not hit.sampled and hit.text.startswith(shown.text))
        first = next(longer, shown)
        self._entries.move_to_end(first.id)
        return (first, *(hit for hit in hits.values() if hit is not first))

    def is_cut(self, identity: str) -> bool:
        """Whether a text is known to go on beyond what is kept of it."""
        entry = self._entries.get(identity)
        return entry is not None and entry.cut

    def extend(self, identity: str, more: str, *, cut: bool) -> None:
        """`more` is how the text goes on; what is shown of it stays its beginning."""
        entry = self._entries.get(identity)
        if entry is not None:
            self._remove(entry)
            written = replace(entry.written, text=entry.written.text + more)
            self._add(replace(entry, written=written, cut=cut))

    def forget(self, uri: str | None = None) -> None:
        """Drop what was completed in `uri`; everything if None."""
        for entry in [entry for entry in self._entries.values() if uri in (None, entry.uri)]:
            del self._entries[entry.id]
            self._places.pop(entry.uri, None)
            self._longest.pop(entry.uri, None)

    def _typed_at(self, uri: str, site: Site) -> Iterator[tuple[_Entry, int]]:
        places, prefix, end = self._places.get(uri, {}), site.prefix, len(site.prefix)
        for count in range(min(self._longest.get(uri, 0), end + 1)):
            at = end - count
            for entry in places.get(prefix[max(0, at - _KEY) : at], ()):
                if count < len(entry.written.text) and entry.written.typed_at(site, count):
                    moved = entry.written.suffix != site.suffix
                    if not (moved and entry.fitted):  # fitted to what stood behind it
                        yield entry, count

    def _add(self, entry: _Entry) -> None:
        self._entries[entry.id] = entry
        self._places.setdefault(entry.uri, {}).setdefault(entry.key, []).append(entry)
        self._longest[entry.uri] = max(self._longest.get(entry.uri, 0), len(entry.written.text))

    def _remove(self, entry: _Entry) -> None:
        del self._entries[entry.id]
        places = self._places[entry.uri]
        places[entry.key].remove(entry)
        if not places[entry.key]:
            del places[entry.key]


def _hit(entry: _Entry, count: int, site: Site) -> Hit:
    text = entry.written.text
    moved = entry.written.suffix != site.suffix
    return Hit(entry.id, text[:count], text[count:], entry.fitted, moved, entry.sampled)


def _same_place(one: str, other: str) -> bool:
    """Whether two windows end at the same place. One of them may begin some lines further down."""
    if len(one) == len(other):
        return one == other
    short, long = sorted((one, other), key=len)
    return len(short) >= _ENOUGH and long.endswith("\n" + short)
