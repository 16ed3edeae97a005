"""What was learned of acceptance, apart for each workspace: what one project repeats another does not.

And apart for answers under a grammar: half of their text is forced and the rest is short, so that the same
evidence says another thing there. Kept beside the model as `acceptance.json`: weights by proposer, evidence,
position and class of id, with no ids and no text; a workspace is named by a digest. Holds a few workspaces,
the least recently used leaves.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from velospec.control.acceptance import Acceptance
from velospec.control.priors import VERSION
from velospec.core.draft import Draft, Verdict

NAME = "acceptance.json"
MOST_WORKSPACES = 8
"""Kept in memory and in the file; about 60 KB each, the single ids of this process left out.

One with answers of both kinds counts twice.
"""

_STRUCTURED = "-grammar"  # behind the digest of a workspace

_logger = logging.getLogger(__name__)


class Acceptances:
    """Acceptance by workspace. It stands for that of the workspace last entered, see `policy.Estimate`."""

    def __init__(
        self, make: Callable[[], Acceptance], structured: Callable[[], Acceptance] | None = None
    ) -> None:
        """`make` gives an acceptance that has learned nothing of its own, `structured` one for grammars."""
        self._make = {False: make, True: structured or make}
        self._known: OrderedDict[str, Acceptance] = OrderedDict()
        self._current = self.of()

    def enter(self, workspace: str, *, structured: bool = False, taken: float | None = None) -> None:
        """A request of that workspace is next; `structured` says whether it has a grammar.

        `taken` is the share of completions that the user takes there, None while it is not known.
        """
        self._current = self.of(workspace, structured=structured)
        self._current.use_reception(taken)

    def begin(self) -> None:
        self._current.begin()

    def look(self, density: float) -> None:
        self._current.look(density)

    def walk(self, draft: Draft, offered: Sequence[Draft] = ()) -> Iterator[float]:
        return self._current.walk(draft, offered)

    def learn(self, offered: Sequence[Draft], verdict: Verdict) -> None:
        self._current.learn(offered, verdict)

    def of(self, workspace: str = "", *, structured: bool = False) -> Acceptance:
        """The acceptance of the workspace of that name, new where it is not known."""
        digest = hashlib.sha256(workspace.encode()).hexdigest()[:16]
        return self._get(digest + _STRUCTURED if structured else digest)

    def save(self, folder: Path) -> None:
        """Write it into `folder`; one that cannot be written costs only what would be learned again."""
        kept = {key: acceptance.to_dict() for key, acceptance in self._known.items()}
        try:
            text = json.dumps({"version": VERSION, "workspaces": kept})
            (folder / NAME).write_text(text, encoding="utf-8")
        except OSError as error:
            _logger.warning("Acceptance could not be kept in %s: %s", folder, error.strerror)

    def load(self, folder: Path) -> None:
        """Go on from what `save` wrote; a file that is not there or not usable is passed over."""
        try:
            data = json.loads((folder / NAME).read_text(encoding="utf-8"))
            if data["version"] == VERSION:
                self._restore(data["workspaces"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _logger.warning("What was learned of acceptance in %s is not usable: %s", folder, error)

    def _restore(self, workspaces: dict[str, Any]) -> None:
        for key, weights in workspaces.items():
            restored = self._new(key)
            restored.restore(weights)
            self._known[key] = restored
        while len(self._known) > MOST_WORKSPACES:
            self._known.popitem(last=False)

    def _get(self, key: str) -> Acceptance:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._new(key)
            if len(self._known) > MOST_WORKSPACES:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known

    def _new(self, key: str) -> Acceptance:
        return self._make[key.endswith(_STRUCTURED)]()
