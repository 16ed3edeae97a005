"""The engine with the real default model: exact whatever is drafted, and prefixes that are read once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.prompts import PROMPTS
from velospec import (
    CancelToken,
    Completion,
    Engine,
    FinishReason,
    InfillRequest,
    InstalledModel,
    Limits,
    TextRequest,
)
from velospec.backends.llama_cpp import LlamaBackend
from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.core.draft import Draft
from velospec.core.errors import CancelledError
from velospec.core.statistics import Statistics
from velospec.decode.decoder import Decoder, Task
from velospec.profile import NAME
from velospec.proposers.suffix import SuffixProposer

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

PREFIX = '''"""Prices and taxes."""


def net_price(price: float, discount: float) -> float:
    """The price after a discount between 0 and 1."""
    return price * (1 - discount)


def gross_price(price: float, tax: float) -> float:
    """The price with a tax rate between 0 and 1."""
    '''
SUFFIX = """

def main() -> None:
    print(gross_price(net_price(100.0, 0.1), 0.19))


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    """Measured once per machine; the profile stays beside the model."""
    engine = Engine.open(default_model)
    if engine.profile is None:
        engine.measure()
    yield engine
    engine.close()


def infill(engine: Engine, prefix: str, *, document: str = "prices.py", speculate: bool = True) -> Completion:
    limits = Limits(max_tokens=24, max_lines=1)
    request = InfillRequest(document, prefix, SUFFIX, "prices.py", limits, speculate)
    return engine.infill(request, CancelToken())


def test_twenty_prompts_of_128_tokens_come_out_the_same_with_drafts(
    engine: Engine, record_property: pytest.RecordProperty
) -> None:
    assert engine.numerics.exact, engine.numerics.reason
    backend = engine._backend
    selector = Selector(Acceptance(), engine._cost, min_rows=backend.min_rows)
    decoder = Decoder(backend, [SuffixProposer()], selector)
    total = Statistics()
    for prompt in PROMPTS:
        ids = backend.vocabulary.encode(prompt.text)
        plain_task = Task("plain", ids, Limits(max_tokens=128, ignore_end=True), speculate=False)
        plain = decoder.complete(plain_task, CancelToken())
        drafted = decoder.complete(replace(plain_task, document="drafted", speculate=True), CancelToken())
        assert len(plain.token_ids) == plain.statistics.steps == 128
        assert drafted.token_ids == plain.token_ids, prompt.name
        assert drafted.text == plain.text
        total += drafted.statistics
    engine._configure(engine.numerics)  # the slots were used behind its back
    record_property("tokens_per_step", total.new_tokens / total.steps)
    record_property("acceptance_rate", total.acceptance_rate)
    assert len(PROMPTS) == 20
    assert total.new_tokens == 20 * 128
    assert total.new_tokens / total.steps > 1.3


def test_the_weights_are_read_when_the_model_is_loaded(
    default_model: InstalledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    decode = LlamaBackend.decode

    def counted(self: LlamaBackend, slot: int, ids: Sequence[int], position: int) -> object:
        decoded.append(len(ids))
        return decode(self, slot, ids, position)

    monkeypatch.setattr(LlamaBackend, "decode", counted)
    engine = Engine.open(default_model)
    assert decoded == [1]
    assert [engine._backend.length(slot) for slot in range(engine._backend.slots)] == [0, 0, 0, 0]
    engine.close()


def test_typing_reads_only_what_is_new(engine: Engine) -> None:
    typed = "total = price * (1 + tax)\n    return tot"
    infill(engine, PREFIX)
    for count in range(1, len(typed) + 1):
        statistics = infill(engine, PREFIX + typed[:count]).statistics
        # The one new token is pending, and healing takes back the token before it.
        assert statistics.prefilled_tokens <= 2, repr(typed[:count])
        assert statistics.reused_tokens + statistics.prefilled_tokens + 1 == statistics.prompt_tokens


def test_asking_again_reads_nothing(engine: Engine) -> None:
    first = infill(engine, PREFIX)
    again = infill(engine, PREFIX)
    assert again.statistics.prefilled_tokens == 0
    assert (again.text, again.token_ids) == (first.text, first.token_ids)


@pytest.mark.parametrize("typed", ["", "r", "ret", "return pri", "return price ", "return price * (1", "x"])
def test_infill_is_the_same_with_and_without_drafts_and_from_a_cold_slot(engine: Engine, typed: str) -> None:
    warm = infill(engine, PREFIX + typed)
    plain = infill(engine, PREFIX + typed, speculate=False)
    cold = infill(engine, PREFIX + typed, document=f"cold-{typed}")
    assert warm.token_ids == plain.token_ids == cold.token_ids
    assert warm.text == plain.text == cold.text
    assert plain.statistics.drafted_tokens == 0


def test_a_token_cut_by_the_cursor_is_completed_byte_by_byte(engine: Engine) -> None:
    whole = infill(engine, PREFIX)
    line = whole.text
    assert len(line) > 8
    for cut in range(1, 8):
        assert infill(engine, PREFIX + line[:cut]).text == line[cut:]


def test_streamed_parts_join_to_the_text(engine: Engine) -> None:
    parts: list[str] = []
    request = TextRequest("emoji", 'moods = ["😀", "😢", "😀", "😢", "', Limits(max_tokens=24))
    done = engine.generate(request, CancelToken(), parts.append)
    assert "".join(parts) == done.text
    assert len(parts) > 1
    assert "\ufffd" not in done.text


def test_control_tokens_in_a_text_prompt_count_only_when_asked(engine: Engine) -> None:
    text = "<issue_start>def add(a, b):\n    return"
    vocabulary = engine._backend.vocabulary
    as_text = engine.generate(TextRequest("a", text, Limits(max_tokens=1)), CancelToken())
    as_token = engine.generate(TextRequest("b", text, Limits(max_tokens=1), special=True), CancelToken())
    fewer = len(vocabulary.encode("<issue_start>")) - 1
    assert fewer > 0
    assert as_token.statistics.prompt_tokens == as_text.statistics.prompt_tokens - fewer


def after_first_prefill(engine: Engine, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Call `act` in the middle of the next prefill, once."""
    original, acted = engine._backend.prefill, threading.Event()

    def prefill(slot: int, ids: Sequence[int], position: int) -> None:
        if not acted.is_set():
            acted.set()
            act()
        original(slot, ids, position)

    monkeypatch.setattr(engine._backend, "prefill", prefill)


LONG = "\n".join(f"value_{number} = {number * number}" for number in range(60))


def test_cancel_from_another_thread_interrupts_the_prefill(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = CancelToken()
    after_first_prefill(engine, monkeypatch, threading.Thread(target=token.cancel).start)
    request = TextRequest("long", LONG, Limits(max_tokens=2))
    with pytest.raises(CancelledError):
        engine.generate(request, token)
    again = engine.generate(request, CancelToken()).statistics
    assert again.prompt_tokens > 400
    assert again.reused_tokens <= 64  # no chunk after the one that was being read


def test_a_deadline_passed_while_reading_keeps_what_was_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = CancelToken()
    after_first_prefill(engine, monkeypatch, lambda: setattr(token, "deadline", 0.0))
    request = TextRequest("late", LONG.replace("value", "other"), Limits(max_tokens=4))
    done = engine.generate(request, token)
    assert (done.text, done.finish) == ("", FinishReason.DEADLINE)
    read = done.statistics.prefilled_tokens
    assert 8 <= read <= 64  # one chunk; how long it is depends on how fast the machine reads
    again = engine.generate(request, CancelToken())
    assert again.statistics.reused_tokens == read
    assert again.statistics.new_tokens == 4


def test_the_profile_is_kept_and_belongs_to_its_conditions(
    engine: Engine, default_model: InstalledModel
) -> None:
    stored = json.loads((default_model.folder / NAME).read_text())
    assert engine.profile is not None
    assert stored["numerics"] == json.loads(json.dumps(engine.numerics.to_dict()))
    assert stored["conditions"]["model_sha256"] == default_model.sha256
    described = engine.describe()
    assert described["measured"] == engine.profile.cost.measured
    assert described["exact"]
    assert described["tokens_per_second"] > 0
    assert json.loads(json.dumps(described)) == described


def test_an_abandoned_measurement_leaves_the_engine_as_it_was(engine: Engine) -> None:
    before = infill(engine, PREFIX)
    profile = engine.profile

    class AbandonedError(Exception):
        pass

    def abandon(_fraction: float) -> None:
        raise AbandonedError

    with pytest.raises(AbandonedError):
        engine.measure(abandon)
    assert engine.profile is profile
    assert infill(engine, PREFIX).token_ids == before.token_ids


def test_what_was_learned_of_acceptance_is_kept_with_the_model(engine: Engine, tmp_path: Path) -> None:
    """In a folder of its own: the tests share the model's."""
    model = replace(engine.model, folder=tmp_path)
    (tmp_path / NAME).write_bytes((engine.model.folder / NAME).read_bytes())
    first = Engine.open(model)
    limits = Limits(max_tokens=16, ignore_end=True)
    request = InfillRequest("a.py", "def area(width, height):\n    ", "\n", "a.py", limits)
    first.infill(replace(request, workspace="/home/a"), CancelToken())
    learned = first._learned.of("/home/a").to_dict()
    assert learned
    assert first._learned.of("/home/b").to_dict() == {}
    first.close()
    assert "/home/a" not in (tmp_path / "acceptance.json").read_text("utf-8")

    again = Engine.open(model)
    assert again._learned.of("/home/a").to_dict() == learned
    again.close()
    fresh = Engine.open(model, remember=False)
    assert fresh._learned.of("/home/a").to_dict() == {}
    fresh.close()


def test_reopened_slots_go_on_with_what_was_learned(engine: Engine) -> None:
    draft = Draft((5,), "suffix", 1, 0.5)
    for _ in range(20):
        engine._learned.of().observe(draft, (5,))
    engine._configure(engine.numerics)
    assert engine._learned.of().chances(draft)[0] > 0.7
    request = TextRequest("reopened", "def area(width, height):", Limits(max_tokens=8))
    assert engine.generate(request, CancelToken()).statistics.new_tokens == 8
