"""A real draft model of six layers: what it drafts is verified, and much of it accepted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.prompts import PROMPTS, CodePrompt
from tests.support.proposers import eager_selector
from velospec import CancelToken, Engine, InstalledModel, Limits, ModelStore, TextRequest
from velospec.daemon.host import open_installed
from velospec.decode.decoder import Decoder, Task
from velospec.models.install import install
from velospec.models.store import DRAFT
from velospec.profile import NAME as PROFILE

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

FILE = Path(__file__).parents[3] / "shared" / "models" / "smollm2-135m-draft-6l-q8_0.gguf"
LIMITS = Limits(max_tokens=48, ignore_end=True)


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """What the daemon opens for a user who has chosen the draft model."""
    if not FILE.is_file():
        pytest.skip("the draft model's file does not lie beside this checkout")
    store = ModelStore(tmp_path_factory.mktemp("models"))
    model = install(str(default_model.path), store=store, name=default_model.name)
    draft = install(str(FILE), store=store)
    store.use(draft.name, DRAFT)
    kept = default_model.folder / PROFILE
    if kept.exists():
        shutil.copy(kept, model.folder)
    engine = open_installed(model, lambda _fraction: None, context=2048)
    assert isinstance(engine, Engine)
    if engine.profile is None:
        engine.measure()
    assert engine.numerics.exact, engine.numerics.reason
    assert engine.describe()["draft_model"] == draft.name
    yield engine
    engine.close()


def test_asked_in_every_step_it_changes_no_id_and_saves_half_of_the_steps(engine: Engine) -> None:
    assert engine._second is not None
    backend = engine._backend
    decoder = Decoder(backend, [engine._second.proposer], eager_selector(backend.min_rows))
    steps = 0
    for prompt in PROMPTS[:2]:
        ids = backend.vocabulary.encode(prompt.text)
        plain = decoder.complete(Task("a", ids, LIMITS, speculate=False), CancelToken())
        drafted = decoder.complete(Task("b", ids, LIMITS), CancelToken())
        assert drafted.token_ids == plain.token_ids, prompt.name
        steps += drafted.statistics.steps
    engine._configure(engine.numerics)  # the slots were used behind its back
    assert steps <= 2 * LIMITS.max_tokens / 2


@pytest.mark.parametrize("prompt", PROMPTS[2:4], ids=lambda prompt: prompt.name)
def test_asked_where_it_pays_it_changes_no_id_either(engine: Engine, prompt: CodePrompt) -> None:
    drafted = engine.generate(TextRequest("notes", prompt.text, LIMITS), CancelToken())
    plain = engine.generate(TextRequest("notes", prompt.text, LIMITS, speculate=False), CancelToken())
    assert drafted.token_ids == plain.token_ids


def test_the_memory_of_both_models_counts(engine: Engine) -> None:
    assert engine._second is not None
    assert engine.memory_bytes == engine._backend.memory_bytes + engine._second.memory_bytes
    assert engine._second.memory_bytes > FILE.stat().st_size / 2
