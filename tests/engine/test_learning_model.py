"""Drafts by repetition, from a corpus and by rules on the real model: used, and no part of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.prompts import PROMPTS
from tests.support.proposers import FlatCost
from velospec import CancelToken, Engine, InfillRequest, InstalledModel, Limits
from velospec.backends.base import Backend
from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.core.learning import Lesson
from velospec.core.request import Completion
from velospec.decode.decoder import Decoder, Task
from velospec.learning.library import RuleLibrary
from velospec.learning.workspace.chains import ChainIndex
from velospec.learning.workspace.library import Workspaces
from velospec.proposers.base import Proposer
from velospec.proposers.ngram_rules import NgramRules
from velospec.proposers.suffix import CorpusProposer, SuffixProposer

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

PYTHON = [prompt for prompt in PROMPTS if prompt.name.startswith("python")][:3]
TOKENS = 48


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model)
    if engine.profile is None:
        engine.measure()
    yield engine
    engine.close()


def answers(backend: Backend, proposer: Proposer | None) -> list[Completion]:
    """With every draft scored in full: costs are flat."""
    decoder = Decoder(backend, [proposer] if proposer else [], Selector(Acceptance(), FlatCost()))
    done = []
    for number, prompt in enumerate(PYTHON):
        ids = backend.vocabulary.encode(prompt.text)
        task = Task(str(number), ids, Limits(max_tokens=TOKENS, ignore_end=True), language="python")
        done.append(decoder.complete(task, CancelToken()))
    for slot in range(backend.slots):
        backend.truncate(slot, 0)
    return done


def test_each_proposer_is_right_at_times_and_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    assert engine.numerics.exact, engine.numerics.reason
    backend = engine._backend
    for slot in range(backend.slots):
        backend.truncate(slot, 0)
    plain = answers(backend, None)
    rules = RuleLibrary(backend.vocabulary, tmp_path, engine.model.sha256)
    texts = [[*backend.vocabulary.encode(PYTHON[0].text), *plain[0].token_ids]]
    for proposer in (SuffixProposer(), CorpusProposer(ChainIndex.of(texts)), NgramRules(rules.rules)):
        drafted = answers(backend, proposer)
        assert [done.token_ids for done in drafted] == [done.token_ids for done in plain]
        assert sum(done.statistics.accepted_tokens for done in drafted) > 0, proposer.name
    assert (tmp_path / "rules-python.msgpack").is_file()


def test_an_engine_drafts_from_the_corpus_it_was_given(default_model: InstalledModel) -> None:
    engine = Engine.open(default_model)
    prefix = "def net_price(price: float, discount: float) -> float:\n    "
    limits = Limits(max_tokens=24)

    def ask(document: str, *, speculate: bool = True) -> str:
        request = InfillRequest(document, prefix, "\n", "shop.py", limits, speculate)
        return engine.infill(request, CancelToken()).text

    def drafted() -> str:
        vocabulary = engine._backend.vocabulary
        engine._drafters.corpus.begin(vocabulary.encode("x = 1\n" + prefix.rstrip()))
        return b"".join(vocabulary.piece(token) for token in engine._drafters.corpus.propose(8).ids).decode()

    try:
        plain = ask("plain", speculate=False)
        assert len(plain) > 8
        engine.use_corpus(["import os\n", prefix + plain])
        assert ask("learned") == plain
        draft = drafted()
        assert len(draft) > len("\n    ")
        assert (prefix + plain).startswith(prefix.rstrip() + draft)
        engine.use_corpus(["import os\n"])
        assert ask("forgotten") == plain
        assert drafted() == ""
    finally:
        engine.close()


def test_the_first_completion_after_a_restart_is_drafted_as_well_as_the_last_before(
    default_model: InstalledModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Steps are compared: what this machine took for a batch must not decide how long a draft is.
    monkeypatch.setattr("velospec.engine.policy_of", lambda _, learned, *__: Selector(learned, FlatCost()))
    prefix = "def net_price(price: float, discount: float) -> float:\n    "
    limits = Limits(max_tokens=32, ignore_end=True)

    def steps(spaces: Workspaces, *, lesson: str = "") -> tuple[str, int]:
        engine = Engine.open(default_model, remember=False, workspaces=spaces)
        if lesson:
            spaces.of("/w").learn(Lesson("/w", "other.py", 1, lesson, path="other.py"))
            while engine.study():
                pass
        request = InfillRequest("shop.py", prefix, "\n", "shop.py", limits, workspace="/w")
        try:
            done = engine.infill(request, CancelToken())
        finally:
            engine.close()
        spaces.flush()
        return done.text, done.statistics.steps

    text, alone = steps(Workspaces())
    learned = steps(Workspaces(tmp_path), lesson=prefix + text + "\n")
    assert learned == steps(Workspaces(tmp_path))
    assert learned[0] == text
    assert learned[1] < alone
