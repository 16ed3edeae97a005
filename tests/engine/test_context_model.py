"""Pieces of other files with the real model: read once, however much is typed or added behind them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from velospec import CancelToken, Chunk, Completion, Engine, InfillRequest, InstalledModel, Limits

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

PREFIX = (
    "".join(f"VALUE_{n} = compute({n}, scale={n % 7})\n" for n in range(24)) + "\n\n"
)  # within the window
SUFFIX = "\n\n\ndef main() -> None:\n    print(gross_price(net_price(100.0, 0.1), 0.19))\n"
TYPED = "def net_price(price, tax):\n    return price"
PIECES = tuple(
    Chunk(f"shop/{name}.py", f"def {name}(price, count):\n    return price * count + {n}\n" * 2)
    for n, name in enumerate(("order", "offer", "invoice"))
)


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model, slots=1, context=2048, remember=False)
    yield engine
    engine.close()


def ask(engine: Engine, typed: str, pieces: tuple[Chunk, ...], *, tokens: int = 1) -> Completion:
    return engine.infill(
        InfillRequest("d", PREFIX + typed, SUFFIX, "m.py", Limits(max_tokens=tokens), context=pieces),
        CancelToken(),
    )


def test_typing_reads_what_was_typed_and_nothing_else(engine: Engine) -> None:
    ask(engine, "", PIECES)
    read = []
    for length in range(1, len(TYPED)):
        counts = ask(engine, TYPED[:length], PIECES).statistics
        read.append(counts.prompt_tokens - counts.reused_tokens)
        assert counts.prompt_tokens > 400
    assert max(read) <= 5  # a word that became another one, and the last id, which is always decoded
    assert sum(read) <= 2 * len(read)


def test_a_new_piece_leaves_those_before_it(engine: Engine) -> None:
    ask(engine, TYPED, PIECES[:2])
    counts = ask(engine, TYPED, PIECES).statistics
    in_front = len(engine.prompt_ids(InfillRequest("d", PREFIX, SUFFIX, "m.py", context=PIECES[:2])))
    alone = len(engine.prompt_ids(InfillRequest("d", PREFIX, SUFFIX, "m.py")))
    assert counts.reused_tokens >= in_front - alone


def test_going_elsewhere_in_the_file_leaves_the_pieces(engine: Engine) -> None:
    ask(engine, TYPED, PIECES)
    there = InfillRequest("d", PREFIX[:400], PREFIX[400:], "m.py", Limits(max_tokens=1), context=PIECES)
    counts = engine.infill(there, CancelToken()).statistics
    bare = len(engine.prompt_ids(InfillRequest("d", PREFIX[:400], PREFIX[400:], "m.py")))
    assert counts.reused_tokens >= counts.prompt_tokens - bare > 100


def test_a_prompt_that_was_only_read_is_that_of_the_request_to_come(engine: Engine) -> None:
    ask(engine, "", ())
    read = ask(engine, TYPED, PIECES, tokens=0).statistics
    counts = ask(engine, TYPED, PIECES).statistics
    assert read.prompt_tokens == counts.prompt_tokens
    assert counts.prompt_tokens - counts.reused_tokens <= 1
