"""The engine with a hybrid model: it speculates, decides as without drafts, and reuses prefixes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.hybrid_models import installed, write_mamba, write_qwen35
from tests.support.proposers import AlwaysWrong, Oracle, RandomIds, eager_selector
from velospec import CancelToken, Completion, Engine, Limits, TextRequest
from velospec.decode.decoder import Decoder, Task
from velospec.drafting import PROPOSERS, Control, Drafting
from velospec.proposers.base import Proposer

PROMPT = "class Node:\n    def __init__(self, value):\n        self.value = value\n\n    def read(self):\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    model = installed(write_qwen35(tmp_path_factory.mktemp("hybrid") / "hybrid.gguf"))
    engine = Engine.open(model, slots=2, context=512, threads=1)
    yield engine
    engine.close()


def complete(engine: Engine, prompt: str, *, document: str = "doc", speculate: bool = True) -> Completion:
    limits = Limits(max_tokens=60, ignore_end=True)
    return engine.generate(TextRequest(document, prompt, limits, speculate=speculate), CancelToken())


def test_a_hybrid_speculates_and_needs_no_notice(engine: Engine) -> None:
    assert engine.describe()["speculates"]
    assert engine.notice == ""


def test_drafts_of_any_quality_change_nothing(engine: Engine) -> None:
    backend = engine._backend
    size = backend.vocabulary.size
    prompt = backend.vocabulary.encode(PROMPT)
    limits = Limits(max_tokens=80, ignore_end=True)
    plain = Decoder(backend, [], eager_selector()).complete(Task("plain", prompt, limits), CancelToken())
    known = [*prompt, *plain.token_ids]
    suspects: list[Proposer] = [Oracle(known, size), AlwaysWrong(known, size), RandomIds(size, 5)]
    suspects += [Oracle(known, size, spoil=spoil, seed=seed) for spoil in (0.1, 0.3) for seed in range(3)]
    fewest = plain.statistics.steps
    for suspect in suspects:
        decoder = Decoder(backend, [suspect], eager_selector())
        drafted = decoder.complete(Task("plain", prompt, limits), CancelToken())
        assert drafted.token_ids == plain.token_ids
        assert drafted.statistics.drafted_tokens > 0
        fewest = min(fewest, drafted.statistics.steps)
    assert (plain.statistics.steps, fewest) == (80, 10)  # eight rows a batch
    engine._configure(engine.numerics)  # the slots were used behind its back


@pytest.mark.parametrize("proposer", [name for name in PROPOSERS if name != "draft_model"])
def test_each_proposer_alone_changes_nothing(engine: Engine, proposer: str) -> None:
    plain = complete(engine, PROMPT, document="plain", speculate=False)
    engine.use_drafting(Drafting(frozenset({proposer}), Control.FIXED, length=7))
    engine.use_corpus([PROMPT + plain.text])
    drafted = complete(engine, PROMPT)
    assert drafted.token_ids == plain.token_ids
    if proposer == "corpus":  # which knows the answer; the others find little in what random weights write
        assert drafted.statistics.accepted_tokens > 0
    engine.use_drafting(Drafting())
    engine.use_corpus([])


def test_typing_reads_little_again(engine: Engine) -> None:
    complete(engine, PROMPT)
    for typed in ("r", "re", "ret", "retu", "re", "return self"):
        again = complete(engine, PROMPT + typed)
        assert again.statistics.reused_tokens > 0
        fresh = complete(engine, PROMPT + typed, document=f"another {typed}", speculate=False)
        assert again.token_ids == fresh.token_ids


def test_a_model_that_cannot_roll_back_says_so_and_decodes_plainly(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    model = installed(write_mamba(tmp_path_factory.mktemp("recurrent") / "recurrent.gguf"))
    engine = Engine.open(model, slots=1, context=512, threads=1)
    assert "without speculation" in engine.notice
    assert not engine.describe()["speculates"]
    first = complete(engine, PROMPT)
    assert first.statistics.drafted_tokens == 0
    again = complete(engine, PROMPT)
    assert again.token_ids == first.token_ids
    assert again.statistics.reused_tokens == again.statistics.prompt_tokens - 1
    engine.close()
