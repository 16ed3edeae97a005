"""What a request sees of the decoder: reuse, cancelling, deadlines, streaming, limits, healing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.support.proposers import Oracle, eager_selector
from velospec.backends.base import Logits
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, hash_rule, script_rule
from velospec.core.cancellation import CancelToken
from velospec.core.errors import BackendError, CancelledError, ContextError
from velospec.core.request import Completion, FinishReason, Limits
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.base import Proposer
from velospec.proposers.suffix import SuffixProposer

VOCABULARY = ScriptedVocabulary([b"foo", b"foobar", b"o(", b" = ", b"\xf0\x9f", b"\x98\x80 "])


def repeating(seed: int = 5, **options: int) -> ScriptedBackend:
    """A model that writes small letters only, for ever."""
    rule = hash_rule(VOCABULARY, seed=seed, order=1, likely=range(97, 123))
    return ScriptedBackend(rule, VOCABULARY, **options)


def writing(text: str, prompt: Sequence[int], **options: int) -> ScriptedBackend:
    script = VOCABULARY.encode(text, special=True)
    return ScriptedBackend(script_rule(VOCABULARY, script, after=len(prompt)), VOCABULARY, **options)


def decoder_for(backend: ScriptedBackend, *proposers: Proposer, chunk: int = 64) -> Decoder:
    return Decoder(backend, proposers or [SuffixProposer()], eager_selector(), prefill_chunk=chunk)


def complete(decoder: Decoder, ids: Sequence[int], **limits: int) -> Completion:
    return decoder.complete(Task("doc", ids, Limits(**limits)), CancelToken())


def test_typing_on_prefills_only_what_is_new() -> None:
    backend = repeating()
    decoder = decoder_for(backend)
    prompt = VOCABULARY.encode("def main():\n    print")
    complete(decoder, prompt, max_tokens=5)
    for new in (1, 1, 2, 7):
        before = backend.prefilled
        prompt = [*prompt, *range(40, 40 + new)]
        done = complete(decoder, prompt, max_tokens=5)
        # The last prompt id is pending, not prefilled; the one of the request before is in the cache.
        assert backend.prefilled - before == new - 1 == done.statistics.prefilled_tokens
        assert done.statistics.reused_tokens == len(prompt) - new
        assert done.statistics.prompt_tokens == len(prompt)


def test_typing_what_was_proposed_prefills_nothing() -> None:
    backend = repeating()
    decoder = decoder_for(backend)
    prompt = VOCABULARY.encode("def main():\n    print")
    first = complete(decoder, prompt, max_tokens=8)
    before = backend.prefilled
    done = complete(decoder, [*prompt, *first.token_ids[:4]], max_tokens=8)
    assert backend.prefilled == before
    assert done.statistics.prefilled_tokens == 0
    assert done.token_ids[:4] == first.token_ids[4:]


class CancellingOracle(Oracle):
    """Cancels the request while the second step is prepared."""

    token: CancelToken

    def draft(self, limit: int) -> Sequence[int]:
        if len(self.verdicts) == 1:
            self.token.cancel()
        return super().draft(min(limit, 3))


def test_cancel_ends_within_the_step_and_the_slot_stays_usable() -> None:
    backend = repeating()
    prompt = VOCABULARY.encode("let x")
    plain = complete(decoder_for(repeating()), prompt, max_tokens=30)
    proposer = CancellingOracle([*prompt, *plain.token_ids], VOCABULARY.size)
    proposer.token = CancelToken()
    decoder = decoder_for(backend, proposer)
    with pytest.raises(CancelledError):
        decoder.complete(Task("doc", prompt, Limits(max_tokens=30)), proposer.token)
    assert sum(call.kind == "decode" for call in backend.calls) == 2
    before = backend.prefilled
    assert complete(decoder, prompt, max_tokens=30).token_ids == plain.token_ids
    assert backend.prefilled == before


def test_cancel_between_prefill_chunks_keeps_what_was_read() -> None:
    backend = repeating()
    token = CancelToken()
    prompt = list(range(50))
    original = backend.prefill

    def prefill(slot: int, ids: Sequence[int], position: int) -> None:
        original(slot, ids, position)
        if position == 10:
            token.cancel()

    backend.prefill = prefill  # type: ignore[method-assign]  # a stand-in
    decoder = decoder_for(backend, chunk=10)
    with pytest.raises(CancelledError):
        decoder.complete(Task("doc", prompt), token)
    assert backend.prefilled == 20
    assert complete(decoder, prompt, max_tokens=1).statistics.reused_tokens == 20


def test_cancelled_before_the_start_decodes_nothing() -> None:
    backend = repeating()
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        decoder_for(backend).complete(Task("doc", [1, 2]), token)
    assert backend.calls == []


def test_deadline_returns_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    backend = repeating()
    original = backend.decode

    def decode(slot: int, ids: Sequence[int], position: int) -> Logits:
        clock[0] += 0.02
        return original(slot, ids, position)

    backend.decode = decode  # type: ignore[method-assign]  # a stand-in
    task = Task("doc", [1, 2, 3], Limits(max_tokens=50, budget_ms=90), speculate=False)
    done = decoder_for(backend).complete(task, CancelToken())
    assert done.finish is FinishReason.DEADLINE
    assert len(done.token_ids) == done.statistics.steps == 5
    whole = complete(decoder_for(repeating()), [1, 2, 3], max_tokens=50)
    assert done.token_ids == whole.token_ids[:5]


def test_deadline_of_the_token_passed_during_prefill() -> None:
    backend = repeating()
    done = decoder_for(backend).complete(Task("doc", [1, 2, 3]), CancelToken(deadline=time.monotonic() - 1))
    assert (done.text, done.token_ids, done.finish) == ("", (), FinishReason.DEADLINE)
    assert backend.calls == []


def test_characters_split_over_tokens_are_streamed_whole() -> None:
    prompt = VOCABULARY.encode("x")
    parts: list[str] = []
    decoder = decoder_for(writing("é = 😀 漢", prompt))
    done = decoder.complete(Task("doc", prompt), CancelToken(), parts.append)
    assert done.text == "é = 😀 漢"
    assert parts == ["é", " = ", "😀 ", "漢"]
    assert done.finish is FinishReason.END


def test_a_character_cut_off_by_the_limit_is_not_kept() -> None:
    prompt = VOCABULARY.encode("x")
    backend = writing("ab😀 ", prompt)
    done = complete(decoder_for(backend), prompt, max_tokens=3)
    assert (done.text, done.finish) == ("ab", FinishReason.LENGTH)
    assert done.token_ids == tuple(b"ab")
    assert backend.kv[0] == [*prompt, *b"ab"]


def test_end_token_inside_an_accepted_draft() -> None:
    prompt = VOCABULARY.encode("x")
    answer = VOCABULARY.encode("abcdef<end>", special=True)
    backend = writing("abcdef<end>", prompt)
    oracle = Oracle([*prompt, *answer, *b"junk"], VOCABULARY.size)
    done = complete(decoder_for(backend, oracle), prompt)
    assert (done.text, done.finish) == ("abcdef", FinishReason.END)
    assert done.statistics.steps == 1
    # No row was spent on the end token or on what stood behind it.
    assert [len(call.ids) for call in backend.calls if call.kind == "decode"] == [7]
    assert done.statistics.new_tokens == 7


def test_control_token_is_never_chosen() -> None:
    prompt = VOCABULARY.encode("x")
    script = [VOCABULARY.control, *b"ab"]
    backend = ScriptedBackend(script_rule(VOCABULARY, script, after=1), VOCABULARY)
    done = complete(decoder_for(backend), prompt, max_tokens=3)
    assert done.token_ids[1:] == tuple(b"ab")
    assert done.token_ids[0] == 0  # the lowest of all others, which are equal


def test_stop_string_across_an_accepted_chunk_cuts_text_and_cache() -> None:
    prompt = VOCABULARY.encode("x")
    backend = writing("foo = 1;\n\nbar", prompt)
    answer = VOCABULARY.encode("foo = 1;\n\nbar")
    parts: list[str] = []
    task = Task("doc", prompt, Limits(stop=(";\n\nb",)))
    decoder = decoder_for(backend, Oracle([*prompt, *answer], VOCABULARY.size))
    done = decoder.complete(task, CancelToken(), parts.append)
    assert (done.text, done.finish) == ("foo = 1", FinishReason.STOP)
    assert "".join(parts) == "foo = 1"
    kept = VOCABULARY.encode("foo = 1")
    assert done.token_ids == tuple(kept)
    assert backend.kv[0] == [*prompt, *kept]


def test_healed_bytes_are_spelled_out_and_not_shown() -> None:
    prompt = VOCABULARY.encode("x = ")
    backend = writing("foobar", prompt)
    parts: list[str] = []
    task = Task("doc", prompt, Limits(max_tokens=1), heal=b"fo")
    done = decoder_for(backend).complete(task, CancelToken(), parts.append)
    assert done.text == "obar"
    assert parts == ["obar"]
    assert done.token_ids == tuple(VOCABULARY.encode("foobar"))


def test_healing_overrules_a_model_that_wants_something_else() -> None:
    prompt = VOCABULARY.encode("x = ")
    done = decoder_for(writing("zzz", prompt)).complete(
        Task("doc", prompt, Limits(max_tokens=4), heal=b"qr"), CancelToken()
    )
    assert done.token_ids[:2] == tuple(b"qr")
    assert done.text == "z"  # the script goes on where it is


def test_stop_string_in_the_healed_bytes_does_not_count() -> None:
    prompt = VOCABULARY.encode("x")
    task = Task("doc", prompt, Limits(max_tokens=3, stop=("fo",)), heal=b"fo")
    done = decoder_for(writing("foo", prompt)).complete(task, CancelToken())
    assert done.text == "o"
    assert done.finish is FinishReason.END


def test_full_context_ends_with_length() -> None:
    backend = repeating(context=20)
    done = complete(decoder_for(backend), list(range(1, 16)), max_tokens=100)
    assert done.finish is FinishReason.LENGTH
    assert len(done.token_ids) == 6  # five are scored, the last needs no position


@pytest.mark.parametrize("ids", [[], list(range(21))])
def test_a_prompt_that_cannot_be_served_is_refused(ids: list[int]) -> None:
    backend = repeating(context=20)
    with pytest.raises(ContextError):
        complete(decoder_for(backend), ids)
    assert backend.calls == []


def test_no_tokens_wanted() -> None:
    backend = repeating()
    decoder = decoder_for(backend)
    done = complete(decoder, [1, 2, 3], max_tokens=0)
    assert (done.text, done.token_ids, done.finish) == ("", (), FinishReason.LENGTH)
    assert (done.statistics.steps, backend.prefilled) == (0, 2)
    assert complete(decoder, [1, 2, 3], max_tokens=1).statistics.reused_tokens == 2


def test_time_for_whole_lines_ends_with_those_there_are() -> None:
    prompt = VOCABULARY.encode("go")
    text = "one\n two\n thr"
    known = VOCABULARY.encode("one\n two\n t")
    shown: list[str] = []

    def ask(*proposers: Proposer) -> Completion:
        task = Task("doc", prompt, Limits(max_tokens=30, lines_ms=0))
        shown.clear()
        return decoder_for(writing(text, prompt), *proposers).complete(task, CancelToken(), shown.append)

    alone = ask()
    assert (alone.text, alone.finish, "".join(shown)) == ("one", FinishReason.PAUSE, "one")
    drafted = ask(Oracle([*prompt, *known], VOCABULARY.size))  # nearly all of it in one step
    assert (drafted.text, drafted.finish, "".join(shown)) == ("one\n two", FinishReason.PAUSE, "one\n two")


def test_how_likely_each_id_was_is_told_for_the_ids_that_are_kept() -> None:
    prompt = VOCABULARY.encode("abcabcab")
    asked = Task("doc", prompt, Limits(max_tokens=12, stop=("zz",)), log_probs=True)
    done = decoder_for(repeating()).complete(asked, CancelToken())
    alone = decoder_for(repeating()).complete(replace(asked, speculate=False), CancelToken())
    assert len(done.log_probs) == len(done.token_ids) == 12
    assert done.log_probs == alone.log_probs
    assert all(value <= 0 for value in done.log_probs)
    backend = repeating()
    slot = decoder_for(backend).slots.acquire("doc", prompt)
    slot.prefill(prompt[:-1])
    row = slot.decode((prompt[-1],))[0].astype(float)
    expected = row[done.token_ids[0]] - np.log(np.exp(row).sum())
    assert done.log_probs[0] == pytest.approx(expected, abs=1e-5)
    assert complete(decoder_for(repeating()), prompt, max_tokens=2).log_probs == ()


def test_where_each_id_ends_in_the_text_is_told_and_how_likely_the_end_was() -> None:
    prompt = VOCABULARY.encode("abcabcab")
    decoder = decoder_for(repeating())
    whole = decoder.complete(Task("doc", prompt, Limits(max_tokens=12), log_probs=True), CancelToken())
    pieces = [VOCABULARY.piece(token).decode() for token in whole.token_ids]
    assert whole.ends == tuple(len("".join(pieces[: count + 1])) for count in range(len(pieces)))
    assert whole.end_log_prob == 0.0  # nothing was decided behind the limit
    stop = whole.text[4:6]
    asked = Task("doc", prompt, Limits(max_tokens=12, stop=(stop,)), log_probs=True)
    stopped = decoder.complete(asked, CancelToken())
    kept = len(stopped.token_ids)
    assert kept < 12
    assert stopped.ends == whole.ends[:kept]
    assert stopped.end_log_prob == whole.log_probs[kept]
    assert complete(decoder, prompt, max_tokens=2).ends == ()


def test_without_rollback_nothing_is_drafted() -> None:
    backend = repeating()
    decoder = Decoder(backend, [SuffixProposer()], eager_selector(), rollback=False)
    prompt = [7, 8, 9, 7, 8, 9, 7, 8]
    task = Task("doc", prompt, Limits(max_tokens=20))
    done = decoder.complete(task, CancelToken())
    assert done.statistics.drafted_tokens == 0
    assert done.token_ids == complete(decoder_for(repeating()), prompt, max_tokens=20).token_ids


def test_a_failed_decode_leaves_a_slot_that_can_be_used() -> None:
    backend = repeating()
    decoder = decoder_for(backend)
    original = backend.decode

    def fail(_slot: int, _ids: Sequence[int], _position: int) -> Logits:
        raise BackendError("failed")

    backend.decode = fail  # type: ignore[method-assign]  # a stand-in
    with pytest.raises(BackendError):
        complete(decoder, [1, 2, 3])
    backend.decode = original  # type: ignore[method-assign]  # a stand-in
    again = complete(decoder, [1, 2, 3], max_tokens=9)
    assert again.statistics.reused_tokens == 2
    assert again.token_ids == complete(decoder_for(repeating()), [1, 2, 3], max_tokens=9).token_ids


def test_statistics_add_up() -> None:
    backend = repeating()
    done = complete(decoder_for(backend), VOCABULARY.encode("abcabcabc"), max_tokens=40)
    statistics = done.statistics
    assert statistics.new_tokens == 40
    assert statistics.accepted_tokens > 0
    assert statistics.accepted_tokens == sum(statistics.accepted_at)
    assert statistics.drafted_tokens == sum(statistics.drafted_at)
    assert statistics.steps == sum(call.kind == "decode" for call in backend.calls)
    rows = sum(len(call.ids) for call in backend.calls if call.kind == "decode")
    assert rows == statistics.steps + statistics.drafted_tokens
    assert statistics.steps + statistics.accepted_tokens == 40
    assert statistics.first_token_seconds > 0
    assert statistics.prefill_seconds >= 0 < statistics.decode_seconds
