"""`velospec run` with schemas, grammars and tools: with a scripted daemon, and with the real chat model."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.run_command import run, scripted_home
from velospec.core.tools import ToolChoice, ToolMode
from velospec.models.store import InstalledModel
from velospec_cli.run_structure import structure_of

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two whole numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    },
    {"type": "function", "function": {"name": "wait"}},
]
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
WAIT = '<tool_call>\n{"name": "wait", "arguments": {}}\n</tool_call>'


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with scripted_home(chat="{{ messages[-1].content }}") as folder:
        yield folder


@pytest.fixture
def tools(tmp_path: Path) -> str:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS), "utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Just text.", "Just text.\n"),
        (CALL, 'add({"a": 1, "b": 2})\n'),
        (f"{CALL}\n{WAIT}", 'add({"a": 1, "b": 2})\nwait({})\n'),
        (f"Let me see.\n\n{CALL}", 'Let me see.\nadd({"a": 1, "b": 2})\n'),
        (f"{WAIT}\nDone.", "wait({})\nDone.\n"),
    ],
)
def test_each_call_is_a_line_of_its_own(home: Path, tools: str, written: str, shown: str) -> None:
    assert run(home, "--tools", tools, "--prompt", f"say {written}") == (0, shown, "")


def test_json_has_content_and_calls(home: Path, tools: str) -> None:
    code, shown, told = run(home, "--json", "--tools", tools, "--prompt", f"say Well. {CALL}")
    answer = json.loads(shown)
    assert (code, told, answer["text"], answer["content"]) == (0, "", f"Well. {CALL}", "Well.")
    (call,) = answer["tool_calls"]
    assert call.pop("id")
    assert call == {
        "type": "function",
        "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
        "complete": True,
    }


def test_without_tools_a_call_is_text(home: Path, tools: str) -> None:
    for arguments in ((), ("--tools", tools, "--tool-choice", "none")):
        assert run(home, *arguments, "--prompt", f"say {CALL}") == (0, f"{CALL}\n", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--tools", "{folder}/none.json"), "cannot be read: No such file or directory."),
        (("--tools", "{folder}/broken.json"), "broken.json is not JSON: Expecting value"),
        (("--tools", "{folder}/tools.json", "--tool-choice", "fly"), "no tool 'fly'. There are: add, wait."),
        (("--tools", "{folder}/tools.json", "--tool-choice", "{{"), "--tool-choice is not JSON"),
        (("--schema", "{folder}/none.json"), "cannot be read"),
        (("--schema", '{{"type": '), "The JSON Schema is not JSON"),
        (("--schema", "null"), "null is JSON, but a JSON Schema is an object, true or false."),
        (("--schema", "[]"), "[] is JSON, but a JSON Schema is an object, true or false."),
        (("--schema", ""), "An empty text is no JSON Schema."),
        (("--grammar", "{folder}/none.gbnf"), "cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_with_a_remedy(
    home: Path, tools: str, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "broken.json").write_text("[", "utf-8")
    code, shown, failure = run(home, *(each.format(folder=tmp_path) for each in arguments), "--prompt", "x")
    assert (code, shown) == (1, "")
    assert told in " ".join(failure.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--schema", "{}", "--json-value", "--prompt", "x"),
        ("--regex", "a", "--tools", "tools.json", "--prompt", "x"),
        ("--tool-choice", "auto", "--prompt", "x"),
        ("--no-parallel", "--prompt", "x"),
        ("--regex", "a", "--file", "a.py", "--line", "1"),
    ],
)
def test_options_that_do_not_fit_together_are_wrong_usage(home: Path, arguments: tuple[str, ...]) -> None:
    code, shown, told = run(home, *arguments)
    assert (code, shown) == (2, "")
    assert "Usage: velospec run" in told


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_forms_are_read_from_standard_input_too(home: Path, tmp_path: Path, mark: str) -> None:
    """As well as from files; a byte order mark is none of their text."""
    for option, text in [
        ("--schema", '{"type": "string"}'),
        ("--grammar", 'root ::= "a"'),
        ("--tools", json.dumps(TOOLS)),
    ]:
        file = tmp_path / "given"
        file.write_text(mark + text, "utf-8")
        assert run(home, option, str(file), "--prompt", "say x") == (0, "x\n", "")
        assert run(home, option, "-", "--prompt", "say x", typed=mark + text) == (0, "x\n", "")
        code, shown, told = run(home, option, "-", "--prompt", "-", typed=text)
        assert (code, shown) == (2, "")
        assert "Only one option can be read from standard input." in told
    told = run(home, "--tools", "-", "--prompt", "x", typed="[")[2]
    assert told.startswith("Standard input is not JSON")


def test_a_tool_that_is_called_like_a_mode_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text('[{"name": "none"}, {"name": "other"}]', "utf-8")

    def choice(text: str) -> ToolChoice:
        return structure_of(
            schema=None,
            json_value=False,
            regex=None,
            grammar=None,
            tools=file,
            tool_choice=text,
            parallel=True,
        ).choice

    assert choice("none") == ToolChoice(ToolMode.NONE)
    assert choice("other") == ToolChoice(ToolMode.REQUIRED, ("other",))
    assert choice('{"type": "function", "name": "none"}') == ToolChoice(ToolMode.REQUIRED, ("none",))


def test_tools_need_the_template(home: Path, tools: str) -> None:
    assert run(home, "--raw", "--tools", tools, "--prompt", "x")[0] == 2


@pytest.mark.model
def test_the_real_model_obeys_each_form(chat_model: InstalledModel, tmp_path: Path, tools: str) -> None:
    home = Path(os.environ["VELOSPEC_HOME"])
    grammar = tmp_path / "digits.gbnf"
    grammar.write_text("root ::= [0-9] [0-9]?\n", "utf-8")
    schema = tmp_path / "schema.json"
    schema.write_text(
        '{"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}', "utf-8"
    )
    common = ("--model", chat_model.name, "--prompt", "Add 17 and 25.")

    def shown(*arguments: str) -> str:
        code, out, told = run(home, *arguments, *common)
        assert (code, told) == (0, "")
        return out

    assert shown("--tools", tools, "--tool-choice", "required") == 'add({"a": 17, "b": 25})\n'
    assert shown("--tools", tools, "--tool-choice", "wait") == "wait({})\n"
    assert shown("--tools", tools, "--tool-choice", "required", "--no-parallel").count("(") == 1
    assert shown("--regex", "yes|no") in {"yes\n", "no\n"}
    assert shown("--grammar", str(grammar)).strip().isdigit()
    assert json.loads(shown("--schema", str(schema))).keys() == {"sum"}
    code, out, told = run(home, "--tools", tools, "--tool-choice", "required", "--max-tokens", "24", *common)
    assert (code, out.startswith("add({"), out.endswith(")\n")) == (0, True, False)
    assert "The answer was cut short by --max-tokens 24." in told


@pytest.mark.model
def test_what_ends_an_answer_or_keeps_it_out_is_told_as_what_it_is(
    chat_model: InstalledModel, tmp_path: Path
) -> None:
    home = Path(os.environ["VELOSPEC_HOME"])
    common = ("--model", chat_model.name)
    long = "word " * 2010
    code, shown, told = run(home, *common, "--prompt", long, "--regex", "(a|b)+", "--max-tokens", "100")
    assert code == 0
    written = re.fullmatch(
        r"The answer was cut short after (\d+) tokens: "
        r"with the prompt, it fills the model's context of 2048\.\n",
        told,
    )
    assert written
    assert 0 < int(written[1]) < 100
    assert shown.strip("ab") == "\n"
    code, shown, told = run(home, *common, "--prompt", long + long)
    assert (code, shown) == (1, "")
    assert "the context holds 2048" in told
    assert "Give a shorter --prompt; or set VELOSPEC_CONTEXT (tokens)" in told
    tools = tmp_path / "tools.json"
    tools.write_text(
        json.dumps([{"name": f"tool_{i}", "description": "Waits. " * 20} for i in range(90)]), "utf-8"
    )
    code, shown, told = run(home, *common, "--prompt", "x", "--tools", str(tools))
    assert (code, shown) == (1, "")
    assert "Give fewer --tools, of which there are 90, or a shorter --prompt" in told
