"""Our drafts in llama-cpp-python's own interface: its loop on the scripted backend, then the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from llama_cpp import Llama
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

from tests.support.prompts import PROMPTS
from tests.support.proposers import AlwaysWrong, FlatCost, Oracle, SteepCost, TestProposer
from velospec import InstalledModel
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, hash_rule
from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.core.draft import EMPTY
from velospec.core.statistics import ProposerCount
from velospec.integrations.llama_cpp_python import Ids, VeloSpecDraftModel
from velospec.proposers.suffix import SuffixProposer

VOCABULARY = ScriptedVocabulary()
RULE = hash_rule(VOCABULARY, seed=1, order=1)
PROMPT = tuple(b"once upon a time")
COUNT = 48


class Mild(FlatCost):
    """Two rows cost 1.4 of one, eight rows 3.8: about what two cores show."""

    def seconds(self, rows: int, context: int = 0) -> float:  # noqa: ARG002  (a protocol)
        return 1 + 0.4 * (rows - 1)


def generate(draft_model: Callable[[Ids], Ids], prompt: Sequence[int], count: int) -> tuple[list[int], int]:
    """`Llama.generate` in short: the ids after `prompt`, and the batches that took after the prompt's."""
    backend = ScriptedBackend(RULE, VOCABULARY, context=400)
    ids, batch, batches = list(prompt), list(prompt), 0
    backend.max_rows = len(prompt)
    while True:
        position = len(ids) - (1 if batches else len(prompt))
        choices = [int(np.argmax(row)) for row in backend.decode(0, batch, position)][-len(batch) :]
        choices = choices if batches else choices[-1:]
        for place, token in enumerate(choices):
            ids.append(token)
            if len(ids) == len(prompt) + count:
                return ids[len(prompt) :], batches
            if place + 1 < len(choices) and token != batch[place + 1]:
                break
        backend.truncate(0, len(ids) - 1)
        backend.max_rows = 16
        batch = [ids[-1], *draft_model(np.array(ids, np.intc)).tolist()]
        batches += 1


def no_draft(_ids: Ids) -> Ids:
    return np.array([], np.intc)


def drafts_by(*proposers: TestProposer | SuffixProposer, cost: FlatCost | None = None) -> VeloSpecDraftModel:
    selector = Selector(Acceptance(), cost or FlatCost())
    return VeloSpecDraftModel(VOCABULARY, proposers, selector)


def answer() -> list[int]:
    return generate(no_draft, PROMPT, COUNT)[0]


def test_whatever_is_drafted_the_ids_are_the_same() -> None:
    plain, batches = generate(no_draft, PROMPT, COUNT)
    assert batches == COUNT - 1
    known = [*PROMPT, *plain]
    for proposer in (SuffixProposer(), Oracle(known, 256, spoil=0.3), AlwaysWrong(known, 256)):
        assert generate(drafts_by(proposer), PROMPT, COUNT)[0] == plain


def test_what_became_of_a_draft_is_inferred_and_told() -> None:
    oracle = Oracle([*PROMPT, *answer()], 256)
    drafts = drafts_by(oracle)
    plain, batches = generate(drafts, PROMPT, COUNT)
    assert batches == 3  # 16 rows each
    assert oracle.ids == [*PROMPT, *plain[:33]]  # what came after the last call was never told
    assert [verdict.accepted for verdict in oracle.verdicts] == [15, 15]
    assert drafts.statistics.proposers == {"oracle": ProposerCount(2, 30, 30)}
    assert (drafts.statistics.steps, drafts.statistics.new_tokens) == (2, 32)


def test_a_rejected_draft_is_told_as_one() -> None:
    wrong = AlwaysWrong([*PROMPT, *answer()], 256)
    drafts = drafts_by(wrong)
    generate(drafts, PROMPT, COUNT)
    assert len(wrong.verdicts) == COUNT - 2
    assert all(verdict.rejected and verdict.accepted == 0 for verdict in wrong.verdicts)
    assert drafts.statistics.accepted_tokens == 0


def test_where_no_draft_pays_there_is_none() -> None:
    drafts = drafts_by(Oracle([*PROMPT, *answer()], 256), cost=SteepCost())
    returned = drafts(np.array(PROMPT, np.intc))
    assert returned.dtype == np.intc
    assert returned.shape == (0,)
    assert drafts._draft == EMPTY


@pytest.mark.parametrize("ids", [(1, 2, 3), PROMPT[:5], (*PROMPT[:5], 1, 2), (*PROMPT, *range(40))])
def test_other_ids_begin_anew(ids: tuple[int, ...]) -> None:
    oracle = Oracle([*PROMPT, *answer()], 256)
    drafts = drafts_by(oracle)
    drafts(np.array(PROMPT, np.intc))
    drafts(np.array(ids, np.intc))
    assert oracle.ids == list(ids)
    assert oracle.verdicts == []


def test_an_end_token_is_never_drafted() -> None:
    drafts = drafts_by(Oracle([*PROMPT, 5, 6, VOCABULARY.end, 7], VOCABULARY.size))
    assert drafts(np.array(PROMPT, np.intc)).tolist() == [5, 6]


@pytest.fixture(scope="module")
def llama(default_model: InstalledModel) -> Iterator[Llama]:
    lookup = LlamaPromptLookupDecoding()  # something, so that the logits of every row are kept
    llama = Llama(
        str(default_model.path),
        n_ctx=512,
        n_batch=512,
        n_threads=1,
        n_threads_batch=1,
        draft_model=lookup,
        verbose=False,
    )
    yield llama
    llama.close()


class Counted:
    """Counts the rows of each batch after the prompt's, by what a draft model returned."""

    def __init__(self, draft_model: Callable[[Ids], Ids]) -> None:
        self.rows: list[int] = []
        self._inner = draft_model

    def __call__(self, ids: Ids, /) -> Ids:
        draft = self._inner(ids)
        self.rows.append(len(draft) + 1)
        return draft


def decode(llama: Llama, draft_model: Callable[[Ids], Ids]) -> list[int]:
    """Rows of the batches for COUNT tokens after each of two prompts; each token has to be the best one."""
    llama.draft_model = counted = Counted(draft_model)
    for prompt in PROMPTS[:2]:
        ids = llama.tokenize(prompt.text.encode())
        tokens = llama.generate(ids, temp=0.0, repeat_penalty=1.0)
        written = [next(tokens) for _ in range(COUNT)]
        tokens.close()
        best = np.argmax(llama.scores[len(ids) - 1 : len(ids) - 1 + COUNT], axis=1)
        assert written == best.tolist(), prompt.name
    return counted.rows


@pytest.mark.model
@pytest.mark.timeout(600)
def test_the_real_one_needs_fewer_batches_and_less_time_than_with_its_prompt_lookup(
    llama: Llama, default_model: InstalledModel
) -> None:
    lookup = LlamaPromptLookupDecoding(num_pred_tokens=15)
    looked_up = decode(llama, lookup)
    at_length = decode(llama, VeloSpecDraftModel.for_file(default_model.path, cost=FlatCost()))
    assert len(at_length) < len(looked_up) < 2 * COUNT
    drafts = VeloSpecDraftModel.for_file(default_model.path, cost=Mild())
    chosen = decode(llama, drafts)
    assert drafts.statistics.acceptance_rate > 0.5
    seconds = Mild().seconds
    lookup.num_pred_tokens = 2
    rivals = [looked_up, decode(llama, lookup), [1] * len(PROMPTS[:2]) * (COUNT - 1)]
    assert sum(map(seconds, chosen)) < min(sum(map(seconds, rows)) for rows in rivals)
