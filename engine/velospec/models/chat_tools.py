"""How a model writes calls of tools, read off its chat template.

Templates say so in code only, and each in its own. So a conversation with a call of unmistakable words is
put through the template, and what stands around the words is the model's style: Hermes, Qwen, Llama 3,
Mistral, DeepSeek, Granite, Functionary and others, without a list of them. What a template does not do, of
listing tools, writing calls and showing their results, is done for it (`models.tool_prompt`). Knows nothing
of grammars, nor of how answers are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from velospec.core.errors import ChatError
from velospec.core.messages import Message
from velospec.core.tools import GENERIC, ToolCall, ToolStyle
from velospec.models.tool_form import Plain, ToolForm, plain_message


class Render(Protocol):
    """Runs a template over messages and tools, both plain maps; `generate` has it begin an answer."""

    def __call__(self, messages: list[Plain], tools: list[Plain], *, generate: bool) -> str:
        """Raises ChatError where the template refuses them."""
        ...


_NAMES = ("probe_function", "probe_action")
_VALUES = ("probe_first", "probe_second")
_IDS = ("probeId01", "probeId02")
_ANSWER, _RESULT = "probe_answer", "probe_result"
_QUESTION: Plain = {"role": "user", "content": "probe_question"}
_TOOLS: list[Plain] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Looks up.",
            "parameters": {"type": "object", "properties": {"probe_key": {"type": "string"}}},
        },
    }
    for name in _NAMES
]
_ARGUMENTS = re.compile(r'\{\s*"probe_key"\s*:\s*"(?:probe_first|probe_second)"\s*\}')
_ID_FIELD = re.compile(r',\s*"\w+"\s*:\s*"probeId0[12]"|"\w+"\s*:\s*"probeId0[12]"\s*,\s*')
_DIGIT = re.compile(r"\d")
_SOME_ID = "000000000"
_LIST = ToolStyle(
    '{"name": "', '", "arguments": ', "}", opening="<|tool_call|>[", separator=", ", closing="]"
)
_TOLD = (  # styles that templates only tell the model of, in words
    (re.compile(r"<\|tool_call\|>"), _LIST),
    (re.compile(r'<tool_call>.*?\\?"arguments\\?":', re.DOTALL), GENERIC),
)


def find_form(render: Render, source: str) -> ToolForm:
    """The form of the template behind `render`, whose text is `source`."""
    shown = _tried(render, [_QUESTION], generate=True)
    lists = shown is not None and _NAMES[0] in shown
    form = _written_form(render)
    if form is None:
        told = next((style for words, style in _TOLD if words.search(source)), None)
        form = ToolForm(told or GENERIC)
        lists = lists and told is not None  # else it would ask for calls that no one reads
    thinks = shown is not None and shown.rstrip().endswith("<think>")
    return replace(form, lists=lists, results=_shows_results(render, form), thinks=thinks)


def _written_form(render: Render) -> ToolForm | None:
    """The form of a template that writes calls, their arguments as JSON; None for others."""
    found = []
    for text_arguments in (False, True):
        for no_content in (None, ""):
            form = ToolForm(writes=True, text_arguments=text_arguments, no_content=no_content)
            shown = _tried(render, _conversation(form, 1))
            if shown is None:
                continue
            style = _style(render, form)
            if style is not None and style.begin:
                found.append(replace(form, style=style))
            elif not found and not text_arguments and _writes_otherwise(shown):
                return None
    return next((form for form in found if _shows_results(render, form)), found[0] if found else None)


def _writes_otherwise(shown: str) -> bool:
    """Whether arguments given as a map were written, but neither as JSON nor as Python would show them."""
    return (
        _VALUES[0] in shown and not _ARGUMENTS.search(shown) and str({"probe_key": _VALUES[0]}) not in shown
    )


def _style(render: Render, form: ToolForm) -> ToolStyle | None:
    """The style, from what stands around one call and around two."""
    one = _parts(_answer(render, _conversation(form, 1)), 1)
    if one is None:
        return None
    before, middle, after = one
    two = _parts(_answer(render, _conversation(form, 2)), 2)
    style = _regular(one, two) if two is not None else None
    return _without_lead(style or ToolStyle(before, middle, after, several=False))


def _regular(one: Sequence[str], two: Sequence[str]) -> ToolStyle | None:
    """The style of several calls; None where they are not written one like the other."""
    before, middle, after = one
    again, middle_one, between, middle_two, after_two = two
    if (again, middle_one, middle_two, after_two) != (before, middle, middle, after):
        return None
    if len(_common_end(_DIGIT.sub("0", before), _DIGIT.sub("0", between))) > len(
        begin := _common_end(before, between)
    ):
        return None  # calls are numbered
    if _in_mark(before[: len(before) - len(begin)]):
        begin = begin[begin.find("<") :]
    gap = between[: len(between) - len(begin)]
    end = after[: _common_length(after, gap)]
    if _in_mark(end):
        end = end[: end.rfind("<")]
    return ToolStyle(
        begin,
        middle,
        end,
        opening=before[: len(before) - len(begin)],
        separator=gap[len(end) :],
        closing=after[len(end) :],
    )


def _without_lead(style: ToolStyle) -> ToolStyle:
    """The style without the line breaks that would begin an answer: a model may leave them out."""
    if style.opening:
        return replace(style, opening=style.opening.lstrip("\n"))
    begin = style.begin.lstrip("\n")
    lead = style.begin[: len(style.begin) - len(begin)]
    return replace(style, begin=begin, separator=style.separator + lead)


def _answer(render: Render, conversation: list[Plain]) -> str | None:
    """What the answer that ends `conversation` consists of, without the marks of its turn."""
    shown = _tried(render, conversation)
    text = _tried(render, [_QUESTION, {"role": "assistant", "content": _ANSWER}])
    start = _tried(render, [_QUESTION], generate=True)
    if shown is None or text is None or start is None or text.count(_ANSWER) != 1:
        return None
    head, tail = text.split(_ANSWER)
    if not shown.startswith(head):
        head = shown[: _common_length(shown, start)]  # an answer in text begins with a thought, or a mark
        if _in_mark(head):
            head = head[: head.rfind("<")]
    if _QUESTION["content"] not in head:
        return None
    body = shown[len(head) :]
    mark = tail.strip()
    if not body.endswith(tail) and mark and body.rstrip().endswith(mark):
        tail = body[len(body.rstrip()) - len(mark) :]  # other white space around the same mark
    elif not body.endswith(tail):
        tail = _common_end(body, tail)
        if _in_mark(body[: len(body) - len(tail)]):
            tail = _whole_marks(body, tail)
    body = body[: len(body) - len(tail)]
    return None if tail.strip() and tail.strip() in body else body


def _parts(body: str | None, calls: int) -> list[str] | None:
    """The texts around the names and the arguments of `calls` calls, in their order."""
    if body is None:
        return None
    body = _ID_FIELD.sub("", body)  # the model writes none: ids are given to calls by whoever reads them
    for identity in _IDS:
        body = body.replace(identity, _SOME_ID)
    parts = []
    for index in range(calls):
        head, found, body = body.partition(_NAMES[index])
        match = _ARGUMENTS.search(body)
        if not found or match is None or _VALUES[index] not in match[0]:
            return None
        parts += [head, body[: match.start()]]
        body = body[match.end() :]
    parts.append(body)
    return None if any("probe_" in part or "None" in part for part in parts) else parts


def _common_end(one: str, other: str) -> str:
    return one[len(one) - _common_length(one[::-1], other[::-1]) :]


def _common_length(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _whole_marks(body: str, tail: str) -> str:
    """The end of `body` that consists of marks, for an end `tail` that begins inside one."""
    if "<" in tail:
        return tail[tail.find("<") :]
    if any(map(str.isalpha, tail)):  # another mark of the same kind, such as <|eom_id|> for <|eot_id|>
        return body[body.rfind("<") :]
    return ""


def _in_mark(text: str) -> bool:
    """Whether `text` ends inside a control token such as `<|eot_id|>`."""
    return text.rfind("<") > text.rfind(">")


def _conversation(form: ToolForm, calls: int) -> list[Plain]:
    """A question, and an answer that makes one call or two."""
    made = tuple(
        ToolCall(_NAMES[index], json.dumps({"probe_key": _VALUES[index]}), _IDS[index])
        for index in range(calls)
    )
    return [_QUESTION, plain_message(Message("assistant", "", made), form)]


def _shows_results(render: Render, form: ToolForm) -> bool:
    """Whether a turn of the role `tool` shows."""
    asked = _conversation(form, 1) if form.writes else [_QUESTION, {"role": "assistant", "content": _ANSWER}]
    result = Message("tool", _RESULT, call_id=_IDS[0], name=_NAMES[0])
    shown = _tried(render, [*asked, plain_message(result, form)], generate=True)
    return shown is not None and _RESULT in shown


def _tried(render: Render, messages: list[Plain], *, generate: bool = False) -> str | None:
    """What the template makes of `messages` with the tools; None where it refuses them."""
    try:
        return render(messages, _TOOLS, generate=generate)
    except ChatError:
        return None
