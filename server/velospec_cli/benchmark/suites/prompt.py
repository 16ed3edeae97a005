"""One prompt of a suite: text to continue, or a cursor in a file, with what may be learned beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from velospec.core.request import InfillRequest, Limits, TextRequest


@dataclass(frozen=True, slots=True)
class Prompt:
    """`before` is continued as it stands or, where there is an `after`, completed up to it.

    `corpus` names the files that the engine learns first, `path` the file that the cursor is in.
    """

    name: str
    before: str
    after: str | None = None
    path: str = ""
    corpus: tuple[Path, ...] = ()

    def request(self, document: str, limits: Limits, *, speculate: bool) -> TextRequest | InfillRequest:
        """What to ask of an engine, in the KV slot that `document` names."""
        if self.after is None:
            return TextRequest(document, self.before, limits, speculate)
        return InfillRequest(document, self.before, self.after, self.path, limits, speculate)
