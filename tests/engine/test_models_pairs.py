"""Models that can draft for others: found by their token lists, chosen by the user, shown by the command."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests.support.gguf_files import write_gguf
from velospec.core.errors import ModelLoadError, SettingsError
from velospec.models.install import install
from velospec.models.pairs import draft_for, find_pairs, vocabulary_digest
from velospec.models.store import DRAFT, ModelStore
from velospec_cli.model import app

TOKENS = ("a", "b", "c")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path / "velospec"))
    return ModelStore()


def vocabulary_file(path: Path, tokens: tuple[str, ...], padding: int = 0) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    types = [gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.UNUSED] * padding
    writer.add_token_types(types)
    writer.add_token_list([*tokens, *(f"[PAD{number}]" for number in range(padding))])
    writer.add_tensor("token_embd.weight", np.zeros((4, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add(store: ModelStore, name: str, *, rows: int, infill: bool = True) -> None:
    path = store.folder.parent / "files" / f"{name}.gguf"
    install(str(write_gguf(path, rows=rows, infill=infill, chat=not infill)), store=store)


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_padding_makes_no_other_vocabulary(tmp_path: Path) -> None:
    plain = vocabulary_digest(vocabulary_file(tmp_path / "plain.gguf", TOKENS))
    assert vocabulary_digest(vocabulary_file(tmp_path / "padded.gguf", TOKENS, padding=5)) == plain
    assert vocabulary_digest(vocabulary_file(tmp_path / "more.gguf", (*TOKENS, "d"))) != plain
    assert vocabulary_digest(vocabulary_file(tmp_path / "order.gguf", ("b", "a", "c"))) != plain
    assert vocabulary_digest(vocabulary_file(tmp_path / "none.gguf", (), padding=2)) != plain
    with pytest.raises(ModelLoadError):
        vocabulary_digest(tmp_path / "missing.gguf")


def test_the_smaller_drafts_for_the_larger_of_the_same_tokenizer(store: ModelStore) -> None:
    for name, rows in (("large", 256), ("middle", 128), ("small", 64)):
        add(store, name, rows=rows)
    add(store, "other", rows=32, infill=False)
    found = {
        pairs.target.model.name: [draft.model.name for draft in pairs.drafts]
        for pairs in find_pairs(store.list())
    }
    assert found == {"large": ["small", "middle"], "middle": ["small"]}


def test_no_model_drafts_until_the_user_says_so(store: ModelStore) -> None:
    add(store, "large", rows=128)
    add(store, "small", rows=64)
    add(store, "other", rows=256, infill=False)
    large = store.get("large")
    assert store.default(DRAFT) is None
    assert draft_for(large, store) is None
    store.use("small", DRAFT)
    assert draft_for(large, store) == store.get("small")
    assert draft_for(store.get("small"), store) is None
    assert draft_for(store.get("other"), store) is None
    write_gguf(store.get("small").path, rows=32)
    assert draft_for(large, store) is None  # changed since it was installed
    store.get("small").path.unlink()
    assert draft_for(large, store) is None
    store.remove("small")
    assert store.default(DRAFT) is None


def test_the_command_shows_pairs_and_takes_a_choice(store: ModelStore) -> None:
    assert "No two installed models" in command("pairs").output
    assert json.loads(command("pairs", "--json").output) == {"pairs": [], "draft": None}
    add(store, "large", rows=128)
    add(store, "small", rows=64)
    shown = json.loads(command("pairs", "--json").output)
    sizes = {name: store.get(name).size for name in ("large", "small")}
    small = {"name": "small", "parameters": 64 * 32, "size": sizes["small"]}
    large = {"name": "large", "parameters": 128 * 32, "size": sizes["large"], "drafts": [small]}
    assert shown == {"pairs": [large], "draft": None}
    assert "small now drafts for large" in command("use", "small", "--for", "draft").output
    assert json.loads(command("pairs", "--json").output)["draft"] == "small"
    assert "(completion), draft" in command("list").output
    line = next(line for line in command("pairs").output.splitlines() if line.startswith("large"))
    assert line.split()[:5] == ["large", "small", "0", "M", "50%"]
    assert "No model drafts" in command("use", "none", "--for", "draft").output
    assert store.default(DRAFT) is None
    with pytest.raises(SettingsError, match="large can draft for no installed model") as refused:
        command("use", "large", "--for", "draft")
    assert refused.value.remedy == "See which can: velospec model pairs"
