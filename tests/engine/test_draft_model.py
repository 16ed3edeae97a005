"""The draft model on the scripted backend: what it drafts, what it reads for that, and when it is asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.proposers import FlatCost, eager_selector
from velospec.backends.base import Logits
from velospec.backends.scripted import Rule, ScriptedBackend, ScriptedVocabulary, hash_rule
from velospec.control.acceptance import Acceptance
from velospec.control.costly import Worth
from velospec.core.cancellation import CancelToken
from velospec.core.draft import EMPTY
from velospec.core.errors import BackendError, SettingsError
from velospec.core.request import Completion, Limits
from velospec.decode.consulted import Consulted
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.base import Proposer
from velospec.proposers.draft_model import DraftModel, require_same_tokens
from velospec.proposers.suffix import SuffixProposer

VOCABULARY = ScriptedVocabulary((b"ab", b"abc", b"\n"))
PROMPT = tuple(b"some text to go on from: ")
SURE = 20.0  # a logit so far above the others that its id has all the probability


def sure(rule: Rule) -> Rule:
    """The same choices, each with nearly all of the probability."""

    def logits(ids: tuple[int, ...]) -> Logits:
        values = rule(ids).copy()
        values[int(np.argmax(values))] += SURE
        return values

    return logits


def agreeing(rule: Rule, share: float) -> Rule:
    """A draft model that chooses as the target does after `share` of all texts, and else something else."""

    def logits(ids: tuple[int, ...]) -> Logits:
        values = rule(ids).copy()
        same = np.random.default_rng((11, *ids[-4:])).random() < share
        best = int(np.argmax(values))
        values[best if same else (best + 1) % 200] += SURE
        return values

    return logits


TARGET = hash_rule(VOCABULARY, seed=5, order=3)


def backend(rule: Rule, context: int = 400) -> ScriptedBackend:
    return ScriptedBackend(rule, VOCABULARY, context=context)


def continuation(rule: Rule, ids: Sequence[int], count: int) -> tuple[int, ...]:
    text = list(ids)
    for _ in range(count):
        text.append(int(np.argmax(rule(tuple(text)))))
    return tuple(text[len(ids) :])


def test_it_drafts_what_the_draft_model_would_write() -> None:
    proposer = DraftModel(backend(sure(TARGET)), VOCABULARY.size)
    proposer.begin(PROMPT)
    draft = proposer.propose(6)
    assert draft.ids == continuation(TARGET, PROMPT, 6)
    assert draft.proposer == "draft_model"
    assert draft.prior == pytest.approx(0.9, abs=0.01)


def test_it_reads_each_decided_id_once_and_nothing_before_it_is_asked() -> None:
    drafting = backend(sure(TARGET))
    proposer = DraftModel(drafting, VOCABULARY.size)
    drafting.calls.clear()
    proposer.begin(PROMPT)
    proposer.extend([1, 2, 3])
    assert drafting.calls == []
    first = proposer.propose(4)
    assert read(drafting) == [*PROMPT, 1, 2, 3, *first.ids[:3]]
    drafting.calls.clear()
    proposer.extend([*first.ids, 9])  # all accepted: the last drafted id and the bonus are new
    second = proposer.propose(3)
    assert [call.ids for call in drafting.calls] == [
        (first.ids[3], 9),
        *((token,) for token in second.ids[:2]),
    ]
    drafting.calls.clear()
    proposer.extend([second.ids[0], 7])  # the second id was wrong
    third = proposer.propose(2)
    assert [(call.kind, call.ids) for call in drafting.calls] == [
        ("truncate", ()),
        ("decode", (7,)),
        ("decode", third.ids[:1]),
    ]


def test_a_busy_moment_while_it_is_timed_does_not_make_it_dear() -> None:
    clock = iter([0.0, 9.0, 9.0, 18.0] + [0.0, 1.0, 1.0, 4.5] * 4)  # before and after each call
    price = DraftModel(backend(TARGET), VOCABULARY.size, clock=lambda: next(clock)).price()
    assert (price.first, price.following, price.unread) == (pytest.approx(1.0 + 2.5 / 7), 1.0, 0.0)


def read(drafting: ScriptedBackend) -> list[int]:
    return [token for call in drafting.calls if call.kind != "truncate" for token in call.ids]


def test_another_request_keeps_what_the_prompts_have_in_common() -> None:
    drafting = backend(sure(TARGET))
    proposer = DraftModel(drafting, VOCABULARY.size)
    proposer.begin(PROMPT)
    proposer.propose(4)
    drafting.calls.clear()
    proposer.begin((*PROMPT[:20], 1, 2))
    proposer.propose(1)
    assert read(drafting) == [1, 2]


def test_a_long_text_is_read_in_parts_and_drafted_from_in_the_end() -> None:
    drafting = backend(sure(TARGET))
    proposer = DraftModel(drafting, VOCABULARY.size)
    drafting.calls.clear()
    text = [token % 250 for token in range(150)]
    proposer.begin(text)
    unread = proposer.price().unread
    lengths = []
    while not (draft := proposer.propose(2)):
        lengths.append(len(read(drafting)))
        assert proposer.price().unread < unread or unread == 0
    assert lengths == [64, 128]
    assert draft.ids == continuation(TARGET, text, 2)


def test_it_stops_where_it_is_no_longer_sure_itself() -> None:
    def logits(ids: tuple[int, ...]) -> Logits:
        values = np.zeros(VOCABULARY.size, dtype=np.float32)
        values[len(ids)] = SURE if len(ids) < len(PROMPT) + 2 else 1.0
        return values

    proposer = DraftModel(backend(logits), VOCABULARY.size)
    proposer.begin(PROMPT)
    assert proposer.propose(8).ids == (len(PROMPT), len(PROMPT) + 1)
    proposer.extend([1, 1])
    unsure = proposer.propose(8)
    assert len(unsure) == 1  # the first id is for the selector to judge, by its evidence
    assert unsure.prior < 0.05
    assert unsure.evidence == 0


def test_an_end_token_and_an_id_that_the_target_lacks_are_not_drafted() -> None:
    for token, size in ((VOCABULARY.end, VOCABULARY.size), (VOCABULARY.control, VOCABULARY.size), (258, 258)):

        def logits(ids: tuple[int, ...], token: int = token) -> Logits:
            values = np.zeros(VOCABULARY.size, dtype=np.float32)
            values[token if len(ids) > len(PROMPT) else 7] = SURE
            return values

        proposer = DraftModel(backend(logits), size)
        proposer.begin(PROMPT)
        assert proposer.propose(8).ids == (7,)
        proposer.extend([7])
        assert proposer.propose(8) == EMPTY


def test_it_drafts_up_to_the_end_of_its_own_context() -> None:
    proposer = DraftModel(backend(sure(TARGET), context=len(PROMPT) + 2), VOCABULARY.size)
    proposer.begin(PROMPT)
    assert len(proposer.propose(8)) == 3  # the last id needs no position
    proposer.extend([1, 1, 1])
    assert proposer.propose(8) == EMPTY


def test_a_backend_that_fails_ends_the_drafts_and_not_the_request(caplog: pytest.LogCaptureFixture) -> None:
    drafting = backend(sure(TARGET))
    proposer = DraftModel(drafting, VOCABULARY.size)
    drafting.kv[0].append(1)  # the record of the slot is wrong from here on
    proposer.begin(PROMPT)
    assert proposer.propose(4) == EMPTY
    assert "not used any more" in caplog.text
    with pytest.raises(BackendError):
        DraftModel(drafting, VOCABULARY.size)


def test_only_a_model_with_the_same_tokenizer_may_draft() -> None:
    require_same_tokens(VOCABULARY, VOCABULARY, "small")
    other = ScriptedVocabulary((b"ab", b"ABC", b"\n"))
    with pytest.raises(SettingsError, match=r"small cannot draft .* token 257 is 'ABC' there and 'abc' here"):
        require_same_tokens(other, VOCABULARY, "small")
    longer = ScriptedVocabulary((b"ab", b"abc", b"\n", b"x", b"yy", b"z"))
    with pytest.raises(SettingsError, match=r"token 261 is missing there and 'z' here"):
        require_same_tokens(VOCABULARY, longer, "small")


def test_padding_makes_no_other_tokenizer() -> None:
    padded = ScriptedVocabulary((b"ab", b"abc", b"\n"))
    padded.size += 7
    padded.control_ids |= frozenset(range(VOCABULARY.size, padded.size))
    require_same_tokens(padded, VOCABULARY, "small")
    require_same_tokens(VOCABULARY, padded, "small")


prompts = st.lists(st.integers(0, 255), min_size=1, max_size=90).map(tuple)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), prompt=prompts, share=st.floats(0, 1), min_rows=st.sampled_from([1, 2]))
def test_any_draft_model_gives_the_outcome_of_none(
    seed: int, prompt: tuple[int, ...], share: float, min_rows: int
) -> None:
    rule = hash_rule(VOCABULARY, seed=seed, order=2, likely=(256, 257, 258, VOCABULARY.end))
    plain = complete(rule, prompt, min_rows)
    for context in (200, len(prompt) + 10):
        draft_model = DraftModel(backend(agreeing(rule, share), context), VOCABULARY.size)
        for proposers in ([draft_model], [SuffixProposer(), Consulted(draft_model, worth(FlatCost()))]):
            drafted = complete(rule, prompt, min_rows, *proposers)
            assert (drafted.text, drafted.token_ids, drafted.finish) == (
                plain.text,
                plain.token_ids,
                plain.finish,
            )


def complete(rule: Rule, prompt: Sequence[int], min_rows: int, *proposers: Proposer) -> Completion:
    target = ScriptedBackend(rule, VOCABULARY, context=200, min_rows=min_rows)
    decoder = Decoder(target, proposers, eager_selector(min_rows))
    task = Task("doc", prompt, Limits(max_tokens=40), speculate=bool(proposers))
    return decoder.complete(task, CancelToken())


def worth(cost: FlatCost) -> Worth:
    return Worth(Acceptance(), cost)
