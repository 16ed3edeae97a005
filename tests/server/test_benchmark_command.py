"""`velospec benchmark` as the shell calls it: its list, its errors, and a quick run on the real model."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import clean_environment, command
from velospec.models.store import InstalledModel

KEYS = {"suite", "machine", "model", "versions", "rows", "summary"}
SUMMARY = {
    "speedup_mean",
    "speedup_min",
    "speedup_max",
    "identical",
    "vs_best_rival",
    "pass_reduction",
    "acceptance_rate",
}
METHODS = {"plain", "velospec", "llama-cpp-python", "prompt-lookup-10", "prompt-lookup-2"}


def benchmark(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command("velospec"), "benchmark", *arguments],
        env={**clean_environment(), "VELOSPEC_HOME": str(home), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_bare_benchmark_lists_the_suites(tmp_path: Path) -> None:
    result = benchmark(home=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    for suite in ("code", "humaneval", "editing", "completion", "tools", "schemas", "latency"):
        assert any(line.startswith(suite) for line in result.stdout.splitlines()), suite
    assert "velospec benchmark code --quick" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "cause", "remedy"),
    [
        (["sorting"], "no suite 'sorting'", "code, humaneval, editing, completion"),
        (["code"], "No model is installed", "velospec model install"),
        (["schemas"], "No chat model is installed", "velospec model install smollm2-135m-instruct"),
        (["code", "--model", "none"], "none", "velospec model"),
        (["code", "--json", "missing/folder/code.json"], "no folder", "in one that exists"),
    ],
)
def test_what_cannot_be_run_is_told_with_a_remedy(
    arguments: list[str], cause: str, remedy: str, tmp_path: Path
) -> None:
    result = benchmark(*arguments, home=tmp_path)
    assert result.returncode == 1
    assert cause in result.stderr
    assert remedy in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.fixture(scope="module")
def quick_run(default_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a quick run with all there is to see."""
    folder = tmp_path_factory.mktemp("benchmark")
    files = ["--json", str(folder / "run.json"), "--trace", str(folder / "run.csv")]
    begun = time.monotonic()
    result = benchmark(
        "code", "--quick", "--prompts", "2", "--ablation", *files, home=Path(os.environ["VELOSPEC_HOME"])
    )
    assert result.returncode == 0, result.stderr
    (folder / "seconds.txt").write_text(str(time.monotonic() - begun), "utf-8")
    (folder / "output.txt").write_text(result.stdout, "utf-8")
    return folder


@pytest.fixture(scope="module")
def document(quick_run: Path) -> dict[str, Any]:
    return dict(json.loads((quick_run / "run.json").read_text("utf-8")))


@pytest.mark.model
def test_the_document_has_the_form_that_is_promised(document: dict[str, Any]) -> None:
    assert document.keys() == KEYS
    summary = document["summary"]
    assert summary.keys() >= SUMMARY
    count = len(document["rows"])
    assert 1 <= count <= 2
    assert summary["identical"] == f"{count}/{count}"
    assert 0 < summary["pass_reduction"] < 1
    assert 0 < summary["acceptance_rate"] <= 1
    assert set(document["machine"]["batch_cost"]) >= {"1", "2", "4", "8", "16"}
    assert document["versions"].keys() >= {"velospec", "llama-cpp-python", "python"}


@pytest.mark.model
def test_every_row_has_every_method_on_as_many_tokens(document: dict[str, Any], quick_run: Path) -> None:
    pressed = (
        float((quick_run / "seconds.txt").read_text("utf-8")) > 40
    )  # of 50: rivals were left out for time
    for row in document["rows"]:
        assert set(row["methods"]) >= ({"plain", "velospec"} if pressed else METHODS)
        assert row["identical"]
        assert row["methods"]["velospec"]["identical"]
        assert row["tokens"] == document["summary"]["tokens"]
        assert row["steps"] < row["tokens"]
        assert row["tokens_per_step"] == pytest.approx(row["tokens"] / row["steps"], abs=1e-3)


@pytest.mark.model
def test_the_trace_has_a_line_for_each_token(document: dict[str, Any], quick_run: Path) -> None:
    with (quick_run / "run.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for row in document["rows"]:
        mine = [line for line in lines if line["prompt"] == row["prompt"]]
        assert [int(line["index"]) for line in mine] == list(range(row["tokens"]))
        assert len({line["step"] for line in mine}) == row["steps"]
        assert sum(line["accepted"] == "1" for line in mine) == row["accepted"]
        assert all((line["drafted"] == "") == (line["proposer"] == "") for line in mine)
        assert all(float(line["margin"]) >= 0 for line in mine)
    assert len(lines) == sum(row["tokens"] for row in document["rows"])


@pytest.mark.model
def test_the_ablation_replays_the_run(document: dict[str, Any]) -> None:
    lines = {line["setting"]: line for line in document["summary"]["ablation"]}
    assert len(lines) == 1 + 7 + 7 + 5
    assert lines["corpus alone"]["tokens_per_step"] == 1.0  # nothing was learned
    assert lines["corpus alone"]["model_speedup_mean"] == 1.0
    assert lines["everything"]["tokens_per_step"] > lines["ast_shadow alone"]["tokens_per_step"] > 1.0


@pytest.mark.model
def test_the_table_shows_each_prompt(document: dict[str, Any], quick_run: Path) -> None:
    output = (quick_run / "output.txt").read_text("utf-8")
    for row in document["rows"]:
        assert f"{row['speedup']:.2f}x" in output
    assert "outputs identical" in " ".join(output.split())
