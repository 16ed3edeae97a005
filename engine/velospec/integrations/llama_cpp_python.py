"""VeloSpec's drafts for llama-cpp-python: its `Llama` asks, decodes and samples as it always does.

    drafts = VeloSpecDraftModel.for_file("model.gguf")
    llama = Llama("model.gguf", draft_model=drafts, logits_all=True)

Its interface hands over all ids so far and takes a draft, nothing else. So what became of the last draft is
inferred from how the ids went on, what a batch costs from the time until the next call, and where nothing
pays, the draft is empty, which `Llama` takes for plain decoding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from llama_cpp.llama_speculative import LlamaDraftModel

from velospec.backends.base import Vocabulary
from velospec.backends.llama_cpp import open_vocabulary
from velospec.control.acceptance import Acceptance
from velospec.control.cost_model import CostModel
from velospec.control.policy import Cost
from velospec.control.priors import shipped
from velospec.control.selector import Selector
from velospec.control.token_class import token_classes
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.core.paths import data_folder
from velospec.core.statistics import ProposerCount, Statistics
from velospec.drafting import Drafters, Drafting
from velospec.learning.library import RuleLibrary
from velospec.models.pairs import vocabulary_digest
from velospec.proposers.base import LanguageAware, Proposer, Watching
from velospec.proposers.syntax_rules.domains import detect

LONGEST = 15
"""Most ids of one draft."""

Ids = npt.NDArray[np.intc]


class VeloSpecDraftModel(LlamaDraftModel):
    """Drafts for one `Llama` at a time; `statistics` counts what came of it since the start."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        proposers: Sequence[Proposer],
        selector: Selector,
        *,
        longest: int = LONGEST,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Draft at most `longest` ids of `vocabulary`; see `for_file` for the usual parts."""
        self.statistics = Statistics()
        self._vocabulary = vocabulary
        self._never = vocabulary.control_ids | vocabulary.end_ids
        self._proposers = {proposer.name: proposer for proposer in proposers}
        self._selector = selector
        self._longest = longest
        self._clock = clock
        self._known: Ids = np.empty(0, np.intc)  # all ids of the last call
        self._offered: list[Draft] = []
        self._draft = EMPTY  # what the last call returned, and when
        self._returned = 0.0

    @classmethod
    def for_file(
        cls, path: str | Path, *, longest: int = LONGEST, cost: Cost | None = None
    ) -> VeloSpecDraftModel:
        """Draft for the model of the GGUF file `path`, of which only the vocabulary is loaded.

        The first time for a tokenizer takes seconds: rules are put into its ids and kept in the data folder.

        Args:
            path: The file that the `Llama` has.
            longest: Most ids of one draft.
            cost: What a batch costs on this machine; None begins with a cautious guess. Refined in use.

        Raises:
            ModelLoadError: the file cannot be read.
        """
        path = Path(path)
        vocabulary, digest = open_vocabulary(path), vocabulary_digest(path)
        rules = RuleLibrary(vocabulary, data_folder() / "vocabularies" / digest, digest)
        rules.prepare()
        proposers = Drafters(vocabulary, rules).chosen(Drafting())
        acceptance = Acceptance(shipped(), classes=token_classes(vocabulary))
        selector = Selector(acceptance, cost or CostModel.default())
        return cls(vocabulary, proposers, selector, longest=longest)

    def __call__(self, input_ids: Ids, /, **_: Any) -> Ids:
        """The draft for what may follow `input_ids`; empty where none pays. Shape [at most `longest`]."""
        called = self._clock()
        if not self._went_on(input_ids, called - self._returned):
            self._begin(input_ids.tolist())
        self._known = input_ids.copy()
        self._offered = self._offers()
        self._draft = self._selector.choose(self._offered, len(input_ids) - 1)
        self._returned = self._clock()
        return np.array(self._draft.ids, np.intc)

    def _begin(self, ids: list[int]) -> None:
        self._selector.begin()
        text = b"".join(map(self._vocabulary.piece, ids)).decode("utf-8", "replace")
        for proposer in self._proposers.values():
            if isinstance(proposer, LanguageAware):
                proposer.use_language(detect("", text))
            proposer.begin(ids)

    def _went_on(self, ids: Ids, seconds: float) -> bool:
        """Whether `ids` are those of the last call and what one step decided since; if so, learn from it."""
        known = len(self._known)
        decided = tuple(ids[known:].tolist())
        drafted = self._draft.ids
        if not 1 <= len(decided) <= len(drafted) + 1 or not np.array_equal(ids[:known], self._known):
            return False
        accepted = len(decided) - 1
        if decided[:accepted] != drafted[:accepted]:
            return False
        verdict = Verdict(self._draft, accepted, decided[accepted])
        self._selector.observe(self._offered, verdict, known - 1, seconds)
        for proposer in self._proposers.values():
            proposer.extend(decided)
            if isinstance(proposer, Watching):
                proposer.watch(self._offered, decided)
        owner = self._proposers.get(self._draft.proposer)
        if owner is not None:
            owner.observe(verdict)
        self._count(verdict)
        return True

    def _offers(self) -> list[Draft]:
        drafts = (proposer.propose(self._longest) for proposer in self._proposers.values())
        return [draft for draft in map(self._trim, drafts) if draft.ids]

    def _trim(self, draft: Draft) -> Draft:
        """Cut before the first id that `Llama` should come to by itself: one that ends or is never shown."""
        return draft.cut(next((i for i, token in enumerate(draft.ids) if token in self._never), len(draft)))

    def _count(self, verdict: Verdict) -> None:
        drafted = len(verdict.draft)
        counts = {verdict.draft.proposer: ProposerCount(1, drafted, verdict.accepted)} if drafted else {}
        self.statistics += Statistics(
            steps=1,
            new_tokens=verdict.accepted + 1,
            drafted_tokens=drafted,
            accepted_tokens=verdict.accepted,
            proposers=counts,
        )
