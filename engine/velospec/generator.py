"""The class `VeloSpec`: the interface of the first VeloSpec, on this engine.

    engine = VeloSpec(target_model="smollm2-135m-instruct", config="C4")
    result = engine.generate("A colour of the sky as JSON:", schema={"enum": ["blue", "grey", "red"]})
    print(result.text, result.acceptance_rate, result.k_trace)

Names and meanings are those of shilonggrad-design/spec-decoding, for programs that were written for it, and
to be compared with it. What differs: the models are GGUF files or installed models; a draft model is not
needed, since without one VeloSpec's own proposers draft; the target decides every token, the last one
included. For all that the engine can do, use `Engine`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from velospec.chat import schema_grammar
from velospec.configurations import Config, drafting_of
from velospec.constraints.schema_source import Schema
from velospec.constraints.tools import tool_grammar
from velospec.control.adaptive_k import length_for
from velospec.core.cancellation import CancelToken
from velospec.core.errors import SettingsError
from velospec.core.messages import Message
from velospec.core.openai_json import read_tools
from velospec.core.request import Completion, Limits, TextRequest
from velospec.core.step import Step
from velospec.core.tools import Tool, ToolChoice, ToolMode
from velospec.engine import Engine
from velospec.models.calls import read_answer
from velospec.models.chat import ChatFormat
from velospec.models.named import find_model

_DOCUMENT = "velospec"


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """What `VeloSpec.generate` returns.

    `token_ids` holds the ids of `text`; the end token is none of them. `drafted_count` counts all drafted ids
    that were scored.
    """

    text: str
    token_ids: list[int]
    accepted_count: int
    drafted_count: int
    acceptance_rate: float  # accepted share of the drafted ids, 0 to 1
    time_sec: float  # of the whole answer, reading the prompt included
    tokens_per_sec: float
    rounds: int  # passes of the target
    config: str
    # The allowed share of the vocabulary by round. C4 alone looks at it; the others see where text is forced
    # (the share of a single id) and say 1 elsewhere.
    density_trace: list[float] = field(default_factory=list)
    k_trace: list[tuple[float, int]] = field(default_factory=list)  # density and most ids of the draft
    parsed: Any = None  # the JSON value, or the calls; None where the answer was cut short


class VeloSpec:
    """One loaded model that answers prompts, under a schema or with tools. For one thread at a time."""

    def __init__(  # noqa: PLR0913 - those of the first VeloSpec
        self,
        target_model: str | Path,
        draft_model: str | Path | None = None,
        config: str = "C4",
        K: int = 5,  # noqa: N803 - the name that the first VeloSpec gave it
        device: str = "auto",
        *,
        dtype: object = None,
        backend: str = "auto",
    ) -> None:
        """Load the model, and the draft model if there is one.

        Args:
            target_model: The name of an installed model, or the path of a GGUF file.
            draft_model: A smaller one with the same tokenizer that drafts; None leaves it to the proposers
                that need no second model.
            config: C1 to C4 or auto; see `Config`.
            K: Most ids of a draft of C1, C2 and C3. C4 has its table and auto its measurements.
            device: auto or cpu.
            dtype: None: a GGUF file brings its own.
            backend: auto or llama_cpp.

        Raises:
            ModelNotFoundError: there is no such model or file; a Hugging Face repository's name is neither.
            ModelLoadError: a file cannot be used.
            SettingsError: an argument has no such value, or the two models have different tokenizers.
        """
        _require("device", device, ("auto", "cpu"))
        _require("backend", backend, ("auto", "llama_cpp"))
        if dtype is not None:
            raise SettingsError("A GGUF file has the number type it was made with.", "Leave dtype out.")
        second = None if draft_model is None else find_model(draft_model)
        self.config = str(config)
        self._width = K
        self._chat: ChatFormat | None = None
        drafting = drafting_of(config, K, second)
        self.engine = Engine.open(find_model(target_model), slots=1, drafting=drafting, remember=False)

    def generate(
        self,
        prompt: str,
        schema: Schema | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int = 256,
    ) -> GenerationResult:
        """Continue `prompt`, greedily.

        Args:
            prompt: Text as the model is to read it; with `tools`, a question, which the model's chat template
                is put around.
            schema: JSON Schema that the answer has to obey: a dict, JSON text, or the path of a file with it.
                Objects have no properties but those that it names, unless it says so itself.
            tools: Functions in OpenAI's form: the answer is calls of them, one or more, and nothing else.
            max_tokens: Most tokens of the answer.

        Raises:
            SettingsError: both a schema and tools are given, or they have another form.
            GrammarError: a schema has something that cannot be enforced.
            ChatError: there are tools and the model is not made for chat.
            ContextError: the prompt does not fit.
        """
        if schema is not None and tools is not None:
            raise SettingsError("An answer has a schema or calls tools, not both.", "Leave one of them out.")
        limits = Limits(max_tokens=max_tokens)
        if tools is not None:
            request = self._asking(prompt, read_tools(tools), limits)
        else:
            grammar = None if schema is None else schema_grammar(schema)
            request = TextRequest(_DOCUMENT, prompt, limits, grammar=grammar)
        if self.config == Config.C1:
            request = replace(request, grammar=None)
        steps: list[Step] = []
        started = time.perf_counter()
        done = self.engine.generate(request, CancelToken(), on_step=steps.append)
        result = self._result(done, steps, time.perf_counter() - started)
        if request.grammar is None:
            return replace(result, density_trace=[], k_trace=[])
        return replace(result, parsed=_json(done.text) if tools is None else self._calls(done.text))

    def close(self) -> None:
        """Free the models. Idempotent."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asking(self, question: str, tools: Sequence[Tool], limits: Limits) -> TextRequest:
        """The request for calls of `tools`."""
        if self._chat is None:
            self._chat = ChatFormat.for_file(self.engine.model.path)
        grammar = tool_grammar(tools, ToolChoice(ToolMode.REQUIRED), self._chat.tools.style)
        prompt = self._chat.render([Message("user", question)], tools)
        return TextRequest(_DOCUMENT, prompt, limits, special=True, grammar=grammar)

    def _calls(self, text: str) -> list[dict[str, Any]] | None:
        """The calls in an answer as plain values; None where one was cut short."""
        assert self._chat is not None  # noqa: S101 - read for the question
        _, calls = read_answer(text, self._chat.tools.style)
        if not calls or not all(call.complete for call in calls):
            return None
        return [{"name": call.name, "arguments": _json(call.arguments)} for call in calls]

    def _result(self, done: Completion, steps: Sequence[Step], seconds: float) -> GenerationResult:
        counts = done.statistics
        return GenerationResult(
            text=done.text,
            token_ids=list(done.token_ids),
            accepted_count=counts.accepted_tokens,
            drafted_count=counts.drafted_tokens,
            acceptance_rate=counts.acceptance_rate,
            time_sec=seconds,
            tokens_per_sec=len(done.token_ids) / seconds,
            rounds=counts.steps,
            config=self.config,
            density_trace=[step.density for step in steps],
            k_trace=[(step.density, self._longest(step)) for step in steps],
        )

    def _longest(self, step: Step) -> int:
        """The most ids that a step's draft could have; under auto, which has no such number, those it had."""
        if self.config == Config.AUTO:
            return len(step.verdict.draft)
        return length_for(step.density) if self.config == Config.C4 else self._width


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _require(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SettingsError(f"{name} cannot be {value!r}.", f"Use one of: {', '.join(known)}.")
