"""Answers with calls decoded on the scripted backend: under the grammar, with drafts and cut anywhere."""

from __future__ import annotations

import pytest

from tests.support.proposers import Oracle, eager_selector
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, script_rule
from velospec.constraints.compiler import GrammarCompiler
from velospec.constraints.tools import tool_grammar
from velospec.core.cancellation import CancelToken
from velospec.core.request import Completion, FinishReason, Limits, Sampling
from velospec.core.tools import GENERIC, Tool, ToolCall, ToolChoice, ToolMode, ToolStyle
from velospec.decode.decoder import Decoder, Task
from velospec.models.calls import CallStream, read_answer

VOCABULARY = ScriptedVocabulary(
    [b"<tool", b"_call>", b'{"name": "', b'"arg', b"uments", b'": ', b"\xf0\x9f", b"\x8c\x9e"]
)
COMPILER = GrammarCompiler(VOCABULARY)
PROMPT = VOCABULARY.encode("Is it warm?")
SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
TOOLS = (Tool("weather", "", SCHEMA), Tool("time"))
CONTROL = ToolStyle('{"name": "', '", "arguments": ', "}", opening="<control>[", separator=", ", closing="]")
CALLS = [ToolCall("weather", '{"city": "Oslo 🌞"}'), ToolCall("time", "{}")]
BOTH = pytest.mark.parametrize("style", [GENERIC, CONTROL], ids=["text", "control token"])


def answer(
    wanted: str,
    style: ToolStyle,
    choice: ToolChoice | None = None,
    *,
    drafts: bool = True,
    limits: Limits | None = None,
    sampling: Sampling | None = None,
) -> tuple[Completion, list[str]]:
    """What becomes of a model that wants to write `wanted`, and the pieces that the text came in."""
    script = VOCABULARY.encode(wanted, special=True)
    backend = ScriptedBackend(script_rule(VOCABULARY, script, after=len(PROMPT)), VOCABULARY)
    proposers = [Oracle([*PROMPT, *script], VOCABULARY.size)] if drafts else []
    grammar = tool_grammar(TOOLS, choice or ToolChoice(), style)
    task = Task(
        "doc",
        PROMPT,
        limits or Limits(max_tokens=200),
        sampling=sampling or Sampling(),
        grammar=COMPILER.start(grammar) if grammar is not None else None,
    )
    pieces: list[str] = []
    done = Decoder(backend, proposers, eager_selector()).complete(task, CancelToken(), pieces.append)
    return done, pieces


def plain(calls: tuple[ToolCall, ...]) -> list[tuple[str, str, bool]]:
    return [(call.name, call.arguments, call.complete) for call in calls]


@BOTH
@pytest.mark.parametrize("drafts", [False, True])
def test_text_and_calls_are_written_as_the_model_wants(style: ToolStyle, drafts: bool) -> None:
    wanted = "It is.\n" + style.write(CALLS)
    done, pieces = answer(wanted, style, drafts=drafts)
    assert (done.text, "".join(pieces), done.finish) == (wanted, wanted, FinishReason.END)
    assert read_answer(done.text, style)[0] == "It is."
    assert plain(read_answer(done.text, style)[1]) == [(c.name, c.arguments, True) for c in CALLS]
    if drafts:
        assert done.statistics.accepted_tokens > len(done.token_ids) // 2


@BOTH
def test_a_model_that_would_rather_talk_calls_where_it_has_to(style: ToolStyle) -> None:
    done, _ = answer("I do not know.", style, ToolChoice(ToolMode.REQUIRED, ("time",)))
    assert (done.text, done.finish) == (style.write(CALLS[1:]), FinishReason.END)


@BOTH
def test_calls_that_are_not_allowed_cannot_be_written(style: ToolStyle) -> None:
    done, _ = answer(style.write(CALLS), style, ToolChoice(parallel=False))
    assert plain(read_answer(done.text, style)[1]) == [("weather", CALLS[0].arguments, True)]
    done, _ = answer(
        style.write(CALLS[1:]), style, ToolChoice(ToolMode.AUTO, ("weather",)), limits=Limits(60)
    )
    _, calls = read_answer(done.text, style)
    assert {call.name for call in calls} <= {"weather"}


def test_without_tools_a_control_token_is_never_chosen_nor_shown() -> None:
    done, _ = answer("Ja<control>!", CONTROL, ToolChoice(ToolMode.NONE), limits=Limits(4))
    assert VOCABULARY.control not in done.token_ids
    assert "<control>" not in done.text


def test_sampling_reaches_the_control_token_too() -> None:
    wanted = CONTROL.write(CALLS)
    done, _ = answer(wanted, CONTROL, sampling=Sampling(temperature=0.05, seed=1))
    assert done.text == wanted
    assert VOCABULARY.control in done.token_ids


@BOTH
def test_max_tokens_ends_an_answer_anywhere_and_what_was_there_is_read(style: ToolStyle) -> None:
    wanted = "Hm " + style.write(CALLS)
    whole = VOCABULARY.encode(wanted, special=True)
    seen = set()
    for most in range(1, len(whole) + 1):
        done, pieces = answer(wanted, style, limits=Limits(max_tokens=most))
        assert done.finish is FinishReason.LENGTH
        assert list(done.token_ids) == whole[: len(done.token_ids)]
        assert wanted.startswith(done.text)
        stream = CallStream(style)
        for piece in pieces:
            stream.feed(piece)
        stream.finish(cut=True)
        assert stream.content in ("H", "Hm", "Hm ")
        for call, whole_call in zip(stream.calls, CALLS, strict=False):
            assert call.name == whole_call.name
            assert whole_call.arguments.startswith(call.arguments)
            assert call.complete == (call.arguments == whole_call.arguments)
        seen.add((len(stream.calls), all(call.complete for call in stream.calls)))
    assert seen == {(0, True), (1, False), (1, True), (2, False), (2, True)}


def test_a_stop_string_inside_the_arguments_ends_there() -> None:
    done, _ = answer(GENERIC.write(CALLS), GENERIC, limits=Limits(200, stop=("Oslo",)))
    assert done.finish is FinishReason.STOP
    assert plain(read_answer(done.text, GENERIC)[1]) == [("weather", '{"city": "', False)]
