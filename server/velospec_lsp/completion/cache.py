"""What was offered lately, so that a user who types along is answered without the model.

Thin: the last offers of each document, compared by the text around the cursor.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from velospec_lsp.completion.site import Site

_KEPT = 64
_ENOUGH = 200  # characters that tell one place in a document from another


@dataclass(frozen=True, slots=True)
class Hit:
    """A remembered completion that still fits: `typed` is there already, `text` is the rest."""

    id: str
    typed: str
    text: str
    fitted: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    uri: str
    prefix: str
    suffix: str
    text: str
    manual: bool
    fitted: bool


class OfferCache:
    """The last completions, the oldest forgotten first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def put(
        self, identity: str, uri: str, site: Site, text: str, *, manual: bool, fitted: bool = False
    ) -> None:
        """Remember that `text` was completed at `site`; `fitted` as `make_offer` takes it."""
        self._entries[identity] = _Entry(uri, site.prefix, site.suffix, text, manual, fitted)
        while len(self._entries) > _KEPT:
            self._entries.popitem(last=False)

    def get(self, uri: str, site: Site, *, manual: bool) -> Hit | None:
        """The newest completion whose beginning has been typed since, and nothing else.

        One that was made within the automatic budget does not answer a manual request.
        """
        for identity, entry in reversed(self._entries.items()):
            if entry.uri != uri or entry.suffix != site.suffix or (manual and not entry.manual):
                continue
            typed = _typed(entry, site.prefix)
            if typed is not None:
                self._entries.move_to_end(identity)
                return Hit(identity, entry.text[:typed], entry.text[typed:], entry.fitted)
        return None

    def forget(self, uri: str | None = None) -> None:
        """Drop what was completed in `uri`; everything if None."""
        gone = [identity for identity, entry in self._entries.items() if uri in (None, entry.uri)]
        for identity in gone:
            del self._entries[identity]


def _typed(entry: _Entry, prefix: str) -> int | None:
    """How many characters of `entry.text`, and nothing else, lie behind its prefix in `prefix`; else None."""
    for count in range(len(entry.text)):
        if not prefix.endswith(entry.text[:count]):
            continue
        before = prefix[: len(prefix) - count]
        if _same_place(before, entry.prefix):
            return count
    return None


def _same_place(one: str, other: str) -> bool:
    """Whether two windows end at the same place. One of them may begin some lines further down."""
    if len(one) == len(other):
        return one == other
    short, long = sorted((one, other), key=len)
    return len(short) >= _ENOUGH and long.endswith("\n" + short)
