"""What the model last wrote in each document, so that it is not asked the same again with each key.

An offer is typed through from the cache of offers. An answer that was not shown, since a filter or the quiet
gate was against it, goes the same way here: a user who types along it is served from what is left of it, and
the later stages judge that anew, as they would the model's own words, which would be the same.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from velospec.core.request import Completion
from velospec.core.statistics import Statistics
from velospec_lsp.completion.asking import HURRIED
from velospec_lsp.completion.cache import Written
from velospec_lsp.completion.work import Work
from velospec_lsp.events import Listener
from velospec_lsp.settings import Settings

if TYPE_CHECKING:
    from velospec_lsp.documents import Document

_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)
class _Answer:
    written: Written
    completion: Completion
    settings: Settings
    lines: int


class Answers(Listener):
    """The last answer in each of the documents that were completed last."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, _Answer] = OrderedDict()

    def put(self, work: Work) -> None:
        """Keep the answer of `work`, if it is one that would come again: whole, and free of a schema."""
        uri, answer = work.query.document.uri, work.answer
        self._last.pop(uri, None)
        if work.guidance is not None or answer.finish in HURRIED:
            return
        written = Written(work.site.prefix, work.site.suffix, answer.text)
        self._last[uri] = _Answer(written, answer, work.settings, work.extent.lines)
        while len(self._last) > _DOCUMENTS:
            self._last.popitem(last=False)

    def rest(self, work: Work) -> Completion | None:
        """What is left of the last answer if its beginning, and nothing else, was typed since; else None."""
        last = self._last.get(work.query.document.uri)
        if last is None or work.guidance is not None:
            return None
        if (last.settings, last.lines) != (work.settings, work.extent.lines):
            return None
        # An answer may be that there is nothing to write: it has no beginning to type.
        same = not work.query.manual and last.written.typed_at(work.site, 0)
        count = 0 if same else last.written.typed(work.site)
        return None if count is None else without(last.completion, count)

    def closed(self, document: Document) -> None:
        self.forget(document.uri)

    def forget(self, uri: str) -> None:
        """Drop the answer in `uri`."""
        self._last.pop(uri, None)


def without(completion: Completion, count: int) -> Completion:
    """`completion` without its first `count` characters, as if it had cost nothing.

    A token of which only the beginning is gone stays, and so does its probability.
    """
    gone = sum(end <= count for end in completion.ends)
    return replace(
        completion,
        text=completion.text[count:],
        token_ids=completion.token_ids[gone:],
        statistics=Statistics(),
        log_probs=completion.log_probs[gone:],
        ends=tuple(end - count for end in completion.ends[gone:]),
    )
