"""What a caller asks in text becomes what the decoder works on in ids: prompts, infill formats, languages."""

from __future__ import annotations

from velospec.backends.llama_cpp import LlamaVocabulary
from velospec.constraints.base import GrammarCursor
from velospec.constraints.compiler import GrammarCompiler
from velospec.core.cancellation import CancelToken
from velospec.core.grammar import Grammar
from velospec.core.request import BREAK, InfillRequest, TextRequest
from velospec.decode.decoder import Task
from velospec.models.infill import InfillFormat
from velospec.proposers.syntax_rules.domains import detect

_ANSWER_ROOM = 512  # positions kept free for the answer, where the context is large enough
_COLD_SECONDS = (
    1.2  # to read a prompt that nothing of is in the cache: then 0.3 s of an editor's 1.5 are left
)
_UNMEASURED_WINDOW = 1024  # ids of an infill prompt while the reading speed is not known
_LEAST_WINDOW = 680  # however slow the machine: docs/context.md shows what less would cost


def window(context: int, prefill_rate: float | None) -> int:
    """The most ids of an infill prompt, for a context of so many positions and a rate in ids a second.

    It does not depend on the request: that would move the prompt's edges.
    """
    room = context - min(_ANSWER_ROOM, context // 4)
    if prefill_rate is None:
        return min(room, _UNMEASURED_WINDOW)
    return min(room, max(int(prefill_rate * _COLD_SECONDS), _LEAST_WINDOW))


class TaskMaker:
    """Makes tasks for one model."""

    def __init__(self, vocabulary: LlamaVocabulary, override: str | None) -> None:
        """`override` names the infill format where the model's own metadata is not to be asked."""
        self._vocabulary = vocabulary
        self._override = override
        self._infill: InfillFormat | None = None
        self._grammars = GrammarCompiler(vocabulary)

    def make(
        self, request: InfillRequest | TextRequest, window: int, cancel: CancelToken | None = None
    ) -> Task:
        """The task of `request`; an infill prompt has at most `window` ids.

        Raises InfillError, ContextError, GrammarError; CancelledError where `cancel` was cancelled while the
        request's grammar was compiled.
        """
        if isinstance(request, InfillRequest):
            return self._at_cursor(request, window, cancel)
        return self._text(request, cancel)

    def _at_cursor(self, request: InfillRequest, window: int, cancel: CancelToken | None) -> Task:
        prompt = self._format().build(
            request.prefix, request.suffix, request.path, window, context=request.context
        )
        return Task(
            request.document,
            prompt.ids,
            request.limits,
            heal=prompt.heal,
            cursor_line=_last_line(request.prefix),
            speculate=request.speculate,
            language=detect(request.path, request.prefix + request.suffix),
            sampling=request.sampling,
            workspace=request.workspace,
            grammar=self._cursor(request.grammar, cancel, prompt.heal),
            log_probs=request.log_probs,
            background=request.background,
        )

    def _text(self, request: TextRequest, cancel: CancelToken | None) -> Task:
        begin = self._vocabulary.bos_id
        parts = request.prompt.split(BREAK) if request.special else [request.prompt]
        ids = [token for part in parts for token in self._vocabulary.encode(part, special=request.special)]
        if begin is not None and ids[:1] != [begin]:
            ids.insert(0, begin)
        return Task(
            request.document,
            ids,
            request.limits,
            cursor_line=_last_line(request.prompt),
            speculate=request.speculate,
            language=detect("", request.prompt),
            sampling=request.sampling,
            workspace=request.workspace,
            grammar=self._cursor(request.grammar, cancel),
            log_probs=request.log_probs,
        )

    def _cursor(
        self, grammar: Grammar | None, cancel: CancelToken | None, heal: bytes = b""
    ) -> GrammarCursor | None:
        return None if grammar is None else self._grammars.start(grammar, heal, cancel)

    def _format(self) -> InfillFormat:
        if self._infill is None:
            self._infill = InfillFormat.for_model(self._vocabulary.metadata, self._vocabulary, self._override)
        return self._infill


def _last_line(text: str) -> str:
    return text[text.rfind("\n") + 1 :]
