"""A real draft model of six layers: what it drafts is verified, and much of it accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.prompts import PROMPTS, CodePrompt
from tests.support.proposers import eager_selector
from velospec import CancelToken, Drafting, Engine, InstalledModel, Limits, ModelStore, TextRequest
from velospec.decode.decoder import Decoder, Task
from velospec.models.install import install
from velospec.models.pairs import draft_for
from velospec.models.store import DRAFT

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

FILE = Path(__file__).parents[3] / "shared" / "models" / "smollm2-135m-draft-6l-q8_0.gguf"
LIMITS = Limits(max_tokens=48, ignore_end=True)


@pytest.fixture(scope="module")
def draft_model(default_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> InstalledModel:
    if not FILE.is_file():
        pytest.skip("the draft model's file does not lie beside this checkout")
    store = ModelStore(tmp_path_factory.mktemp("models"))
    install(str(default_model.path), store=store, name=default_model.name)
    draft = install(str(FILE), store=store)
    store.use(draft.name, DRAFT)
    assert draft_for(store.get(default_model.name), store) == draft
    return draft


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel, draft_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model, slots=2, drafting=Drafting(draft_model=draft_model))
    yield engine
    engine.close()


def test_asked_in_every_step_it_changes_no_id_and_saves_half_of_the_steps(engine: Engine) -> None:
    assert engine._second is not None
    backend = engine._backend
    decoder = Decoder(backend, [engine._second.proposer], eager_selector(backend.min_rows))
    steps = 0
    for prompt in PROMPTS[:3]:
        ids = backend.vocabulary.encode(prompt.text)
        plain = decoder.complete(Task("a", ids, LIMITS, speculate=False), CancelToken())
        drafted = decoder.complete(Task("b", ids, LIMITS), CancelToken())
        assert drafted.token_ids == plain.token_ids, prompt.name
        steps += drafted.statistics.steps
    engine._configure(engine.numerics)  # the slots were used behind its back
    assert steps <= 3 * LIMITS.max_tokens / 2


@pytest.mark.parametrize("prompt", PROMPTS[3:5], ids=lambda prompt: prompt.name)
def test_asked_where_it_pays_it_changes_no_id_either(engine: Engine, prompt: CodePrompt) -> None:
    drafted = engine.generate(TextRequest("notes", prompt.text, LIMITS), CancelToken())
    plain = engine.generate(TextRequest("notes", prompt.text, LIMITS, speculate=False), CancelToken())
    assert drafted.token_ids == plain.token_ids


def test_the_memory_of_both_models_counts(engine: Engine) -> None:
    assert engine._second is not None
    assert engine.memory_bytes == engine._backend.memory_bytes + engine._second.memory_bytes
    assert engine._second.memory_bytes > FILE.stat().st_size / 2
