"""Calls of tools by the real chat model: every kind of choice, several calls, pieces, drafts, the daemon."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from velospec.chat import Chat, ChatAnswer, ChatFinish, Question
from velospec.core.cancellation import CancelToken
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.messages import Message
from velospec.core.openai_json import read_choice, read_messages, read_tools
from velospec.core.request import FinishReason, Limits, Sampling
from velospec.daemon.client import run_sync
from velospec.engine import Engine
from velospec.models.calls import Delta
from velospec.models.store import InstalledModel

pytestmark = pytest.mark.model

UNITS = ["celsius", "fahrenheit"]
TOOLS = read_tools(
    [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "The weather in a city now.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": UNITS}},
                    "required": ["city", "unit"],
                },
            },
        },
        {
            "type": "function",
            "function": {
                "name": "add_numbers",
                "description": "Adds two whole numbers.",
                "parameters": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "required": ["a", "b"],
                },
            },
        },
    ]
)
ADD = [Message("user", "Add 17 and 25.")]


def weather_call(city: str, number: int) -> dict[str, object]:
    arguments = json.dumps({"city": city, "unit": "celsius"})
    return {"id": f"call0000{number}", "function": {"name": "get_weather", "arguments": arguments}}


# What was called before shows a small model how it is done.
TWO_CITIES = read_messages(
    [
        {"role": "user", "content": "What is the weather in Paris and in Rome, in celsius?"},
        {"role": "assistant", "tool_calls": [weather_call("Paris", 1), weather_call("Rome", 2)]},
        {"role": "tool", "tool_call_id": "call00001", "content": "18 degrees"},
        {"role": "tool", "tool_call_id": "call00002", "content": "22 degrees"},
        {"role": "assistant", "content": "18 degrees in Paris, 22 in Rome."},
        {"role": "user", "content": "What is the weather in Oslo and in Bern, in celsius?"},
    ]
)


@pytest.fixture(scope="module")
def chat(chat_model: InstalledModel) -> Chat:
    return Chat.for_model(chat_model)


@pytest.fixture(scope="module")
def engine(chat_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(chat_model, remember=False)
    if engine.profile is None:
        engine.measure()  # so that drafts are exact
    yield engine
    engine.close()


def asked(
    chat: Chat,
    messages: list[Message],
    choice: object = "auto",
    *,
    parallel: bool = True,
    max_tokens: int = 100,
    speculate: bool = True,
) -> Question:
    return chat.ask(
        messages,
        tools=TOOLS,
        choice=read_choice(choice, TOOLS, parallel=parallel),
        limits=Limits(max_tokens=max_tokens),
        speculate=speculate,
    )


def answered(engine: Engine, question: Question, deltas: list[Delta] | None = None) -> ChatAnswer:
    reader = question.reader(None if deltas is None else deltas.append)
    completion = engine.generate(question.request, CancelToken(), reader.feed)
    answer = reader.close(completion)
    assert answer.violations == ()
    return answer


def names(answer: ChatAnswer) -> list[str]:
    return [call.name for call in answer.tool_calls]


def test_required_makes_a_valid_call(engine: Engine, chat: Chat) -> None:
    answer = answered(engine, asked(chat, ADD, "required"))
    assert (answer.content, answer.finish) == ("", ChatFinish.TOOL_CALLS)
    assert answer.completion.finish is FinishReason.END
    (call,) = answer.tool_calls
    assert call.name == "add_numbers"
    assert json.loads(call.arguments) == {"a": 17, "b": 25}


def test_one_tool_by_name_is_called_whatever_the_question(engine: Engine, chat: Chat) -> None:
    answer = answered(engine, asked(chat, ADD, {"type": "function", "function": {"name": "get_weather"}}))
    assert names(answer) == ["get_weather"]
    assert json.loads(answer.tool_calls[0].arguments)["unit"] in UNITS


def test_some_allowed_tools(engine: Engine, chat: Chat) -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "name": "get_weather"}]}
    answer = answered(engine, asked(chat, ADD, {"type": "allowed_tools", "allowed_tools": allowed}))
    assert names(answer) == ["get_weather"]


def test_auto_may_talk(engine: Engine, chat: Chat) -> None:
    answer = answered(engine, asked(chat, [Message("user", "What is the capital of France?")]))
    assert "Paris" in answer.content
    assert (answer.tool_calls, answer.finish) == ((), ChatFinish.STOP)


def test_auto_may_call_several_tools(engine: Engine, chat: Chat) -> None:
    answer = answered(engine, asked(chat, TWO_CITIES))
    assert (answer.content, answer.finish) == ("", ChatFinish.TOOL_CALLS)
    assert names(answer) == ["get_weather", "get_weather"]
    assert {json.loads(call.arguments)["unit"] for call in answer.tool_calls} <= set(UNITS)


def test_without_parallel_calls_it_ends_behind_the_first(engine: Engine, chat: Chat) -> None:
    both = answered(engine, asked(chat, TWO_CITIES, "required"))
    one = answered(engine, asked(chat, TWO_CITIES, "required", parallel=False))
    assert len(both.tool_calls) == 2
    assert [call.arguments for call in one.tool_calls] == [both.tool_calls[0].arguments]


def test_none_answers_in_text(engine: Engine, chat: Chat) -> None:
    answer = answered(engine, asked(chat, ADD, "none", max_tokens=40))
    assert answer.content
    assert answer.tool_calls == ()


def test_deltas_amount_to_the_answer(engine: Engine, chat: Chat) -> None:
    deltas: list[Delta] = []
    answer = answered(engine, asked(chat, TWO_CITIES), deltas)
    for place, call in enumerate(answer.tool_calls):
        parts = [delta for delta in deltas if delta.index == place]
        assert (parts[0].id, parts[0].name) == (call.id, call.name)
        assert "".join(delta.arguments for delta in parts) == call.arguments
        assert len(parts) > 2
    assert len({call.id for call in answer.tool_calls}) == 2


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_drafts_change_nothing(engine: Engine, chat: Chat, choice: str) -> None:
    drafted = answered(engine, asked(chat, TWO_CITIES, choice))
    plain = answered(engine, asked(chat, TWO_CITIES, choice, speculate=False))
    assert drafted.completion.token_ids == plain.completion.token_ids
    assert drafted.completion.statistics.accepted_tokens > plain.completion.statistics.accepted_tokens == 0


@pytest.mark.parametrize("most", [3, 12, 17, 25])
def test_what_was_there_is_kept_where_max_tokens_cuts_a_call(engine: Engine, chat: Chat, most: int) -> None:
    whole = answered(engine, asked(chat, ADD, "required"))
    cut = answered(engine, asked(chat, ADD, "required", max_tokens=most))
    assert (cut.finish, cut.content) == (ChatFinish.LENGTH, "")
    assert len(cut.completion.token_ids) == most
    assert whole.completion.text.startswith(cut.completion.text)
    for call in cut.tool_calls:
        assert whole.tool_calls[0].arguments.startswith(call.arguments)
        assert not call.complete


def test_sampled_calls_are_valid_too(engine: Engine, chat: Chat) -> None:
    for seed in range(2):
        question = chat.ask(
            ADD,
            tools=TOOLS,
            choice=read_choice("required", TOOLS, parallel=False),
            limits=Limits(max_tokens=150),
            sampling=Sampling(temperature=1.5, seed=seed),
        )
        answer = answered(engine, question)
        assert answer.finish is ChatFinish.LENGTH or len(answer.tool_calls) == 1


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        (Grammar(GrammarKind.REGEX, "[a-z]{3,9}, [0-9]{2}"), r"[a-z]{3,9}, [0-9]{2}"),
        (
            Grammar(GrammarKind.EBNF, 'root ::= "the " ("sum" | "product") " is " [0-9]+ "."'),
            r"the \w+ is \d+\.",
        ),
    ],
    ids=["regular expression", "ebnf"],
)
def test_answers_obey_other_grammars(engine: Engine, chat: Chat, grammar: Grammar, pattern: str) -> None:
    answer = answered(engine, chat.ask(ADD, grammar=grammar, limits=Limits(max_tokens=40)))
    assert re.fullmatch(pattern, answer.content)
    assert answer.completion.finish is FinishReason.END


def test_a_schema_gives_parsed_values(engine: Engine, chat: Chat) -> None:
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "integer"}, "sure": {"type": "boolean"}},
        "required": ["sum", "sure"],
    }
    answer = answered(engine, chat.ask(ADD, schema=schema, limits=Limits(max_tokens=60)))
    assert answer.parsed.keys() == {"sum", "sure"}


def test_the_daemon_answers_the_same(engine: Engine, chat: Chat, chat_model: InstalledModel) -> None:
    question = asked(chat, TWO_CITIES)
    here = answered(engine, question)
    reader = question.reader()
    completion = run_sync(
        lambda client: client.generate(question.request, model=chat_model.name, on_text=reader.feed),
        name="test",
    )
    there = reader.close(completion)
    assert completion.text == here.completion.text
    assert [(call.name, call.arguments) for call in there.tool_calls] == [
        (call.name, call.arguments) for call in here.tool_calls
    ]
