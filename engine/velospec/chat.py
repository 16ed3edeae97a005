"""Conversations with a model: messages and tools become a request, its completion becomes text and calls.

Who generates is left open: an engine in this process, or the daemon. So a question has two sides: `request`
is for whoever generates, and `reader` makes the answer of what comes back.

    chat = Chat.for_model(model)
    question = chat.ask([Message("user", "Is it warm in Oslo?")], tools=tools)
    answer = question.reader().close(engine.generate(question.request, CancelToken()))

Imports neither an engine nor the native library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from velospec.constraints.closing import closed
from velospec.constraints.schema import check_schema
from velospec.constraints.schema_source import Schema, schema_text
from velospec.constraints.tools import tool_grammar
from velospec.constraints.validation import violations
from velospec.core.checks import require, require_all
from velospec.core.errors import SettingsError
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.messages import Message
from velospec.core.request import Completion, FinishReason, Limits, Sampling, TextRequest
from velospec.core.tools import Tool, ToolCall, ToolChoice, ToolStyle
from velospec.models.calls import CallStream, Delta
from velospec.models.chat import ChatFormat
from velospec.models.store import InstalledModel

OnDelta = Callable[[Delta], None]

_AUTO = ToolChoice()
_CUT = (FinishReason.LENGTH, FinishReason.DEADLINE)


class ChatFinish(StrEnum):
    """Why an answer ended, in OpenAI's words."""

    STOP = "stop"  # the model ended it, or a stop string was met
    TOOL_CALLS = "tool_calls"  # it ended with calls
    LENGTH = "length"  # it was cut short: by max_tokens, the context or the time budget


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a model answered.

    `tool_calls` may end with one that is not `complete` where the answer was cut short. `violations` say what
    of the rest does not obey its schema: nothing, as long as grammars keep what they promise.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    finish: ChatFinish
    completion: Completion
    violations: tuple[str, ...] = ()

    @property
    def parsed(self) -> Any:
        """The content read as JSON; None where it is none."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model. `style` is that of its calls, None where it may make none."""

    request: TextRequest
    tools: tuple[Tool, ...] = ()
    style: ToolStyle | None = None

    def reader(self, on_delta: OnDelta | None = None) -> AnswerReader:
        """Reads one answer; `on_delta` is told each piece of it as it comes."""
        return AnswerReader(self, on_delta)


class AnswerReader:
    """Reads one answer: `feed` it the text as it comes, if it does, and `close` it with the completion."""

    def __init__(self, question: Question | None, on_delta: OnDelta | None = None) -> None:
        """`question` None where no one was asked anything, but a text was continued."""
        self._question = question
        self._on_delta = on_delta or (lambda _delta: None)
        self._stream = CallStream(question.style if question is not None else None)
        self._fed = False

    def feed(self, text: str) -> None:
        """Read the next piece: an `on_text` for whoever generates."""
        self._fed = True
        for delta in self._stream.feed(text):
            self._on_delta(delta)

    def close(self, completion: Completion) -> ChatAnswer:
        """The answer, from what was fed or else from the completion's text."""
        if not self._fed:
            self.feed(completion.text)
        cut = completion.finish in _CUT
        for delta in self._stream.finish(cut=cut):
            self._on_delta(delta)
        calls = self._stream.calls
        finish = ChatFinish.LENGTH if cut else ChatFinish.TOOL_CALLS if calls else ChatFinish.STOP
        content = self._stream.content
        return ChatAnswer(content, calls, finish, completion, self._violations(content, calls, cut=cut))

    def _violations(self, content: str, calls: Sequence[ToolCall], *, cut: bool) -> tuple[str, ...]:
        if self._question is None:
            return ()
        schemas = {tool.name: tool.parameters for tool in self._question.tools}
        found = [f"{call.name}#: there is no such tool" for call in calls if call.name not in schemas]
        found += [
            f"{call.name}{each}"
            for call in calls
            if call.complete and call.name in schemas
            for each in violations(call.arguments, schemas[call.name])
        ]
        grammar = self._question.request.grammar
        if grammar is not None and grammar.kind is GrammarKind.JSON_SCHEMA and not cut:
            found += violations(content, grammar.source)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Chat:
    """The chats of one model."""

    format: ChatFormat

    @classmethod
    def for_model(cls, model: InstalledModel) -> Chat:
        """Raises ChatError where the model has no chat template, ModelLoadError where its file is damaged."""
        return cls(ChatFormat.for_file(model.path))

    def ask(  # noqa: PLR0913 - all but the messages by name
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        choice: ToolChoice = _AUTO,
        grammar: Grammar | None = None,
        schema: Schema | None = None,
        limits: Limits | None = None,
        sampling: Sampling | None = None,
        document: str = "chat",
        speculate: bool = True,
    ) -> Question:
        """The question that `messages` are.

        Args:
            messages: The conversation so far; the model answers its last turn.
            tools: What the model may call.
            choice: Whether it has to, and which; with NONE it is not told of the tools.
            grammar: What the answer has to obey, instead of tools.
            schema: As a grammar, a JSON Schema as a dict, as JSON text or as a path; see `schema_grammar`.
            limits: When to stop.
            sampling: How tokens are chosen; greedily if not given.
            document: Names the cache that the conversation is kept in.
            speculate: Whether to draft; the answer is the same.

        Raises:
            ChatError: the model's template does not take the messages.
            GrammarError: a schema cannot be enforced.
            SettingsError: both tools that may be called and a grammar are given, there is no message, or an
                argument is of the wrong type.
        """
        require_all("messages", messages, Message, 'Write [Message("user", …)], or use read_messages.')
        if not messages:
            raise SettingsError("There is no message to answer.", 'Write [Message("user", …)].')
        require_all("tools", tools, Tool, "Use read_tools, which makes tools of OpenAI's JSON.")
        require("choice", choice, ToolChoice, 'Use read_choice("required", tools), or write ToolChoice(…).')
        if schema is not None:
            grammar = schema_grammar(schema)
        style = self.format.tools.style
        able = choice.among(tuple(tools))
        if grammar is not None and able:
            raise SettingsError(
                "An answer cannot both obey a grammar and call tools.",
                "Leave one of the two out, or choose none of the tools.",
            )
        calls = tool_grammar(able, choice, style, thinks=self.format.tools.thinks)
        request = TextRequest(
            document,
            self.format.render(messages, able),
            limits or Limits(),
            speculate,
            special=True,
            sampling=sampling or Sampling(),
            grammar=grammar or calls,
        )
        return Question(request, able, style if calls is not None else None)


def schema_grammar(schema: Schema) -> Grammar:
    """The grammar of JSON that obeys `schema`: a dict, JSON text, or the path of a file with it.

    Objects have no properties but those that it names, unless it says so itself (see `closed`).
    Raises GrammarError, which names what cannot be enforced, and where; SettingsError where it is no schema.
    """
    source = closed(schema_text(schema))
    check_schema(source)
    return Grammar(GrammarKind.JSON_SCHEMA, source)
