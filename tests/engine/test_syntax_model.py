"""The proposer of syntax alone on the real model: the output stays the same, and some of it was drafted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.prompts import PROMPTS
from tests.support.proposers import FlatCost
from velospec import CancelToken, Engine, Limits
from velospec.backends.llama_cpp import open_vocabulary
from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.core.request import InfillRequest
from velospec.decode.decoder import Decoder, Task
from velospec.models.store import InstalledModel
from velospec.proposers.syntax_fsm import SyntaxFsm

pytestmark = pytest.mark.model

CHOSEN = ("python-account", "python-heap", "typescript-shapes", "go-stack", "sql-schema", "html-form")
LANGUAGES = {"python": "python", "typescript": "typescript", "go": "go", "sql": "sql", "html": "html"}


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model, slots=1, context=1024)
    if engine.profile is None:
        engine.measure()
    yield engine
    engine.close()


@pytest.mark.parametrize("name", CHOSEN)
def test_alone_it_changes_no_output_and_is_accepted(engine: Engine, name: str) -> None:
    if not engine.numerics.exact:
        pytest.skip(f"no exact mode here: {engine.numerics.reason}")
    backend = engine._backend
    prompt = next(prompt.text for prompt in PROMPTS if prompt.name == name)
    ids = backend.vocabulary.encode(prompt)
    selector = Selector(
        Acceptance(), FlatCost(), min_rows=backend.min_rows
    )  # takes all drafts, long or short
    decoder = Decoder(backend, [SyntaxFsm(backend.vocabulary)], selector)
    backend.truncate(0, 0)
    language = LANGUAGES[name.partition("-")[0]]
    done = [
        decoder.complete(
            Task("d", ids, Limits(max_tokens=64), speculate=speculate, language=language), CancelToken()
        )
        for speculate in (False, True)
    ]
    assert done[1].token_ids == done[0].token_ids
    assert done[1].statistics.accepted_tokens >= 3


def test_an_indentation_is_drafted_in_the_tokens_of_the_model(default_model: InstalledModel) -> None:
    vocabulary = open_vocabulary(default_model.path)
    fsm = SyntaxFsm(vocabulary, language="python")
    fsm.begin(vocabulary.encode("class A:\n    def f(self, x):\n        while True"))
    pieces = [vocabulary.piece(token) for token in fsm.propose(8).ids]
    assert pieces == [b":", b"\n           "]  # the last space belongs to the word behind it
    vocabulary.close()


def test_the_engine_tells_the_language_of_a_file(default_model: InstalledModel) -> None:
    engine = Engine.open(default_model, slots=1, context=512)
    told: list[str] = []
    proposers = engine._decoder._loop._proposers
    fsm = proposers["syntax_fsm"]
    assert isinstance(fsm, SyntaxFsm)

    def listen(name: str) -> None:
        told.append(name)

    fsm.use_language = listen  # type: ignore[method-assign]  # listens in
    for path in ("a.go", "a.rs", ""):
        engine.infill(
            InfillRequest("d", "SELECT * FROM people", ";\n", path, Limits(max_tokens=2)), CancelToken()
        )
    assert told == ["go", "rust", "sql"]
    engine.close()
