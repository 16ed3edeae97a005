"""Further choices: other completions when the user asks for them, and the first line of a block for free.

The model is asked again at the same place, this time with some chance in what it takes: it reads nothing
anew. Where it is sure of its answer it gives the same one again, and there is no other choice to show.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from velospec.core.errors import VeloSpecError
from velospec.core.request import Completion, FinishReason, Sampling
from velospec_lsp.completion.asking import Asking
from velospec_lsp.completion.cache import Hit
from velospec_lsp.completion.offer import Offer
from velospec_lsp.completion.outline import outline
from velospec_lsp.completion.site import Query, Site
from velospec_lsp.completion.work import Work

logger = logging.getLogger(__name__)

MOST = 3
"""Choices at a time."""

Fit = Callable[[Work, Completion], str]
Keep = Callable[[Work, str], Hit]

_DRAWS = (0.7, 1.0, 1.0, 1.3)  # temperatures of the attempts, in their order
_REMEMBERED = 200  # places where others were looked for
_SHORTEST_MS = 50  # less is not worth an attempt


class Alternatives:
    """Finds other completions for requests made by hand."""

    def __init__(self, asking: Asking, fit: Fit, keep: Keep) -> None:
        """`fit` is what the filters leave of a completion, `keep` remembers it and gives it its name."""
        self._asking = asking
        self._fit = fit
        self._keep = keep
        self._explored: OrderedDict[str, None] = OrderedDict()  # the first choices, by their names

    def known(self, found: tuple[Hit, ...]) -> bool:
        """Whether there is nothing more to look for beside `found`."""
        return len(found) >= MOST or found[0].id in self._explored

    async def find(self, work: Work) -> None:
        """Add to what was found; in the time of an automatic request, since somebody waits for the first."""
        slow = work.completion is not None and work.completion.finish is FinishReason.DEADLINE
        if not work.query.manual or slow or self.known(work.found):
            return
        until = time.monotonic() + work.settings.budget_ms / 1000
        seen = {hit.text for hit in work.found}
        for seed, temperature in enumerate(_DRAWS):
            left = 1000 * (until - time.monotonic())
            if left < _SHORTEST_MS or len(work.found) >= MOST:
                break
            sampling = Sampling(temperature=temperature, top_p=0.95, seed=seed)
            try:
                text = self._fit(work, await self._asking.draw(work, int(left), sampling))
            except VeloSpecError as error:
                logger.info("no more choices: %s", error)
                break
            if text and text not in seen:
                seen.add(text)
                work.found += (self._keep(work, text),)
        self._explored[work.found[0].id] = None
        while len(self._explored) > _REMEMBERED:
            self._explored.popitem(last=False)
        work.trace.notes["alternatives"] = f"{len(work.found)} choices"


def first_line(offer: Offer, query: Query, site: Site) -> Offer | None:
    """The first line of an offered block as a choice of its own; None where it cannot stand alone."""
    line, rest, _ = offer.text.partition("\n")
    here = line[query.cursor.index - offer.start.index :]
    if not rest or not here.strip() or offer.end != query.cursor or query.selection is not None:
        return None
    found = outline(here, site.facts, site.before.inside)
    if found.opened or (found.inside is not None and found.inside.close):
        return None  # it opens what only the block closes
    return replace(offer, id=f"{offer.id}.1", text=line)
