"""A second real model of another family: exactness, rollback and every proposer hold on it too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.support.prompts import PROMPTS
from tests.support.second_model import second_model
from velospec import CancelToken, Completion, Engine, Limits, TextRequest
from velospec.backends.llama_cpp import LlamaBackend
from velospec.core.statistics import Statistics
from velospec.drafting import PROPOSERS, Control, Drafting

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

CHOSEN = PROMPTS[::3][:6]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Measured once per machine."""
    engine = Engine.open(second_model(), context=1300)
    if engine.profile is None:
        engine.measure()
    yield engine
    engine.close()


@pytest.fixture
def backend(engine: Engine) -> Iterator[LlamaBackend]:
    """The engine's own, with empty slots; the engine gets them back empty."""
    engine._configure(engine.numerics)
    yield engine._backend
    engine._configure(engine.numerics)


def complete(engine: Engine, prompt: str, tokens: int, *, speculate: bool) -> Completion:
    document = "drafted" if speculate else "plain"
    limits = Limits(max_tokens=tokens, ignore_end=True)
    return engine.generate(TextRequest(document, prompt, limits, speculate=speculate), CancelToken())


@pytest.fixture(scope="module")
def plain(engine: Engine) -> list[Completion]:
    """What the model writes after each of the chosen prompts without drafts."""
    return [complete(engine, prompt.text, 96, speculate=False) for prompt in CHOSEN]


def test_all_row_counts_agree_under_the_setting_that_the_probe_finds(engine: Engine) -> None:
    numerics = engine.numerics
    assert numerics.exact, numerics.reason
    assert numerics.min_rows == 1
    assert numerics.row_counts == tuple(range(1, 17))
    assert numerics.contexts == (40, 250, 505, 1100)  # on both sides of the window of 512
    assert engine.notice == ""


def test_drafts_change_nothing(
    engine: Engine, plain: list[Completion], record_property: pytest.RecordProperty
) -> None:
    total = Statistics()
    engine.use_drafting(Drafting())
    for prompt, expected in zip(CHOSEN, plain, strict=True):
        assert expected.statistics.steps == len(expected.token_ids) == 96
        drafted = complete(engine, prompt.text, 96, speculate=True)
        assert drafted.token_ids == expected.token_ids, prompt.name
        assert drafted.text == expected.text
        total += drafted.statistics
    record_property("tokens_per_step", total.tokens_per_step)
    record_property("acceptance_rate", total.acceptance_rate)
    assert len(CHOSEN) == 6
    assert total.accepted_tokens > 0
    assert total.drafted_tokens > total.accepted_tokens  # so that rows were taken back


@pytest.mark.parametrize("proposer", [name for name in PROPOSERS if name != "draft_model"])
def test_each_proposer_alone_changes_nothing(engine: Engine, plain: list[Completion], proposer: str) -> None:
    engine.use_drafting(Drafting(frozenset({proposer}), Control.FIXED, length=7))
    engine.use_corpus(prompt.text + known.text for prompt, known in zip(CHOSEN, plain, strict=True))
    drafted_tokens = 0
    for prompt, expected in zip(CHOSEN[:2], plain, strict=False):
        drafted = complete(engine, prompt.text, 64, speculate=True)
        assert drafted.token_ids == expected.token_ids[:64], prompt.name
        drafted_tokens += drafted.statistics.drafted_tokens
    assert drafted_tokens > 0
    engine.use_drafting(Drafting())
    engine.use_corpus([])


def test_rows_are_taken_back_without_a_trace_beyond_the_window(backend: LlamaBackend) -> None:
    ids: list[int] = np.random.default_rng(5).integers(1000, 200_000, 820).tolist()
    assert backend.can_rollback
    backend.prefill(0, ids[:800], 0)
    expected = backend.decode(0, ids[800:816], 800).copy()
    assert backend.truncate(0, 800) == 800
    backend.decode(0, [*ids[800:803], *[7] * 13], 800)
    assert backend.truncate(0, 803) == 803
    assert np.array_equal(backend.decode(0, ids[803:816], 803), expected[3:])
    assert backend.truncate(0, 150) == 150  # further back than the window reaches
    backend.prefill(0, ids[150:800], 150)
    assert np.array_equal(backend.decode(0, ids[800:816], 800), expected)


def test_a_prompt_that_changes_early_reads_the_rest_again(engine: Engine) -> None:
    text = "\n".join(prompt.text for prompt in PROMPTS)[:2400]
    changed = text[:1200] + "value = 3\n" + text[1200:]
    complete(engine, text, 8, speculate=True)
    again = complete(engine, changed, 48, speculate=True)
    assert 0 < again.statistics.reused_tokens < again.statistics.prompt_tokens
    engine._configure(engine.numerics)
    assert complete(engine, changed, 48, speculate=True).token_ids == again.token_ids


@pytest.mark.parametrize("text", ["", " ", "  x = 'é'\n", "\t\tif (a) {\n", "naïve 日本語 🙂", " lead"])
def test_encoding_is_undone_by_pieces_byte_for_byte(engine: Engine, text: str) -> None:
    vocabulary = engine._backend.vocabulary
    assert vocabulary.size == 262_144
    assert b"".join(map(vocabulary.piece, vocabulary.encode(text))) == text.encode()
