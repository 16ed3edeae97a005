"""Conversations with tools: what is asked, and what is made of the answer; who generates is scripted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from velospec.chat import Chat, ChatFinish
from velospec.core.errors import GrammarError, SettingsError
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.messages import Message
from velospec.core.request import Completion, FinishReason, Limits, Sampling
from velospec.core.statistics import Statistics
from velospec.core.tools import Tool, ToolCall, ToolChoice, ToolMode
from velospec.models.calls import Delta
from velospec.models.chat import ChatFormat

SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
TOOLS = (Tool("get_weather", "The weather now.", SCHEMA), Tool("get_time", "The time now."))
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
CHAT = Chat(ChatFormat.of("tiny", TEMPLATE, {}))
QUESTION = [Message("user", "Is it warm in Oslo?")]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def completion(text: str, finish: FinishReason = FinishReason.END) -> Completion:
    return Completion(text, (), finish, Statistics())


def test_auto_tells_of_the_tools_and_leaves_the_answer_open() -> None:
    question = CHAT.ask(QUESTION, tools=TOOLS)
    assert question.request.prompt.startswith("<system>You can call these tools:\n{")
    assert question.request.prompt.endswith("</tool_call>\n<user>Is it warm in Oslo?\n<assistant>")
    assert question.request.special
    grammar = question.request.grammar
    assert grammar is not None
    assert grammar.tags is not None
    assert (grammar.tags.free_text, grammar.tags.at_least_one, grammar.tags.parallel) == (True, False, True)
    text = question.reader().close(completion("Let me see."))
    assert (text.content, text.tool_calls, text.finish) == ("Let me see.", (), ChatFinish.STOP)
    both = question.reader().close(completion(f"Let me see.\n{CALL}"))
    assert both.content == "Let me see."
    assert both.tool_calls == (ToolCall("get_weather", '{"city": "Oslo"}', both.tool_calls[0].id),)
    assert both.finish is ChatFinish.TOOL_CALLS


def test_required_begins_with_a_call() -> None:
    question = CHAT.ask(QUESTION, tools=TOOLS, choice=ToolChoice(ToolMode.REQUIRED, parallel=False))
    assert question.request.grammar is not None
    tags = question.request.grammar.tags
    assert tags is not None
    assert (tags.free_text, tags.at_least_one, tags.parallel, len(tags.tags)) == (False, True, False, 2)


def test_a_model_that_thinks_first_may_do_so_before_a_required_call() -> None:
    thinker = Chat(ChatFormat.of("tiny", TEMPLATE.replace("<assistant>", "<assistant><think>\n"), {}))
    question = thinker.ask(QUESTION, tools=TOOLS, choice=ToolChoice(ToolMode.REQUIRED))
    assert question.request.prompt.endswith("<assistant><think>\n")
    assert question.request.grammar is not None
    tags = question.request.grammar.tags
    assert tags is not None
    assert (tags.free_text, tags.at_least_one) == (True, True)
    answer = question.reader().close(completion(f"Oslo is cold.</think>\n{CALL}"))
    assert (answer.content, len(answer.tool_calls)) == ("Oslo is cold.</think>", 1)


def test_one_tool_by_name_is_the_only_one() -> None:
    question = CHAT.ask(QUESTION, tools=TOOLS, choice=ToolChoice(ToolMode.REQUIRED, ("get_time",)))
    assert question.request.grammar is not None
    tags = question.request.grammar.tags
    assert tags is not None
    assert [tag.begin for tag in tags.tags] == ['<tool_call>\n{"name": "get_time", "arguments": ']
    assert not tags.parallel
    assert "get_weather" not in question.request.prompt


def test_none_asks_without_tools_and_finds_no_calls() -> None:
    question = CHAT.ask(QUESTION, tools=TOOLS, choice=ToolChoice(ToolMode.NONE))
    assert question.request.grammar is None
    assert question.request.prompt == "<user>Is it warm in Oslo?\n<assistant>"
    answer = question.reader().close(completion(CALL))
    assert (answer.content, answer.tool_calls, answer.finish) == (CALL, (), ChatFinish.STOP)


def test_deltas_come_with_the_text_and_agree_with_the_answer() -> None:
    deltas: list[Delta] = []
    reader = CHAT.ask(QUESTION, tools=TOOLS).reader(deltas.append)
    text = f"Let me see.\n{CALL}\n{CALL}"
    for start in range(0, len(text), 7):
        reader.feed(text[start : start + 7])
    before = len(deltas)
    answer = reader.close(completion(text))
    assert before >= len(deltas) - 1
    assert "".join(delta.content for delta in deltas) == answer.content == "Let me see."
    starts = [(delta.index, delta.id, delta.name) for delta in deltas if delta.name]
    assert starts == [(place, call.id, call.name) for place, call in enumerate(answer.tool_calls)]
    for place, call in enumerate(answer.tool_calls):
        assert "".join(delta.arguments for delta in deltas if delta.index == place) == call.arguments
    assert len(answer.tool_calls) == 2


@pytest.mark.parametrize("length", range(len(CALL)))
def test_a_call_that_is_cut_is_reported_as_it_is(length: int) -> None:
    answer = CHAT.ask(QUESTION, tools=TOOLS).reader().close(completion(CALL[:length], FinishReason.LENGTH))
    assert (answer.finish, answer.content, answer.violations) == (ChatFinish.LENGTH, "", ())
    arguments = '{"city": "Oslo"}'
    begin = CALL.index(arguments)
    if length < begin:
        assert answer.tool_calls == ()
    else:
        (call,) = answer.tool_calls
        assert call.arguments == arguments[: length - begin]
        assert call.complete == (length >= begin + len(arguments))


def test_arguments_that_do_not_obey_their_schema_are_told() -> None:
    answer = CHAT.ask(QUESTION, tools=TOOLS).reader().close(completion(CALL.replace('"Oslo"', "3")))
    assert len(answer.violations) == 1
    assert answer.violations[0].startswith("get_weather#/city: ")


def test_a_schema_instead_of_tools() -> None:
    schema = {"type": "object", "properties": {"warm": {"type": "boolean"}}, "required": ["warm"]}
    question = CHAT.ask(QUESTION, schema=schema)
    assert question.request.grammar is not None
    assert question.request.grammar.kind is GrammarKind.JSON_SCHEMA
    assert question.request.prompt == "<user>Is it warm in Oslo?\n<assistant>"
    answer = question.reader().close(completion('{"warm": true}'))
    assert (answer.parsed, answer.violations, answer.tool_calls) == ({"warm": True}, (), ())
    wrong = question.reader().close(completion('{"warm": 3}'))
    assert wrong.violations[0].startswith("#/warm: ")
    cut = question.reader().close(completion('{"warm": tr', FinishReason.LENGTH))
    assert (cut.parsed, cut.violations, cut.finish) == (None, (), ChatFinish.LENGTH)


def test_any_grammar_and_all_settings_go_along() -> None:
    grammar = Grammar(GrammarKind.REGEX, "yes|no")
    limits, sampling = Limits(max_tokens=3), Sampling(temperature=1, seed=3)
    request = CHAT.ask(
        QUESTION, grammar=grammar, limits=limits, sampling=sampling, document="talk", speculate=False
    ).request
    assert (request.grammar, request.limits, request.sampling) == (grammar, limits, sampling)
    assert (request.document, request.speculate) == ("talk", False)
    assert CHAT.ask(QUESTION, grammar=grammar, tools=TOOLS, choice=ToolChoice(ToolMode.NONE)).tools == ()


def test_tools_and_a_grammar_exclude_each_other() -> None:
    with pytest.raises(SettingsError, match="cannot both obey a grammar and call tools"):
        CHAT.ask(QUESTION, grammar=Grammar(GrammarKind.JSON), tools=TOOLS)


def test_a_schema_that_is_no_json_is_told_where_it_breaks() -> None:
    broken = replace(TOOLS[0], parameters='{"type": ')
    with pytest.raises(GrammarError, match='The tool "get_weather"'):
        CHAT.ask(QUESTION, tools=[broken])
