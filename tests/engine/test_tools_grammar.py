"""The grammar of answers with calls: every kind of choice, several calls, control tokens, and many tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import pytest

from tests.support.grammar_vocabulary import GrammarVocabulary
from velospec.constraints.closing import closed
from velospec.constraints.compiler import GrammarCompiler
from velospec.constraints.tools import MOST_CHARACTERS, MOST_TOOLS, tool_grammar
from velospec.core.errors import GrammarError
from velospec.core.tools import GENERIC, Tool, ToolCall, ToolChoice, ToolMode, ToolStyle

VOCABULARY = GrammarVocabulary()
NAMED = Tool(
    "paint",
    "Paints.",
    '{"type": "object", "properties": {"name": {"enum": ["red", "green"]}}, "required": ["name"]}',
)
COUNTED = Tool(
    "count",
    "Counts.",
    '{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}',
)
BARE = Tool("wait")
TOOLS = (NAMED, COUNTED, BARE)
PAINT, COUNT, WAIT = (
    ToolCall("paint", '{"name": "red"}'),
    ToolCall("count", '{"age": 12}'),
    ToolCall("wait", "{}"),
)

STYLES = {
    "hermes": GENERIC,
    "llama": ToolStyle('{"name": "', '", "parameters": ', "}", several=False),
    "list": ToolStyle('{"name": "', '", "arguments": ', "}", opening="[CALLS][", separator=", ", closing="]"),
    "control": ToolStyle(
        '{"name": "', '", "arguments": ', "}", opening="[CALL][", separator=", ", closing="]"
    ),
    "control each": ToolStyle("<|tool|>", ": ", ""),
    "fenced": ToolStyle(
        "<call>", "\n```json\n", "\n```</call>", opening="<calls>", separator="\n", closing="</calls>"
    ),
}
AUTO, REQUIRED = ToolChoice(), ToolChoice(ToolMode.REQUIRED)


class Reach(Protocol):
    def __call__(
        self, text: str, style: ToolStyle, choice: ToolChoice, tools: Sequence[Tool] = TOOLS
    ) -> str: ...


@pytest.fixture(scope="module", params=["llguidance", "xgrammar"])
def compiler(request: pytest.FixtureRequest) -> GrammarCompiler:
    pytest.importorskip(request.param, reason="the engine is part of an extra")
    return GrammarCompiler(VOCABULARY, request.param)


@pytest.fixture(scope="module")
def reach(compiler: GrammarCompiler) -> Reach:
    """How far an answer gets: all of it and may end, all of it and may not, or the text that is refused."""

    def judge(text: str, style: ToolStyle, choice: ToolChoice, tools: Sequence[Tool] = TOOLS) -> str:
        grammar = tool_grammar(tools, choice, style)
        assert grammar is not None
        cursor = compiler.start(grammar)
        ids = VOCABULARY.encode(text, special=True)
        allowed = cursor.trim(ids)
        if allowed < len(ids):
            return "refused"
        cursor.advance(ids)
        return "ends" if cursor.accepting else "goes on"

    return judge


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_auto_leaves_text_free_up_to_a_call(reach: Reach, style: ToolStyle) -> None:
    call, head = style.write([PAINT]), style.opening + style.begin
    assert reach("", style, AUTO) == "ends"
    assert reach("The {red} <fox> [1] \n\n é😀", style, AUTO) == "ends"
    assert reach(call, style, AUTO) == "ends"
    assert reach("The fox.\n" + call, style, AUTO) == "ends"
    assert reach("The fox " + head, style, AUTO) == "goes on"
    assert reach("The fox " + head + "fox", style, AUTO) == "refused"
    assert reach(call[:-1] if style.end or style.closing else head, style, AUTO) != "ends"


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_required_is_a_call_at_once_and_nothing_else(reach: Reach, style: ToolStyle) -> None:
    call = style.write([PAINT])
    assert reach(call, style, REQUIRED) == "ends"
    assert reach("", style, REQUIRED) == "goes on"
    assert reach("The", style, REQUIRED) == "refused"
    assert reach(call + " the fox", style, REQUIRED) == "refused"


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_where_a_model_thinks_first_a_required_call_may_come_later(
    compiler: GrammarCompiler, style: ToolStyle
) -> None:
    grammar = tool_grammar(TOOLS, REQUIRED, style, thinks=True)
    assert grammar is not None
    cursor = compiler.start(grammar)
    for text, accepting in (("The fox.\n", False), (style.write([PAINT]), True)):
        ids = VOCABULARY.encode(text, special=True)
        assert cursor.trim(ids) == len(ids)
        cursor.advance(ids)
        assert cursor.accepting == accepting


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize("mode", [ToolMode.AUTO, ToolMode.REQUIRED])
def test_several_calls_where_they_are_allowed(reach: Reach, style: ToolStyle, mode: ToolMode) -> None:
    two = style.write([PAINT, COUNT])
    several = "ends" if style.several else "refused"
    assert reach(two, style, ToolChoice(mode)) == several
    assert reach(style.write([WAIT, PAINT, COUNT]), style, ToolChoice(mode)) == several
    assert reach(two, style, ToolChoice(mode, parallel=False)) == "refused"
    assert reach(style.write([COUNT]), style, ToolChoice(mode, parallel=False)) == "ends"


@pytest.mark.parametrize("style", [STYLES["hermes"], STYLES["list"], STYLES["control"]])
def test_text_and_calls_may_take_turns(reach: Reach, style: ToolStyle) -> None:
    text = f"The fox.\n{style.write([PAINT])}\n\nthe {style.write([COUNT])} fox"
    assert reach(text, style, AUTO) == "ends"
    assert reach(text + style.opening + style.begin + "x", style, AUTO) == "refused"
    assert reach(text, style, ToolChoice(parallel=False)) == "refused"


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_one_tool_by_name_is_called_once(reach: Reach, style: ToolStyle) -> None:
    named = ToolChoice(ToolMode.REQUIRED, ("count",))
    assert reach(style.write([COUNT]), style, named) == "ends"
    assert reach(style.write([PAINT]), style, named) == "refused"
    assert reach(style.write([COUNT, COUNT]), style, named) == "refused"


def test_a_choice_among_some_tools(reach: Reach) -> None:
    some = ToolChoice(ToolMode.REQUIRED, ("count", "wait"))
    assert reach(GENERIC.write([COUNT, WAIT]), GENERIC, some) == "ends"
    assert reach(GENERIC.write([PAINT]), GENERIC, some) == "refused"
    some = ToolChoice(ToolMode.AUTO, ("paint",))
    assert reach("the " + GENERIC.write([PAINT]), GENERIC, some) == "ends"
    assert reach("the " + GENERIC.write([WAIT]), GENERIC, some) == "refused"


def test_none_and_no_tools_have_no_grammar() -> None:
    assert tool_grammar(TOOLS, ToolChoice(ToolMode.NONE), GENERIC) is None
    assert tool_grammar((), AUTO, GENERIC) is None


@pytest.mark.parametrize(
    "arguments",
    ['{"name": "blue"}', '{"age": 12}', "{}", '{"name": "red", "age": 1}', '{"name":"red"}', '["red"]'],
)
def test_arguments_obey_the_schema_of_their_tool(reach: Reach, arguments: str) -> None:
    assert reach(GENERIC.write([ToolCall("paint", arguments)]), GENERIC, REQUIRED) == "refused"


def test_a_control_token_is_reached_by_its_id_and_never_by_its_text(compiler: GrammarCompiler) -> None:
    style = STYLES["control"]
    grammar = tool_grammar(TOOLS, AUTO, style)
    assert grammar is not None
    cursor = compiler.start(grammar)
    mark = VOCABULARY.mark("[CALL]")
    assert cursor.marks == {mark: b"[CALL]"}
    assert cursor.allows((), mark)
    assert not cursor.allows((), VOCABULARY.mark("<|pad|>"))
    spelled = VOCABULARY.encode("[CALL] is text")
    assert mark not in spelled
    assert cursor.trim(spelled) == len(spelled)
    cursor.advance([mark])
    assert cursor.forced() == b'[{"name": "'
    assert not cursor.allows((), mark)


def test_no_forced_bytes_stand_for_a_control_token(compiler: GrammarCompiler) -> None:
    grammar = tool_grammar(TOOLS, REQUIRED, STYLES["control"])
    assert grammar is not None
    cursor = compiler.start(grammar)
    assert cursor.forced() == b""
    assert cursor.allowed(()).tolist() == [VOCABULARY.mark("[CALL]")]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"a": {}}}, {"properties": {"a": {}}, "additionalProperties": False}),
        ({"properties": {}, "additionalProperties": True}, {"properties": {}, "additionalProperties": True}),
        ({"properties": {}, "$ref": "#/$defs/a"}, {"properties": {}, "$ref": "#/$defs/a"}),
        ({"type": "object"}, {"type": "object"}),
        (
            {"properties": {"properties": {"properties": {}}, "items": {"enum": [{"properties": {}}]}}},
            {
                "properties": {
                    "properties": {"properties": {}, "additionalProperties": False},
                    "items": {"enum": [{"properties": {}}]},
                },
                "additionalProperties": False,
            },
        ),
        (
            {"anyOf": [{"properties": {}}], "$defs": {"a": {"items": {"properties": {}}}}},
            {
                "anyOf": [{"properties": {}, "additionalProperties": False}],
                "$defs": {"a": {"items": {"properties": {}, "additionalProperties": False}}},
            },
        ),
    ],
)
def test_objects_are_closed_where_the_schema_leaves_it_open(
    schema: dict[str, object], expected: dict[str, object]
) -> None:
    assert json.loads(closed(json.dumps(schema))) == expected


def test_hundreds_of_tools_compile_and_each_can_be_called(reach: Reach, compiler: GrammarCompiler) -> None:
    many = MOST_TOOLS if compiler.engine.name == "llguidance" else 64  # xgrammar takes seconds for as many
    tools = [Tool(f"tool_{number}", "", NAMED.parameters) for number in range(many)]
    for name in ("tool_0", "tool_43", f"tool_{many - 1}"):
        call = GENERIC.write([ToolCall(name, '{"name": "green"}')])
        assert reach(call, GENERIC, REQUIRED, tools) == "ends"
    assert reach(GENERIC.write([ToolCall("tool_9999", '{"name": "red"}')]), GENERIC, AUTO, tools) == "refused"


def test_too_much_is_refused_before_it_is_compiled() -> None:
    tools = [Tool(f"tool_{number}") for number in range(MOST_TOOLS + 1)]
    with pytest.raises(GrammarError, match=f"{MOST_TOOLS + 1} tools are too many"):
        tool_grammar(tools, AUTO, GENERIC)
    schema = json.dumps({"type": "object", "description": "x" * MOST_CHARACTERS})
    with pytest.raises(GrammarError, match="The schemas of the tools have"):
        tool_grammar([Tool("f", "", schema)], AUTO, GENERIC)


def test_a_schema_that_cannot_be_enforced_is_named_with_its_tool() -> None:
    with pytest.raises(GrammarError, match='The tool "broken":'):
        tool_grammar([NAMED, Tool("broken", "", '{"type": "object", "properties": 3}')], AUTO, GENERIC)
