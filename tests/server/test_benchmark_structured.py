"""What the suites of structured answers have besides: their data, their grammars, their figures."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.server.test_benchmark_command import benchmark
from velospec import InstalledModel, Statistics
from velospec.core.draft import Draft, Verdict
from velospec.core.grammar import GrammarKind
from velospec.core.step import Step
from velospec.core.tools import GENERIC, Tool, ToolCall, ToolStyle
from velospec_cli.benchmark.answers import gbnf_of, grammar_of, violations_of
from velospec_cli.benchmark.methods import GRAMMAR, MASK, PLAIN, VELOSPEC, Run
from velospec_cli.benchmark.results import make_row, summarize, verified_acceptance
from velospec_cli.benchmark.session import Entry
from velospec_cli.benchmark.structured import CONFIGURATIONS, add_figures
from velospec_cli.benchmark.suites import bfcl, schemas
from velospec_cli.benchmark.suites.prompt import Prompt, Structure

AREA = Tool(
    "area.of",
    "The area of a shape.",
    '{"type": "object", "properties": {"width": {"type": "number"}}, "required": ["width"]}',
)
NAME = Tool("name", "", '{"type": "object", "properties": {}, "additionalProperties": false}')
CALLS = Structure("multiple", (("user", "How large is it?"),), tools=(AREA, NAME))


def call(name: str, arguments: str) -> str:
    return GENERIC.write([ToolCall(name, arguments)])


def test_what_bfcl_describes_becomes_json_schema() -> None:
    described = {
        "type": "dict",
        "properties": {
            "sides": {
                "type": "tuple",
                "items": {"type": "float"},
                "description": "All of them.",
                "default": [],
            },
            "unit": {"type": "string", "enum": ["m", "cm"], "optional": True},
            "more": {"type": "dict"},
            "value": {"type": "any"},
        },
        "required": ["sides"],
    }
    assert bfcl.to_schema(described) == {
        "type": "object",
        "properties": {
            "sides": {"type": "array", "items": {"type": "number"}, "description": "All of them."},
            "unit": {"type": "string", "enum": ["m", "cm"]},
            "more": {"type": "object"},
            "value": {},
        },
        "required": ["sides"],
        "additionalProperties": False,
    }


@pytest.mark.model  # a download
def test_every_entry_of_bfcl_has_a_grammar() -> None:
    """Of all 800; and those of the suite have one for llama.cpp too."""
    for category in bfcl.CATEGORIES:
        found = bfcl.entries(category)
        assert len(found) >= 200
        for entry in found:
            tools = bfcl.tools_of(entry)
            grammar = grammar_of(Structure(category, (), tools=tools))
            assert grammar.kind is GrammarKind.TAGS
            assert grammar.tags is not None
            assert not grammar.tags.free_text
            begins = [GENERIC.begin + tool.name + GENERIC.middle for tool in tools]
            assert [tag.begin for tag in grammar.tags.tags] == begins
    for prompt in bfcl.load():
        assert prompt.structure is not None
        assert prompt.structure.parallel == prompt.name.startswith("parallel")
        assert gbnf_of(prompt.structure).startswith("root ::= ")


@pytest.mark.model  # a download
def test_a_data_file_that_is_not_as_it_should_be_is_fetched_anew() -> None:
    path = bfcl._file("simple", lambda _label, _done, _total: None)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    try:
        assert len(bfcl.entries("simple")) == 400
    finally:
        assert path.read_bytes() == whole


def test_each_type_of_schema_has_its_questions() -> None:
    prompts = schemas.load()
    kinds = [prompt.structure.kind for prompt in prompts if prompt.structure is not None]
    assert tuple(kinds[:6]) == schemas.KINDS
    assert {kind: kinds.count(kind) for kind in schemas.KINDS} == dict.fromkeys(schemas.KINDS, 5)
    for prompt in prompts:
        structure = prompt.structure
        assert structure is not None
        assert structure.schema in structure.messages[0][1]
        assert json.loads(structure.schema)["additionalProperties"] is False


def test_an_answer_is_held_to_its_schema() -> None:
    structure = Structure("enum", (), '{"enum": ["red", "blue"]}')
    assert violations_of('"red"', structure) == []
    assert violations_of('"green"', structure)
    assert violations_of('"re', structure)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (call("area.of", '{"width": 2.5}'), ""),
        (call("name", "{}"), ""),
        (call("area.of", '{"width": "wide"}'), "area.of: "),
        (call("volume", "{}"), "no tool 'volume'"),
        (call("name", "{}") + "\n" + call("name", "{}"), "2 calls instead of one"),
        ("It is large.", "no call"),
        ("It is " + call("name", "{}"), "text beside"),
        (call("area.of", '{"width": 2.5}')[:-20], "area.of: "),
    ],
)
def test_calls_are_held_to_their_tools(text: str, wrong: str) -> None:
    found = violations_of(text, CALLS)
    assert any(wrong in each for each in found) if wrong else found == []


def test_llama_cpp_is_given_the_same_calls() -> None:
    rules = gbnf_of(CALLS).splitlines()
    assert rules[0] == 'root ::= "<tool_call>\\n" call "\\n</tool_call>"'
    assert sum('"\\"area.of\\""' in rule for rule in rules) == 1
    several = Structure("parallel", (), tools=(NAME,), parallel=True)
    assert gbnf_of(several).startswith(
        'root ::= "<tool_call>\\n" call ("\\n</tool_call>\\n<tool_call>\\n" call)* "\\n</tool_call>"\n'
    )
    other = ToolStyle('[{"name": "', '", "parameters": ', "}]", several=False)
    renamed = gbnf_of(Structure("simple", (), tools=(NAME,), style=other))
    assert renamed.startswith('root ::= "[" call "]"\n')
    assert '"\\"parameters\\""' in renamed


def step(drafted: int, accepted: int, density: float = 0.01) -> Step:
    verdict = Verdict(Draft(tuple(range(drafted)), "forced"), accepted, 7)
    return Step(verdict, (), drafted + 1, 9, 0.0, 0.0, 0.0, 0.0, density)


def answered(ids: Sequence[int], seconds: float, text: str, *steps: Step, cut: bool = False) -> Run:
    counts = Statistics(
        steps=len(steps) or len(ids),
        new_tokens=len(ids),
        drafted_tokens=sum(len(each.verdict.draft) for each in steps),
        accepted_tokens=sum(each.verdict.accepted for each in steps),
        grammar_seconds=0.001,
        forced_tokens=len(ids) // 2,
    )
    return Run(tuple(ids), len(ids), seconds, counts, steps, text, cut)


def entry(name: str, text: str, *, cut: bool = False) -> Entry:
    """Eight tokens: 4 s without drafts, 2 s with them; the rivals need 8 s for 16 tokens, and 5 s for 8."""
    made = Entry(Prompt(name, name, structure=Structure("colour", (), '{"enum": ["red", "blue"]}')))
    ids = range(8)
    drafted = (step(4, 4), step(5, 1))
    made.runs = {
        PLAIN: [answered(ids, 4, text, cut=cut)],
        VELOSPEC: [answered(ids, 2, text, *drafted, cut=cut)],
        **{config: [answered(ids, 4, text, *drafted, cut=cut)] for config in CONFIGURATIONS},
        GRAMMAR: [Run(tuple(range(16)), 16, 8.0)],
        MASK: [Run(tuple(ids), 8, 5.0)],
    }
    made.first_token = dict.fromkeys(made.runs, 0.5)
    return made


def figures(*entries: Entry) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    engine: Any = SimpleNamespace(
        profile=SimpleNamespace(cost=SimpleNamespace(seconds=lambda _rows, _context: 0.01)),
        piece=lambda _token: b'"red"',
    )
    rows = [make_row(each) for each in entries]
    summary = summarize(entries, rows)
    add_figures(engine, entries, rows, summary)
    return rows, summary


def test_acceptance_is_counted_as_the_first_velospec_does_too() -> None:
    run = answered(range(8), 1, "", step(4, 4), step(5, 1), step(0, 0), step(3, 0))
    assert verified_acceptance([run]) == pytest.approx(5 / 7)  # two drafts were wrong in one place each
    assert verified_acceptance([answered(range(2), 1, "", step(0, 0))]) == 0


def test_a_row_tells_whether_its_answer_is_valid_or_was_cut() -> None:
    rows, summary = figures(entry("a", '"red"'), entry("b", '"gre', cut=True), entry("c", '"green"'))
    assert [(row["valid"], row["cut"]) for row in rows] == [(True, False), (False, True), (False, False)]
    assert [bool(row["violations"]) for row in rows] == [False, True, True]
    assert (summary["valid"], summary["cut"]) == ("1/3", 1)
    mine = rows[0]["methods"][VELOSPEC]
    assert (mine["tokens"], mine["answer_seconds"], mine["tokens_per_step"]) == (8, 2.0, 4.0)
    assert (mine["acceptance_rate"], mine["verified_acceptance_rate"]) == (0.5556, 0.8333)
    assert "acceptance_rate" not in rows[0]["methods"][PLAIN]


def test_a_summary_has_kinds_rivals_and_the_grammars_cost() -> None:
    _, summary = figures(entry("a", '"red"'), entry("b", '"blue"'))
    assert summary["ahead_of"] == {
        GRAMMAR: {"tokens_per_second": 2.0, "answer_seconds": 4.0},  # it wrote twice as many tokens
        MASK: {"tokens_per_second": 2.5, "answer_seconds": 2.5},
    }
    assert summary["best_rival"] == GRAMMAR
    assert summary["forced_share"] == 0.5
    assert summary["grammar_microseconds_per_step"] == 500
    assert summary["grammar_share_of_pass"] == 0.05
    colour = summary["kinds"]["colour"]
    assert (colour["prompts"], colour["tokens"]) == (2, 8)
    assert colour["methods"][VELOSPEC]["speedup"] == 2.0
    assert colour["methods"]["C3"] == {
        "tokens_per_second": 2.0,
        "speedup": 1.0,
        "tokens_per_step": 4.0,
        "acceptance_rate": 0.5556,
        "verified_acceptance_rate": 0.8333,
    }


@pytest.fixture(scope="module")
def document(chat_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a quick run of one question writes."""
    file = tmp_path_factory.mktemp("structured") / "run.json"
    home = Path(os.environ["VELOSPEC_HOME"])
    result = benchmark(
        "schemas", "--quick", "--prompts", "1", "--model", chat_model.name, "--json", str(file), home=home
    )
    assert result.returncode == 0, result.stderr
    assert "By the kind of answer" in result.stdout
    return dict(json.loads(file.read_text("utf-8")))


@pytest.mark.model
def test_a_quick_run_measures_every_way_to_answer(document: dict[str, Any]) -> None:
    row = document["rows"][0]
    assert set(row["methods"]) >= {PLAIN, VELOSPEC, *CONFIGURATIONS}
    for name in (VELOSPEC, "C2", "C3", "C4"):
        assert row["methods"][name]["identical"], name
    assert row["valid"] or row["cut"]
    assert 0 <= row["forced_share"] <= 1
    assert row["methods"]["C1"]["tokens"] > 0


@pytest.mark.model
def test_a_rival_with_the_same_masks_writes_the_same(document: dict[str, Any]) -> None:
    """Another engine's mask, another decoder: where it had time to take part, the answer is ours."""
    rivals = [row["methods"][MASK] for row in document["rows"] if MASK in row["methods"]]
    assert all(rival["tokens"] for rival in rivals)
    assert all(rival["valid"] or rival["cut"] for rival in rivals)
