"""An end inside an accepted draft ends exactly there, with a grammar and without.

The model writes a text that is known beforehand, and the drafts are that text, so that a batch of up to 16
rows goes past the end token, the stop string, the last token that is allowed, or the last the grammar has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.proposers import Oracle, eager_selector
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, script_rule
from velospec.constraints.compiler import GrammarCompiler
from velospec.core.cancellation import CancelToken
from velospec.core.grammar import Grammar, GrammarKind
from velospec.core.request import Completion, FinishReason, Limits
from velospec.core.step import Step
from velospec.decode.decoder import Decoder, Task

WORDS = (b'{"a": ', b'"b": ', b'", "', b'"}', b"cat", b"dog", b" and ", b"\n", b"12")
VOCABULARY = ScriptedVocabulary(WORDS)
COMPILER = GrammarCompiler(VOCABULARY)
PROMPT = (1, 2, 3)
SCHEMA = (
    '{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}'
)
GRAMMARS = {
    "schema": Grammar(GrammarKind.JSON_SCHEMA, SCHEMA),
    "regex": Grammar(GrammarKind.REGEX, "(cat|dog| and |12)*"),
    "open": Grammar(GrammarKind.REGEX, r"(.|\n)*"),
    "none": None,
}
STOPS = ("and", '", "', "og a", "t12", "\n")


@dataclass(frozen=True)
class Case:
    """A text in ids, of which the end token may be one, and the rules of where it ends."""

    ids: tuple[int, ...]
    grammar: str
    limits: Limits
    min_rows: int

    def run(self, *, drafts: bool) -> tuple[Completion, list[int], int]:
        """What comes of it, the ids in the KV cache, and the most rows of a batch."""
        rule = script_rule(VOCABULARY, self.ids, after=len(PROMPT))
        backend = ScriptedBackend(rule, VOCABULARY, min_rows=self.min_rows)
        grammar = GRAMMARS[self.grammar]
        proposers = [Oracle([*PROMPT, *self.ids, VOCABULARY.end], VOCABULARY.size)] if drafts else []
        decoder = Decoder(backend, proposers, eager_selector(self.min_rows))
        task = Task(
            "doc",
            PROMPT,
            self.limits,
            speculate=drafts,
            grammar=None if grammar is None else COMPILER.start(grammar),
        )
        steps: list[Step] = []
        done = decoder.complete(task, CancelToken(), on_step=steps.append)
        return done, backend.kv[0], max(step.rows for step in steps)


def texts(grammar: str) -> st.SearchStrategy[tuple[int, ...]]:
    """Texts of the grammar, in tokens of one byte and of several."""
    words = st.sampled_from([b"cat", b"dog", b" and ", b"12"])
    values = st.lists(words, max_size=12).map(b"".join)
    if grammar == "schema":
        one = values.map(lambda value: b'{"a": "' + value + b'"}')
        two = st.tuples(values, values).map(
            lambda pair: b'{"a": "' + pair[0] + b'", "b": "' + pair[1] + b'"}'
        )
        return st.tuples(one | two, st.integers(0, 2**20)).map(spelt)
    lines = st.lists(words if grammar == "regex" else words | st.just(b"\n"), max_size=24).map(b"".join)
    return st.tuples(lines, st.integers(0, 2**20)).map(spelt)


def spelt(text_and_seed: tuple[bytes, int]) -> tuple[int, ...]:
    """The text in ids: at each place the longest token, or by a bit of the seed a single byte."""
    text, seed = text_and_seed
    ids: list[int] = []
    while text:
        words = [256 + place for place, word in enumerate(WORDS) if text.startswith(word)]
        token = max(words, key=lambda word: len(VOCABULARY.piece(word))) if words and seed & 1 else text[0]
        ids.append(token)
        text = text[len(VOCABULARY.piece(token)) :]
        seed >>= 1
    return tuple(ids)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    grammar = draw(st.sampled_from(sorted(GRAMMARS)))
    ids = draw(texts(grammar))
    if grammar in ("open", "none") and draw(st.booleans()):  # where an end token is allowed, it may stand
        place = draw(st.integers(0, len(ids)))
        ids = (*ids[:place], VOCABULARY.end, *ids[place:])
    limits = Limits(
        max_tokens=draw(st.integers(1, 40)),
        stop=tuple(draw(st.lists(st.sampled_from(STOPS), max_size=2))),
    )
    return Case(ids, grammar, limits, draw(st.sampled_from([1, 2])))


def expected(ids: Sequence[int], limits: Limits, *, closed: bool) -> tuple[str, int, FinishReason]:
    """The text, how many ids are kept and why it ends, by reading ids one by one.

    `closed`: behind the last id the grammar has nothing left.
    """
    text = b""
    for count, token in enumerate(ids):
        if token == VOCABULARY.end:
            return text.decode(), count, FinishReason.END
        text += VOCABULARY.piece(token)
        found = [place for stop in limits.stop if (place := text.find(stop.encode())) >= 0]
        if found:
            cut = text[: min(found)]
            kept = count + 1
            while len(b"".join(map(VOCABULARY.piece, ids[:kept]))) > len(cut):
                kept -= 1
            return cut.decode(), kept, FinishReason.STOP
        if count + 1 == limits.max_tokens:
            return text.decode(), count + 1, FinishReason.LENGTH
    assert closed or not ids or ids[-1] != VOCABULARY.end
    return text.decode(), len(ids), FinishReason.END


@settings(max_examples=300, deadline=None)
@given(case=cases())
def test_an_end_inside_a_draft_ends_exactly_there(case: Case) -> None:
    text, kept, finish = expected(case.ids, case.limits, closed=case.grammar == "schema")
    plain, _, _ = case.run(drafts=False)
    drafted, held, _ = case.run(drafts=True)
    for done in (plain, drafted):
        assert (done.text, len(done.token_ids), done.finish) == (text, kept, finish)
        assert done.token_ids == case.ids[:kept]
    assert drafted.statistics.new_tokens == plain.statistics.new_tokens
    assert held == [*PROMPT, *case.ids][: len(held)]
    assert len(held) >= len(PROMPT) + kept - 1


def test_a_batch_goes_past_each_kind_of_end() -> None:
    """The property would hold idly if no draft reached beyond an end."""
    long = spelt((b"cat and dog and cat and dog", 0))
    for limits, ids in (
        (Limits(max_tokens=5), long),
        (Limits(stop=("dog",)), long),
        (Limits(), (*long[:4], VOCABULARY.end, *long[4:])),
    ):
        done, _, rows = Case(ids, "open", limits, 1).run(drafts=True)
        assert rows > len(done.token_ids) or limits.max_tokens == 5
        assert done.statistics.steps <= 2
