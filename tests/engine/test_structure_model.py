"""Drafts by motif and by structure on the real model: right at times, and no part of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.support.following import draft_after
from tests.support.prompts import PROMPTS
from tests.support.proposers import FlatCost
from velospec import CancelToken, Engine, InstalledModel, Limits
from velospec.backends.base import Backend
from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.core.request import Completion
from velospec.core.statistics import Statistics
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.ast_shadow import AstShadow
from velospec.proposers.base import Proposer
from velospec.proposers.motif import MotifProposer
from velospec.proposers.syntax_rules.domains import detect

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

NAMES = {"python-account", "python-heap", "javascript-store", "rust-point", "c-string", "sql-schema"}
CHOSEN = [prompt for prompt in PROMPTS if prompt.name in NAMES]
TOKENS = 64


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model)
    if engine.profile is None:
        engine.measure()
    assert engine.numerics.exact, engine.numerics.reason
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def backend(engine: Engine) -> Backend:
    return engine._backend


@pytest.fixture(scope="module")
def plain(backend: Backend) -> list[Completion]:
    return answers(backend, [])


def answers(backend: Backend, proposers: list[Proposer]) -> list[Completion]:
    """With every draft scored in full: costs are flat."""
    decoder = Decoder(backend, proposers, Selector(Acceptance(), FlatCost()))
    done = []
    for prompt in CHOSEN:
        ids = backend.vocabulary.encode(prompt.text)
        task = Task(
            prompt.name, ids, Limits(max_tokens=TOKENS, ignore_end=True), language=detect("", prompt.text)
        )
        done.append(decoder.complete(task, CancelToken()))
    for slot in range(backend.slots):
        backend.truncate(slot, 0)
    return done


@pytest.mark.parametrize("kinds", [[MotifProposer], [AstShadow], [MotifProposer, AstShadow]])
def test_changes_nothing_and_spares_steps(
    backend: Backend,
    plain: list[Completion],
    kinds: list[type[MotifProposer | AstShadow]],
    record_property: pytest.RecordProperty,
) -> None:
    drafted = answers(backend, [kind(backend.vocabulary) for kind in kinds])
    assert [done.token_ids for done in drafted] == [done.token_ids for done in plain]
    assert [done.text for done in drafted] == [done.text for done in plain]
    total = sum((done.statistics for done in drafted), Statistics())
    record_property("tokens_per_step", total.new_tokens / total.steps)
    record_property("acceptance_rate", total.acceptance_rate)
    assert total.new_tokens == len(NAMES) * TOKENS
    assert total.new_tokens > 1.04 * total.steps
    assert total.accepted_tokens > 0.1 * total.drafted_tokens


def test_what_is_read_id_by_id_is_what_the_model_wrote(backend: Backend, plain: list[Completion]) -> None:
    for prompt, done in zip(CHOSEN, plain, strict=True):
        prompt_ids = backend.vocabulary.encode(prompt.text)
        for kind in (MotifProposer, AstShadow):
            told, whole = (kind(backend.vocabulary, language=detect("", prompt.text)) for _ in range(2))
            told.begin(prompt_ids)
            for start, end in pairwise(range(0, TOKENS + 1, 8)):
                told.extend(done.token_ids[start:end])
            whole.begin([*prompt_ids, *done.token_ids])
            assert told.propose(15) == whole.propose(15)


def test_an_engine_learns_the_motifs_of_its_corpus_and_forgets_them(engine: Engine) -> None:
    def drafted() -> str:
        engine._drafters.motif.use_language("python")
        return draft_after(
            engine._drafters.motif, engine._backend.vocabulary, "\nwhile walker:\n    walker ="
        )

    engine.use_corpus(["def root(item):\n    while item:\n        item = item.parent\n    return item\n"])
    assert drafted().startswith(" walker.parent\nreturn walker")
    engine.use_corpus([])
    assert drafted() == ""
