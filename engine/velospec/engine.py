"""The composition root: an installed model becomes a running engine.

Opens the backend under the model's measured profile, gives requests their prompt ids, and puts the decoder
together. Knows every part by name, so that no part needs to know another. One thread at a time may use an
engine; a request's cancel token may be cancelled from any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from velospec.backends.cpu import usable_cores
from velospec.backends.llama_cpp import KvType, LlamaBackend, LlamaOptions, build_id
from velospec.backends.replay import Recording, ReplayBackend
from velospec.constraints.healing import ByteTable
from velospec.control.acceptance import Acceptance
from velospec.control.adaptive_k import FixedK
from velospec.control.cost_model import CostModel
from velospec.control.costly import Worth
from velospec.control.frozen_cost import FrozenCost
from velospec.control.priors import shipped
from velospec.control.token_class import token_classes
from velospec.control.workspaces import Acceptances
from velospec.core.cancellation import CancelToken
from velospec.core.draft import Draft
from velospec.core.request import Completion, InfillRequest, Mode, TextRequest
from velospec.core.statistics import Statistics
from velospec.core.step import OnStep
from velospec.decode.consulted import Consulted
from velospec.decode.decoder import Decoder, Task
from velospec.decode.output import OnText
from velospec.drafting import Drafters, Drafting, policy_of, rule_name
from velospec.learning.library import RuleLibrary
from velospec.learning.workspace.library import Workspaces
from velospec.measuring import Measurement
from velospec.models.store import InstalledModel
from velospec.profile import Conditions, Profile, load_profile
from velospec.proposers.limited import Limited
from velospec.second_model import SecondModel
from velospec.tasks import TaskMaker, window
from velospec.verify.exact import Numerics

Fraction = Callable[[float], None]

_WARM_SECONDS = 1.0  # that reading a known workspace may add to loading a model: 25,000 lines on two cores


class Engine:
    """One loaded model that completes at cursors and continues text."""

    def __init__(  # noqa: PLR0913  (what is not taken over, by name)
        self,
        model: InstalledModel,
        backend: LlamaBackend,
        conditions: Conditions,
        profile: Profile | None,
        *,
        mode: Mode = Mode.EXACT,
        remember: bool = True,
        workspaces: Workspaces | None = None,
    ) -> None:
        """Take over `backend`, opened for `model` with the numerics of `profile`; see `open`."""
        self.mode = mode
        self._remember = remember
        self.workspaces = workspaces or Workspaces()
        self.model = model
        self.statistics = Statistics()
        self._backend = backend
        self._conditions = conditions
        self._profile = profile
        self._cost = self._profile.cost if self._profile else CostModel.default()
        self._tasks = TaskMaker(backend.vocabulary, model.infill)
        self._healing = ByteTable(backend.vocabulary)
        self._classes = token_classes(backend.vocabulary)
        self._rules = RuleLibrary(backend.vocabulary, model.folder, model.sha256)
        self._second: SecondModel | None = None
        self.use_drafting(Drafting())

    @classmethod
    def open(  # noqa: PLR0913  (all but the model by name)
        cls,
        model: InstalledModel,
        *,
        slots: int = 4,
        context: int = 2048,
        threads: int | None = None,
        mode: Mode = Mode.EXACT,
        drafting: Drafting | None = None,
        remember: bool = True,
        workspaces: Workspaces | None = None,
        progress: Fraction | None = None,
    ) -> Engine:
        """Load `model`.

        Args:
            model: An installed model whose file is unchanged (`ModelStore.check`).
            slots: Documents whose KV cache is kept at the same time.
            context: Positions per slot, cut to what the model was trained for.
            threads: Threads of a decode; None chooses one per physical core.
            mode: EXACT, where drafts never change the output, or FAST, where they may decide near ties.
            drafting: How to draft; None for the best there is.
            remember: Whether to go on from what was learned of acceptance before, kept beside the model, and
                to add to it at the end. No text and no ids are part of it.
            workspaces: What was learned of the user's workspaces, shared with other engines; see `study`.
            progress: Told the loaded fraction, 0 to 1; what it raises abandons the load.

        Raises:
            ModelLoadError: llama.cpp cannot use the file.
            SettingsError: the draft model has another tokenizer.
        """
        threads = threads or usable_cores()
        conditions = Conditions(build_id(), threads, model.sha256)
        profile = load_profile(model.folder, conditions, mode)
        numerics = profile.numerics if profile else Numerics()
        options = LlamaOptions(
            context=context,
            slots=slots,
            threads=threads,
            min_rows=numerics.min_rows,
            kv_type=KvType(numerics.kv_type),
            flash_attention=numerics.flash_attention,
            repack=numerics.repack,
        )
        backend = LlamaBackend(model.path, options, progress)
        engine = cls(model, backend, conditions, profile, mode=mode, remember=remember, workspaces=workspaces)
        if drafting is not None:
            try:
                engine.use_drafting(drafting)
            except BaseException:
                backend.close()
                raise
        if remember:
            engine._learned.load(model.folder)
        engine._rules.prepare()  # now rather than in the first request: a new model takes seconds
        engine._drafters.warm(_WARM_SECONDS)
        return engine

    @property
    def numerics(self) -> Numerics:
        """The numeric setting in use; it claims exactness only where that was probed."""
        return self._profile.numerics if self._profile else Numerics()

    @property
    def profile(self) -> Profile | None:
        """What was measured of the model here; None until `measure` has run."""
        return self._profile

    @property
    def memory_bytes(self) -> int:
        second = self._second.memory_bytes if self._second is not None else 0
        return self._backend.memory_bytes + second

    @property
    def notice(self) -> str:
        """What the user should know about this model; empty if nothing."""
        if not self._backend.can_rollback:
            return (
                f"{self.model.name} keeps one running state that cannot be taken back, "
                "so it decodes without speculation."
            )
        if self._profile is not None and not self._profile.numerics.exact:
            return f"Near ties may be decided differently with drafts than without: {self.numerics.reason}."
        if self.mode is Mode.FAST and self.numerics.all_agree:
            return "Fast mode is exact mode for this model: all row counts agree, so exactness costs nothing."
        return ""

    def describe(self) -> dict[str, Any]:
        """For a status display: JSON-ready, keys stable."""
        profile = self._profile
        return {
            "measured": profile is not None and profile.cost.measured,
            "mode": str(self.mode),
            "exact": profile.numerics.exact if profile else None,
            "speculates": self._backend.can_rollback,
            "context": self._backend.context,
            "slots": self._backend.slots,
            "threads": self._backend.threads,
            "draft_model": self._second.name if self._second is not None else None,
            "tokens_per_second": profile.tokens_per_second if profile else None,
            "prefill_tokens_per_second": profile.prefill_tokens_per_second if profile else None,
            "notice": self.notice,
        }

    def infill(
        self,
        request: InfillRequest,
        cancel: CancelToken,
        on_text: OnText | None = None,
        on_step: OnStep | None = None,
    ) -> Completion:
        """Complete at the cursor of `request`; see `decode.decoder.Decoder.complete` for the two listeners.

        Raises:
            InfillError: The model has no infill format.
            CancelledError: `cancel` was cancelled.
            BackendError: The backend failed.
        """
        return self._complete(self._task(request, cancel), cancel, on_text, on_step)

    def generate(
        self,
        request: TextRequest,
        cancel: CancelToken,
        on_text: OnText | None = None,
        on_step: OnStep | None = None,
    ) -> Completion:
        """Continue the prompt of `request`; see `decode.decoder.Decoder.complete` for the two listeners.

        Raises:
            ContextError: The prompt does not fit the context.
            CancelledError: `cancel` was cancelled.
            BackendError: The backend failed.
        """
        return self._complete(self._task(request, cancel), cancel, on_text, on_step)

    def replay(self, request: InfillRequest | TextRequest, answer: Recording) -> Completion:
        """Decode `request` as if the model wrote `answer`, to learn what the drafting in use makes of it.

        Takes the engine's own time only. The statistics' expected seconds are what the cost model, which
        learns nothing here, expects of the batches; acceptance is counted as in use. A draft model is not
        asked.
        """
        task = self._task(request)
        self._enter(task)
        backend = ReplayBackend(
            self._backend.vocabulary,
            task.ids,
            answer,
            min_rows=self._backend.min_rows,
            max_rows=self._backend.max_rows,
        )
        policy = policy_of(self._drafting, self._learned, FrozenCost(self._cost), backend.min_rows)
        proposers = self._drafters.chosen(self._drafting)
        return Decoder(backend, proposers, policy, healing=self._healing).complete(task, CancelToken())

    def prompt_ids(self, request: InfillRequest | TextRequest) -> tuple[int, ...]:
        """The ids that the model is given for `request`. Raises InfillError, ContextError."""
        return tuple(self._task(request).ids)

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of `text` by itself."""
        return tuple(self._backend.vocabulary.encode(text))

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for control tokens."""
        return self._backend.vocabulary.piece(token)

    def rule_name(self, draft: Draft) -> str:
        """What a draft's evidence stands for, for traces; its number where there is no rule behind it."""
        return rule_name(draft)

    def measure(self, progress: Fraction | None = None, cancel: CancelToken | None = None) -> dict[str, Any]:
        """Probe the numerics and measure the speed, keep both as the model's profile, and use them.

        Empties all slots. `progress` is told fractions from 0 to 1; what it raises, or `cancel`, abandons the
        measurement at once and leaves the engine as it was. Returns the profile as JSON-ready data.
        Raises BackendError, CancelledError.
        """
        measurement = Measurement(self._backend, self._conditions, self.mode, self.model.folder)
        report = progress or (lambda _fraction: None)
        try:
            self._profile = measurement.run(self._profile, report, cancel or CancelToken())
            self._cost = self._profile.cost
        finally:
            self._configure(self.numerics)
        self._profile.save(self.model.folder)
        return self._profile.to_dict()

    def use_corpus(self, texts: Iterable[str]) -> None:
        """Draft from `texts` too, such as the other files of a project, in place of those given before."""
        self._drafters.use_corpus(texts)

    def study(self) -> bool:
        """Read a little of what `workspaces` were taught, to draft from it; whether there is more.

        For the pauses between requests.
        """
        return self._drafters.study()

    def use_drafting(self, drafting: Drafting) -> None:
        """Draft by `drafting` from now on; acceptance starts anew, and the corpus is given up.

        Raises ModelLoadError or SettingsError where its draft model cannot be used; nothing has changed then.
        """
        model = drafting.draft_model if drafting.wants("draft_model") else None
        second = SecondModel(model, self._backend) if model is not None else None
        if self._second is not None:
            self._second.close()
        self._second, self._drafting = second, drafting
        self._drafters = Drafters(self._backend.vocabulary, self._rules, self.workspaces)

        def acceptance(*, structured: bool) -> Acceptance:
            first = shipped(structured=structured)
            return Acceptance(first, classes=self._classes, gate=drafting.entropy_gate)

        self._learned = Acceptances(
            partial(acceptance, structured=False), partial(acceptance, structured=True)
        )
        self._decoder = self._compose()

    def forget(self, document: str) -> None:
        """Let others have the slot of a closed document."""
        self._decoder.slots.forget(document)

    def close(self) -> None:
        """Keep what was learned of the speed, and free the model; it then raises BackendError. Idempotent."""
        if self._profile is not None and self.statistics.steps:
            self._profile.save(self.model.folder)
            self._profile = None
            if self._remember:
                self._learned.save(self.model.folder)
        if self._second is not None:
            self._second.close()
        self._backend.close()

    def _complete(
        self, task: Task, cancel: CancelToken, on_text: OnText | None, on_step: OnStep | None
    ) -> Completion:
        self._enter(task)
        with cancel.interrupting(self._backend.abort):
            completion = self._decoder.complete(task, cancel, on_text, on_step)
        self.statistics += completion.statistics
        return completion

    def _enter(self, task: Task) -> None:
        taken = self.workspaces.of(task.workspace).taken()
        self._learned.enter(task.workspace, structured=task.grammar is not None, taken=taken)
        self._drafters.enter(task.workspace, task.document)

    def _compose(self) -> Decoder:
        """A decoder over the backend's slots as they are now; what was learned goes on being used."""
        policy = policy_of(self._drafting, self._learned, self._cost, self._backend.min_rows)
        proposers = self._drafters.chosen(self._drafting)
        if self._second is not None and isinstance(policy, FixedK):
            proposers.append(Limited(self._second.proposer, policy.length))
        elif self._second is not None:
            worth = Worth(self._learned, self._cost, min_rows=self._backend.min_rows)
            proposers.append(Consulted(self._second.proposer, worth))
        rollback = self._backend.can_rollback
        return Decoder(
            self._backend,
            proposers,
            policy,
            rollback=rollback,
            healing=self._healing,
            trims=self._drafting.grammar_trims,
        )

    def _configure(self, numerics: Numerics) -> None:
        """Reopen the slots, empty, under `numerics`."""
        self._backend.configure(
            kv_type=numerics.kv_type,
            flash_attention=numerics.flash_attention,
            min_rows=numerics.min_rows,
            repack=numerics.repack,
        )
        self._decoder = self._compose()

    def _task(self, request: InfillRequest | TextRequest, cancel: CancelToken | None = None) -> Task:
        rate = None if self._profile is None else self._profile.prefill_tokens_per_second
        return self._tasks.make(request, window(self._backend.context, rate), cancel)
