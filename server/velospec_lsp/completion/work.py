"""One completion on its way through the stages: what is asked, and what has been found out so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from velospec.core.request import Chunk, Completion
from velospec_lsp.completion.cache import Hit
from velospec_lsp.completion.extent import Extent
from velospec_lsp.completion.running import Run
from velospec_lsp.completion.site import Query, Site
from velospec_lsp.completion.trace import Trace
from velospec_lsp.json_schema.guide import Guidance
from velospec_lsp.settings import Settings


@dataclass(slots=True)
class Work:
    """Filled in by the stages, in their order; a stage reads what those before it have written."""

    query: Query
    settings: Settings
    site: Site
    run: Run
    extent: Extent = field(default_factory=Extent)
    context: tuple[Chunk, ...] = ()  # pieces of other files, for the prompt
    guidance: Guidance | None = None  # of a JSON document that has a schema
    completion: Completion | None = None
    text: str = ""  # what is left of it to show
    confidence: float | None = None  # that its first line is right, 0 to 1
    found: tuple[Hit, ...] = ()  # the choices to offer, the best first
    trace: Trace = field(default_factory=Trace)

    @property
    def answer(self) -> Completion:
        """What the model wrote; for stages after the one that asks it."""
        if self.completion is None:
            raise RuntimeError("the model was not asked")
        return self.completion
