"""The class of the first VeloSpec: what it takes, what it refuses, its configurations on a real model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from velospec import GenerationResult, VeloSpec
from velospec.configurations import Config, drafting_of
from velospec.core.cancellation import CancelToken
from velospec.core.errors import (
    BackendError,
    ContextError,
    GrammarError,
    ModelLoadError,
    ModelNotFoundError,
    SettingsError,
)
from velospec.core.request import InfillRequest, TextRequest
from velospec.drafting import Control
from velospec.models.named import find_model
from velospec.models.store import InstalledModel, ModelStore

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a place.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
                "required": ["place", "unit"],
                "additionalProperties": False,
            },
        },
    }
]

QUICKSTART = """
from velospec import VeloSpec

engine = VeloSpec(
    target_model="TARGET",
    draft_model="DRAFT",
    config="C4",
)

result = engine.generate(
    prompt="Call a function to search for AI news.",
    schema={
        "type": "object",
        "properties": {
            "function": {"type": "string", "enum": ["search", "get", "post"]},
            "arguments": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                },
                "required": ["query"],
            },
        },
        "required": ["function", "arguments"],
    },
    max_tokens=256,
)

print(f"Output:       {result.text}")
print(f"Acceptance:   {result.acceptance_rate:.2%}")
print(f"Throughput:   {result.tokens_per_sec:.1f} tok/s")
if result.k_trace:
    avg_k = sum(k for _, k in result.k_trace) / len(result.k_trace)
    print(f"Avg K:        {avg_k:.1f} (adaptive)")
"""
"""The calls of examples/quickstart.py in shilonggrad-design/spec-decoding (MIT), with other models."""


@pytest.fixture(scope="module")
def engines(chat_model: InstalledModel) -> Iterator[dict[str, VeloSpec]]:
    """One of each configuration on the chat model."""
    made = {config: VeloSpec(chat_model.name, config=config) for config in Config}
    yield dict(made)
    for engine in made.values():
        engine.close()


@pytest.mark.model
def test_the_first_velospecs_quickstart_runs_on_gguf_files(
    chat_model: InstalledModel, default_model: InstalledModel, capsys: pytest.CaptureFixture[str]
) -> None:
    program = QUICKSTART.replace("TARGET", str(chat_model.path)).replace("DRAFT", str(default_model.path))
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102 - written above
    names["engine"].close()
    result = names["result"]
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in shown] == ["Output", "Acceptance", "Throughput", "Avg K"]
    assert json.loads(result.text)["function"] in ("search", "get", "post")
    assert result.parsed == json.loads(result.text)
    assert result.config == "C4"
    assert 0 < result.accepted_count <= result.drafted_count
    assert result.acceptance_rate == pytest.approx(result.accepted_count / result.drafted_count)
    assert result.rounds == len(result.k_trace) == len(result.density_trace) < len(result.token_ids)
    assert {k for _, k in result.k_trace} <= {1, 4, 8}
    assert all(k == (8 if density < 0.005 else 4 if density < 0.02 else 1) for density, k in result.k_trace)


@pytest.mark.model
def test_all_configurations_with_a_grammar_give_the_same_answer(engines: dict[str, VeloSpec]) -> None:
    question = "The person Ada Lovelace, aged 36, as JSON:\n"
    results = {
        name: engine.generate(question, schema=PERSON, max_tokens=48) for name, engine in engines.items()
    }
    free = results.pop("C1")
    assert free.density_trace == free.k_trace == []
    assert free.parsed is None
    assert len({tuple(result.token_ids) for result in results.values()}) == 1
    for name, result in results.items():
        assert set(result.parsed) == {"name", "age"}
        assert result.config == name
        assert len(result.density_trace) == result.rounds
        assert all(0 < density <= 1 for density in result.density_trace)
    assert {k for _, k in results["C3"].k_trace} == {5}
    assert results["C3"].acceptance_rate >= results["C2"].acceptance_rate


@pytest.mark.model
def test_a_draft_model_is_asked_in_every_step_and_changes_no_id(
    engines: dict[str, VeloSpec], chat_model: InstalledModel, default_model: InstalledModel
) -> None:
    question = "The person Ada Lovelace, aged 36, as JSON:\n"
    alone = engines["C3"].generate(question, schema=PERSON, max_tokens=48)
    with VeloSpec(chat_model.path, default_model.path, "C3", 3) as engine:
        result = engine.generate(question, schema=PERSON, max_tokens=48)
        counts = engine.engine.statistics
    assert result.token_ids == alone.token_ids
    assert set(counts.proposers) == {"draft_model"}
    assert counts.proposers["draft_model"].batches >= result.rounds - 1  # the last id may need none
    assert len(counts.drafted_at) == 3
    assert {k for _, k in result.k_trace} == {3}


@pytest.mark.model
def test_tools_are_called(engines: dict[str, VeloSpec]) -> None:
    result = engines["auto"].generate("How warm is it in Paris, in celsius?", tools=TOOLS, max_tokens=96)
    assert result.parsed
    for call in result.parsed:
        assert call["name"] == "get_weather"
        assert set(call["arguments"]) == {"place", "unit"}
        assert call["arguments"]["unit"] in ("celsius", "fahrenheit")


@pytest.mark.model
def test_an_answer_that_is_cut_short_is_not_parsed(engines: dict[str, VeloSpec]) -> None:
    cut = engines["C4"].generate("A person as JSON:", schema=PERSON, max_tokens=3)
    assert len(cut.token_ids) == 3
    assert cut.parsed is None
    call = engines["C4"].generate("How warm is it in Paris?", tools=TOOLS, max_tokens=12)
    assert call.parsed is None


@pytest.mark.model
def test_without_a_schema_the_text_is_free(engines: dict[str, VeloSpec]) -> None:
    results = [engines[name].generate("The capital of France is", max_tokens=8) for name in ("C4", "auto")]
    assert results[0].token_ids == results[1].token_ids
    assert all(isinstance(result, GenerationResult) and result.parsed is None for result in results)


@pytest.mark.model
def test_what_cannot_be_asked_is_told(engines: dict[str, VeloSpec]) -> None:
    engine = engines["C4"]
    with pytest.raises(SettingsError, match="not both"):
        engine.generate("A person:", schema=PERSON, tools=TOOLS)
    with pytest.raises(SettingsError, match="cannot be read"):
        engine.generate("A person:", schema="no/such/schema.json")
    with pytest.raises(GrammarError):
        engine.generate("A person:", schema='{"type": ')
    with pytest.raises(ContextError):
        engine.generate("word " * 4000)
    wrong: Any
    for wrong in (None, 3):
        with pytest.raises(SettingsError, match=r"TextRequest\.prompt"):
            engine.generate(wrong)
        with pytest.raises(SettingsError, match=r"Message\.content"):
            engine.generate(wrong, tools=TOOLS)
    wrong = [1]
    with pytest.raises(SettingsError, match="not of the type list"):
        engine.generate("A person:", schema=wrong)
    with pytest.raises(SettingsError, match=r"max_tokens .* not -1"):
        engine.generate("A person:", max_tokens=-1)


@pytest.mark.model
def test_objects_are_closed_unless_they_say_so(engines: dict[str, VeloSpec]) -> None:
    """In the same way as those of `Chat.ask`: what it is not asked for, the model cannot go on inventing."""
    open_ = {key: value for key, value in PERSON.items() if key != "additionalProperties"}
    question = "A person with as many properties as possible, as JSON:\n"
    first, second = (engines["C4"].generate(question, schema=each, max_tokens=64) for each in (open_, PERSON))
    assert set(first.parsed) == {"name", "age"}
    assert first.token_ids == second.token_ids


@pytest.mark.model
def test_a_closed_model_answers_with_an_error(chat_model: InstalledModel) -> None:
    with VeloSpec(chat_model.name) as used:
        used.generate("x", max_tokens=1)
    unused = VeloSpec(chat_model.name)
    unused.close()
    for engine in (used, unused):
        engine.close()
        for call in _calls_of(engine):
            with pytest.raises(BackendError, match="The model was closed"):
                call()
        assert engine.engine.describe()["slots"] == 1


def _calls_of(engine: VeloSpec) -> list[Callable[[], object]]:
    """All that needs the model."""
    inner, cancel = engine.engine, CancelToken()
    request = TextRequest("d", "An unusual text: ☕")
    return [
        lambda: engine.generate("x"),
        lambda: engine.generate("x", schema=PERSON),
        lambda: engine.generate("x", tools=TOOLS),
        lambda: inner.generate(request, cancel),
        lambda: inner.infill(InfillRequest("d", "a", "b"), cancel),
        lambda: inner.prompt_ids(request),
        lambda: inner.use_corpus(["def f(): return 1"]),
        inner.measure,
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "cause", "remedy"),
    [
        ({"config": "C5"}, SettingsError, "'C5'", "C1, C2, C3, C4, auto"),
        ({"device": "cuda"}, SettingsError, "'cuda'", "auto, cpu"),
        ({"backend": "triton"}, SettingsError, "'triton'", "auto, llama_cpp"),
        ({"dtype": "float16"}, SettingsError, "number type", "Leave dtype out"),
        ({"K": 0}, SettingsError, "0 ids", "1 or more"),
        ({}, ModelNotFoundError, "Hugging Face", "velospec model install hf:"),
        ({"target_model": "none.gguf"}, ModelNotFoundError, "no file none.gguf", "path of a GGUF"),
        ({"target_model": "none"}, ModelNotFoundError, '"none"', "velospec model list"),
    ],
)
def test_arguments_that_cannot_be_used_are_told_with_a_remedy(
    arguments: dict[str, Any],
    error: type[SettingsError],
    cause: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path))
    with pytest.raises(error) as told:
        VeloSpec(**{"target_model": "Qwen/Qwen3.5-4B", **arguments})
    assert cause in told.value.cause
    assert remedy in told.value.remedy


def test_each_configuration_is_what_it_was_published_as() -> None:
    made = {name: drafting_of(name, 5) for name in Config}
    assert {name: drafting.control for name, drafting in made.items()} == {
        "C1": Control.FIXED,
        "C2": Control.FIXED,
        "C3": Control.FIXED,
        "C4": Control.DENSITY,
        "auto": Control.SELECTOR,
    }
    assert [name for name, drafting in made.items() if not drafting.grammar_trims] == ["C2"]
    assert made["C3"].length == 5


def test_a_draft_model_drafts_alone_but_for_auto(default_model: InstalledModel) -> None:
    assert drafting_of("C3", 5, default_model).proposers == frozenset({"draft_model"})
    assert drafting_of("auto", 5, default_model).proposers is None


@pytest.mark.model
def test_a_file_is_found_by_its_path(
    default_model: InstalledModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed file is the installed model, measured; any other has a folder of its own."""
    assert find_model(default_model.path) == find_model(default_model.name) == default_model
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path))
    found = find_model(str(default_model.path), ModelStore(tmp_path / "models"))
    assert (found.path, found.sha256) == (default_model.path, default_model.sha256)
    assert found.folder.is_dir()
    assert found.folder.is_relative_to(tmp_path)
    noise = tmp_path / "noise.gguf"
    noise.write_bytes(b"no model")
    with pytest.raises(ModelLoadError):
        find_model(noise)
