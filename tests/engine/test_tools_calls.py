"""Answers read as they come: text, calls and arguments, whatever the pieces they come in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.core.tools import GENERIC, ToolCall, ToolStyle
from velospec.models.calls import CallStream, Delta, read_answer

STYLES = {
    "hermes": GENERIC,
    "llama": ToolStyle('{"name": "', '", "parameters": ', "}", several=False),
    "mistral": ToolStyle(
        '{"name": "', '", "arguments": ', "}", opening="[TOOL_CALLS][", separator=", ", closing="]"
    ),
    "ministral": ToolStyle("[TOOL_CALLS]", "[ARGS]", ""),
    "functionary": ToolStyle("<function=", ">", "</function>"),
    "fenced": ToolStyle(
        "<call>function<sep>",
        "\n```json\n",
        "\n```</call>",
        opening="<calls>",
        separator="\n",
        closing="</calls>",
    ),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=8), JSON, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)
CALL = st.builds(ToolCall, st.sampled_from(["f", "get.it"]), ARGUMENTS)
# Text that looks like triggers and JSON, and holds none.
TEXT = st.lists(
    st.sampled_from(
        ["Hm", " ", "\n", "<", "<tool", "tool_call>", "[TOOL", "{", '"name', "é", "🙂", "<fun", "ction="]
    )
).map("".join)
CUTS = st.lists(st.integers(min_value=1, max_value=9), min_size=1)


def pieces(text: str, cuts: list[int]) -> list[str]:
    """`text` in pieces of these lengths, over and over."""
    parts, start = [], 0
    while start < len(text):
        length = cuts[len(parts) % len(cuts)]
        parts.append(text[start : start + length])
        start += length
    return parts


def told(deltas: list[Delta]) -> tuple[str, list[tuple[str, str, str]]]:
    """What the deltas amount to for one who follows OpenAI's streams."""
    content, calls = "", []
    for delta in deltas:
        content += delta.content
        if delta.index is None:
            assert delta.content, "a delta of nothing"
            continue
        if delta.index == len(calls):
            assert delta.name
            assert delta.id
            calls.append((delta.id, delta.name, ""))
        else:
            assert delta.index == len(calls) - 1
            assert not delta.name
        identity, name, arguments = calls[delta.index]
        calls[delta.index] = (identity, name, arguments + delta.arguments)
    return content, calls


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@settings(max_examples=60, deadline=None)
@given(before=TEXT, calls=st.lists(CALL, min_size=1, max_size=3), after=TEXT, cuts=CUTS)
def test_pieces_amount_to_the_whole(
    style: ToolStyle, before: str, calls: list[ToolCall], after: str, cuts: list[int]
) -> None:
    calls = calls if style.several else calls[:1]
    before, after = (text.replace(style.trigger, "") for text in (before, after))
    text = before + style.write(calls) + after
    if text.index(style.trigger) < len(before):
        return  # text and call make a trigger together
    stream = CallStream(style)
    deltas = [delta for piece in pieces(text, cuts) for delta in stream.feed(piece)]
    deltas += stream.finish()
    content, made = told(deltas)
    assert content == before.rstrip() + after.lstrip()
    assert [(name, arguments) for _, name, arguments in made] == [(c.name, c.arguments) for c in calls]
    assert [(call.id, call.name, call.arguments) for call in stream.calls] == made
    assert all(call.complete for call in stream.calls)
    assert (stream.content, len({call.id for call in stream.calls})) == (content, len(calls))


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@settings(max_examples=60, deadline=None)
@given(before=TEXT, calls=st.lists(CALL, min_size=1, max_size=2), cuts=CUTS, share=st.floats(0, 1))
def test_an_answer_that_is_cut_keeps_what_was_there(
    style: ToolStyle, before: str, calls: list[ToolCall], cuts: list[int], share: float
) -> None:
    calls = calls if style.several else calls[:1]
    before = before.replace(style.trigger, "")
    whole = before + style.write(calls)
    if whole.index(style.trigger) < len(before):
        return
    text = whole[: int(share * len(whole))]
    stream = CallStream(style)
    deltas = [delta for piece in pieces(text, cuts) for delta in stream.feed(piece)]
    deltas += stream.finish(cut=True)
    content, made = told(deltas)
    assert before.startswith(content)
    assert content.rstrip() == before[: len(text)].rstrip() or len(content) < len(before)
    for place, call in enumerate(stream.calls):
        last = place == len(stream.calls) - 1
        assert call.name == calls[place].name
        assert calls[place].arguments.startswith(call.arguments)
        assert call.complete == (call.arguments == calls[place].arguments)
        assert call.complete or last
    assert len(made) == len(stream.calls)


@settings(max_examples=100, deadline=None)
@given(text=TEXT, cuts=CUTS)
def test_text_without_calls_is_text(text: str, cuts: list[int]) -> None:
    text = text.replace(GENERIC.trigger, "")
    stream = CallStream(GENERIC)
    deltas = [delta for piece in pieces(text, cuts) for delta in stream.feed(piece)]
    content, made = told(deltas + stream.finish())
    assert (content, made) == (text, [])


def test_half_a_trigger_is_held_back_until_it_is_known() -> None:
    stream = CallStream(GENERIC)
    assert stream.feed("Wait. <tool") == [Delta(content="Wait.")]
    assert stream.feed("_ca") == []
    assert stream.feed("r>") == [Delta(content=" <tool_car>")]
    assert stream.feed(' <tool_call>\n{"name') == []
    (start,) = stream.feed('": "f", "arguments": ')
    assert (start.index, start.name, start.content) == (0, "f", "")
    assert stream.feed('{"a": "}') == [Delta(index=0, arguments='{"a": "}')]
    assert stream.feed('\\""}}\n</tool') == [Delta(index=0, arguments='\\""}')]
    assert stream.feed("_call>\nBye") == [Delta(content="Bye")]


def test_a_trigger_that_begins_no_call_is_text() -> None:
    text = "Write <tool_call> to call, as in <tool_call>\n{}"
    assert read_answer(text, GENERIC) == (text, ())


def test_without_a_style_all_is_text() -> None:
    text = GENERIC.write([ToolCall("f", "{}")])
    stream = CallStream(None)
    assert stream.feed(text) == [Delta(content=text)]
    assert (stream.finish(), stream.content, stream.calls) == ([], text, ())


def test_half_a_trigger_is_text_where_the_model_ends_and_no_text_where_it_is_cut() -> None:
    for cut, content in ((False, "a <tool_c"), (True, "a")):
        stream = CallStream(GENERIC)
        stream.feed("a <tool_c")
        stream.finish(cut=cut)
        assert stream.content == content
