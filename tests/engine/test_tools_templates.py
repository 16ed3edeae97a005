"""How models write calls, found in the templates of the field, and conversations put through them."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.chat_templates import MARKS, chat_format, templates
from velospec.core.messages import Message
from velospec.core.tools import GENERIC, Tool, ToolCall, ToolStyle
from velospec.models.calls import read_answer
from velospec.models.chat import ChatFormat

MISTRAL = ToolStyle(
    '{"name": "', '", "arguments": ', "}", opening="[TOOL_CALLS][", separator=", ", closing="]"
)
MINISTRAL = ToolStyle("[TOOL_CALLS]", "[ARGS]", "")
LLAMA = ToolStyle('{"name": "', '", "parameters": ', "}", several=False)
DEEPSEEK_R1 = ToolStyle(
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",  # noqa: RUF001 - its own letters
    "\n```json\n",
    "\n```<｜tool▁call▁end｜>",  # noqa: RUF001 - as above
    opening="<｜tool▁calls▁begin｜>",  # noqa: RUF001 - as above
    separator="\n",
    closing="<｜tool▁calls▁end｜>",  # noqa: RUF001 - as above
)
DEEPSEEK_V3 = ToolStyle(
    "<｜tool▁call▁begin｜>",  # noqa: RUF001 - as above
    "<｜tool▁sep｜>",  # noqa: RUF001 - as above
    "<｜tool▁call▁end｜>",  # noqa: RUF001 - as above
    opening="<｜tool▁calls▁begin｜>",  # noqa: RUF001 - as above
    closing="<｜tool▁calls▁end｜>",  # noqa: RUF001 - as above
)
GRANITE_3 = ToolStyle(
    '{"name": "', '", "arguments": ', "}", opening="<|tool_call|>[", separator=", ", closing="]"
)
COMMAND_R = ToolStyle(
    '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "',
    '", "parameters": ',
    "}\n]<|END_ACTION|>",
    several=False,
)
FUNCTIONARY = ToolStyle("<function=", ">", "</function>")
APERTUS = ToolStyle(
    '{"', '": ', "}", opening="<|tools_prefix|>[", separator=", ", closing="]<|tools_suffix|>"
)
NEMOTRON = ToolStyle(
    '{"name": "', '", "arguments": ', "}", opening="<TOOLCALL>[", separator=", ", closing="]</TOOLCALL>"
)

FOUND = {  # whether the template lists tools, writes calls and shows results; the style; the trigger
    "Qwen-Qwen2.5-7B-Instruct": ("LWR", GENERIC, "<tool_call>"),
    "Qwen-Qwen3-0.6B": ("LWR", GENERIC, "<tool_call>"),
    "Qwen-QwQ-32B": ("LWR", GENERIC, "<tool_call>"),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("LWR", GENERIC, "<tool_call>"),
    "ibm-granite-granite-4.0": ("LWR", GENERIC, "<tool_call>"),
    "ibm-granite-granite-3.3-2B-Instruct": ("L-R", GRANITE_3, "<|tool_call|>"),
    "meta-llama-Llama-3.1-8B-Instruct": ("LWR", LLAMA, '{"name": "'),
    "meta-llama-Llama-3.2-3B-Instruct": ("LWR", LLAMA, '{"name": "'),
    "mistralai-Mistral-Nemo-Instruct-2407": ("LWR", MISTRAL, "[TOOL_CALLS]"),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("LWR", MINISTRAL, "[TOOL_CALLS]"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ("-WR", DEEPSEEK_R1, DEEPSEEK_R1.opening),
    "deepseek-ai-DeepSeek-V3.1": ("-WR", DEEPSEEK_V3, DEEPSEEK_V3.opening),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("LWR", COMMAND_R, "<|START_ACTION|>"),
    "meetkai-functionary-medium-v3.1": ("LWR", FUNCTIONARY, "<function="),
    "Apertus-8B-Instruct": ("LWR", APERTUS, "<|tools_prefix|>"),
    "NVIDIA-Nemotron-Nano-v2": ("LWR", NEMOTRON, "<TOOLCALL>"),
    # Their calls are not JSON in fixed text, or they know no tools: the style that we tell them of.
    "HuggingFaceTB-SmolLM3-3B": ("--R", GENERIC, "<tool_call>"),
    "Qwen3-Coder": ("--R", GENERIC, "<tool_call>"),
    "GLM-4.6": ("--R", GENERIC, "<tool_call>"),
    "google-gemma-2-2b-it": ("---", GENERIC, "<tool_call>"),
    "microsoft-Phi-3.5-mini-instruct": ("---", GENERIC, "<tool_call>"),
}
WEATHER = Tool(
    "get_weather",
    "The weather now.",
    '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
)
CLOCK = Tool("get_time", "The time now.")
CALLS = (
    ToolCall("get_weather", '{"city": "Zürich"}', "aaaaaaaa1"),
    ToolCall("get_time", "{}", "aaaaaaaa2"),
)


@pytest.mark.parametrize("name", FOUND)
def test_the_style_is_found_in_the_template(name: str) -> None:
    form = chat_format(name).tools
    shown = "".join(
        letter if has else "-" for letter, has in (("L", form.lists), ("W", form.writes), ("R", form.results))
    )
    assert (shown, form.style, form.style.trigger) == FOUND[name]


@pytest.mark.parametrize("name", FOUND)
def test_tools_calls_and_results_are_in_the_prompt(name: str) -> None:
    chat = chat_format(name)
    calls = CALLS if chat.tools.style.several else CALLS[:1]
    results = [Message("tool", f"result_{call.name}", call_id=call.id, name=call.name) for call in calls]
    messages = [Message("user", "How warm is it?"), Message("assistant", "", calls), *results]
    prompt = chat.render(messages, [WEATHER, CLOCK])
    assert "How warm is it?" in prompt
    for tool in (WEATHER, CLOCK):
        assert tool.name in prompt
        assert tool.description in prompt
    places = [prompt.index(message.content) for message in results]
    assert places == sorted(places)
    written = prompt[prompt.index("How warm") : places[0]]
    written = re.sub(
        r', "id": "aaaaaaaa."', "", written
    )  # Mistral's histories have what its answers have not
    _, again = read_answer(written, chat.tools.style)
    assert [(call.name, json.loads(call.arguments)) for call in again] == [
        (call.name, json.loads(call.arguments)) for call in calls
    ]


def test_every_template_of_the_field_gives_a_style_that_can_be_used() -> None:
    """None fails, and each style that is found can be told from text."""
    assert len(templates()) > 60
    own = 0
    for name in templates():
        form = chat_format(name).tools
        assert form.style.trigger.strip(), name
        assert form.style.begin, name
        text = "Let me see.\n" + form.style.write(CALLS[:1])
        content, calls = read_answer(text, form.style)
        assert (content, [call.arguments for call in calls]) == ("Let me see.", [CALLS[0].arguments]), name
        own += form.writes
    assert own >= 32


TEXT_WANTED = """
{%- for tool in tools or [] %}{{ tool.function.name }}{% endfor %}
{%- for message in messages %}<{{ message.role }}>{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
{{- '@' + call.function.name + ' ' + call.function.arguments + ';' }}
{%- endfor %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
CONTENT_WANTED = """
{%- for tool in tools or [] %}{{ tool.function.name }}{% endfor %}
{%- for message in messages %}<{{ message.role }}>{{ message.content + '' }}
{%- for call in message.tool_calls or [] %}
{{- '!' + call.function.name }} {{ call.function.arguments | tojson }};
{%- endfor %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
TOLD_IN_WORDS = """
{%- for tool in xml_tools or [] %}{{ tool | tojson }}{% endfor %}
{%- if xml_tools %}Answer <tool_call>{\"name\": NAME, \"arguments\": OBJECT}</tool_call>.{% endif %}
{%- for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}"""


@pytest.mark.parametrize(("template", "begin"), [(TEXT_WANTED, "@"), (CONTENT_WANTED, "!")])
def test_what_a_template_wants_of_calls_is_found(template: str, begin: str) -> None:
    chat = ChatFormat.of("tiny", template, MARKS)
    assert chat.tools.style == ToolStyle(begin, " ", ";")
    assert (chat.tools.lists, chat.tools.writes) == (True, True)
    prompt = chat.render([Message("user", "Hi"), Message("assistant", "", CALLS)], [WEATHER])
    assert f'{begin}get_weather {{"city": "Zürich"}};{begin}get_time {{}};' in prompt


def test_a_style_that_a_template_tells_in_words_is_written_for_it() -> None:
    chat = ChatFormat.of("tiny", TOLD_IN_WORDS, MARKS)
    assert (chat.tools.style, chat.tools.lists, chat.tools.writes) == (GENERIC, True, False)
    prompt = chat.render([Message("user", "Hi"), Message("assistant", "", CALLS)], [WEATHER])
    assert prompt.startswith('{"type": "function", "function": {"name": "get_weather"')
    assert f"<assistant>{GENERIC.write(CALLS)}" in prompt


def test_a_template_that_refuses_system_messages_gets_the_tools_in_the_first_question() -> None:
    prompt = chat_format("google-gemma-2-2b-it").render([Message("user", "How warm is it?")], [WEATHER])
    assert prompt.index("get_weather") < prompt.index("How warm is it?")
    assert prompt.count("<start_of_turn>user") == 1


def test_results_that_follow_each_other_share_a_turn_where_the_template_knows_none() -> None:
    chat = chat_format("google-gemma-2-2b-it")
    results = [Message("tool", text, call_id=call.id) for text, call in zip("ab", CALLS, strict=True)]
    prompt = chat.render([Message("user", "Hi"), Message("assistant", "Wait.", CALLS), *results])
    assert "<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response>" in prompt
    assert f"Wait.\n{GENERIC.write(CALLS)}" in prompt
