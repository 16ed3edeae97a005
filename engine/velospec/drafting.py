"""How an engine drafts: which proposers it asks, by which policy it chooses, and the parts that do it.

`Drafting` is what a caller says; `Drafters` are the proposers of one engine, with what they have learned of
other texts. Everything here is one engine's own: nothing is shared between models or processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from velospec.backends.base import Vocabulary
from velospec.control.adaptive_k import AdaptiveK, DensityK, FixedK
from velospec.control.policy import Cost, Estimate, Policy
from velospec.control.selector import Selector
from velospec.core.draft import Draft
from velospec.core.errors import SettingsError
from velospec.learning.library import RuleLibrary
from velospec.learning.rules import Tier
from velospec.learning.workspace.chains import ChainIndex
from velospec.learning.workspace.library import Workspaces
from velospec.learning.workspace.online_rules import OnlineRules
from velospec.learning.workspace.reading import Reader, Reading
from velospec.models.store import InstalledModel
from velospec.proposers import syntax_fsm
from velospec.proposers.ast_shadow import AstShadow
from velospec.proposers.base import Proposer
from velospec.proposers.forced import Forced, Part
from velospec.proposers.grammar_state import GrammarState, basis_name
from velospec.proposers.motif import MotifProposer
from velospec.proposers.ngram_rules import LENGTHS, TIERS, NgramRules
from velospec.proposers.resume import ResumeProposer
from velospec.proposers.structure.duties import Reason
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.suffix import CorpusProposer, SuffixProposer
from velospec.proposers.syntax_fsm import SyntaxFsm
from velospec.proposers.syntax_rules.domains import detect

PROPOSERS = (
    "forced",
    "grammar_state",
    "suffix",
    "resume",
    "corpus",
    "ngram",
    "motif",
    "syntax_fsm",
    "ast_shadow",
    "draft_model",
)
"""The names of all proposers, in the order in which they are asked."""


class Control(StrEnum):
    """By what the draft and its length are chosen; all but the first are there to be compared with it."""

    SELECTOR = "selector"  # most expected tokens per second
    ADAPTIVE_K = "adaptive_k"  # a length that follows the acceptance of the last rounds
    DENSITY = "density"  # a length by the share of the vocabulary that the grammar allows
    FIXED = "fixed"  # always the same length


@dataclass(frozen=True, slots=True)
class Drafting:
    """How to draft. The default is the best there is; the rest serves comparisons.

    Raises:
        SettingsError: a proposer has no such name, or the length is below 1.
    """

    proposers: frozenset[str] | None = None  # None asks all of them
    control: Control = Control.SELECTOR
    length: int = 8  # of every draft under FIXED
    entropy_gate: bool = True  # whether the target's margins scale what the selector expects
    grammar_trims: bool = (
        True  # whether the grammar is asked about drafts too, not only about the target's choices
    )
    draft_model: InstalledModel | None = None  # a smaller model with the same tokenizer, asked where it pays

    def __post_init__(self) -> None:
        unknown = sorted((self.proposers or frozenset()).difference(PROPOSERS))
        if unknown:
            raise SettingsError(f"There is no proposer {unknown[0]!r}.", f"There are {', '.join(PROPOSERS)}.")
        if self.length < 1:
            raise SettingsError(f"A draft cannot have {self.length} ids.", "Choose a length of 1 or more.")

    def wants(self, proposer: str) -> bool:
        """Whether the proposer of that name is asked."""
        return self.proposers is None or proposer in self.proposers


def policy_of(drafting: Drafting, acceptance: Estimate, cost: Cost, min_rows: int) -> Policy:
    """What chooses among drafts under `drafting`."""
    match drafting.control:
        case Control.SELECTOR:
            return Selector(acceptance, cost, min_rows=min_rows)
        case Control.ADAPTIVE_K:
            return AdaptiveK(cost, min_rows=min_rows)
        case Control.DENSITY:
            return DensityK(cost, min_rows=min_rows)
        case Control.FIXED:
            return FixedK(cost, drafting.length, min_rows=min_rows)


def rule_name(draft: Draft) -> str:
    """What a draft's evidence stands for, for traces; its number where there is no rule behind it."""
    if draft.proposer == SyntaxFsm.name:
        return syntax_fsm.rule_name(draft.evidence)
    if draft.proposer == AstShadow.name:
        return Reason(draft.evidence // 4).name.lower()
    if draft.proposer == NgramRules.name:
        own, tier = divmod(draft.evidence // LENGTHS, TIERS)
        return Tier(tier).name.lower() + (" of the workspace" if own else "")
    if draft.proposer == Forced.name:
        return Part(draft.evidence).name.lower()
    if draft.proposer == GrammarState.name:
        return basis_name(draft.evidence)
    return str(draft.evidence)


class Drafters:
    """The proposers that draft from text: one engine's own, in the order of PROPOSERS."""

    def __init__(
        self, vocabulary: Vocabulary, rules: RuleLibrary, workspaces: Workspaces | None = None
    ) -> None:
        self._vocabulary = vocabulary
        self._given: ChainIndex | None = None
        self.corpus = CorpusProposer()
        self.motif = MotifProposer(vocabulary)
        self._reading = Reading(Reader(vocabulary.encode, detect, self.motif), workspaces or Workspaces())
        encoder = Encoder(vocabulary)
        self._grammar_state = GrammarState(vocabulary, encoder)
        self._ngram = NgramRules(rules.rules)
        self._all: tuple[Proposer, ...] = (
            Forced(vocabulary, encoder),
            self._grammar_state,
            SuffixProposer(),
            ResumeProposer(),
            self.corpus,
            self._ngram,
            self.motif,
            SyntaxFsm(vocabulary),
            AstShadow(vocabulary),
        )

    def chosen(self, drafting: Drafting) -> list[Proposer]:
        """Those that `drafting` wants; `forced` only where `grammar_state`, which drafts as much, is not."""
        idle = Forced.name if drafting.wants(GrammarState.name) else ""
        return [found for found in self._all if drafting.wants(found.name) and found.name != idle]

    def enter(self, workspace: str, document: str) -> None:
        """A request of that workspace and document is next.

        What was read of the document itself is left out: the request has its present state.
        """
        self._grammar_state.use_workspace(workspace)
        read = self._reading.enter(workspace)
        if read is None:
            self.corpus.use(self._given)
            self.motif.use(None)
            self._ngram.use_workspace(None)
        else:
            number = read.number(document)
            self.corpus.use(read.index, leave=number)
            self.motif.use(read.memory)
            self._ngram.use_workspace(OnlineRules(read.index, number))

    def warm(self, seconds: float) -> None:
        """Read what was learned of the workspace used last, for so long at the most."""
        self._reading.warm(seconds)

    def study(self) -> bool:
        """Read a little of what was taught; whether there is more."""
        return self._reading.study()

    def use_corpus(self, texts: Iterable[str]) -> None:
        """Draft from `texts` too, in place of those given before."""
        kept = list(texts)
        self._given = ChainIndex.of(self._vocabulary.encode(text) for text in kept)
        self.corpus.use(self._given)
        self.motif.forget()
        self.motif.learn((text, detect("", text)) for text in kept)
