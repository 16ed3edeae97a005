"""Under a grammar too, drafts change the speed and never the outcome; and grammar-guided drafts are long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.grammar_vocabulary import GrammarVocabulary
from tests.support.proposers import Oracle, RandomIds, eager_selector
from velospec.backends.scripted import ScriptedBackend, hash_rule, script_rule
from velospec.constraints.compiler import GrammarCompiler
from velospec.core.cancellation import CancelToken
from velospec.core.grammar import Grammar, GrammarKind, Tag, Tags, Whitespace
from velospec.core.request import Completion, FinishReason, Limits, Sampling
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.base import Proposer
from velospec.proposers.draft_model import DraftModel
from velospec.proposers.forced import Forced
from velospec.proposers.grammar_state import GrammarState
from velospec.proposers.resume import ResumeProposer
from velospec.proposers.suffix import SuffixProposer

VOCABULARY = GrammarVocabulary()
COMPILER = GrammarCompiler(VOCABULARY, "llguidance")
# Ids that come up often enough for the rules to matter: words and end tokens.
LIKELY = tuple(range(256, VOCABULARY.size))
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["red", "green", "grey", "😀"]}, "maxItems": 3},
        "known": {"type": "boolean"},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
CALL = Tag('<tool_call>\n{"name": "f", "arguments": ', json.dumps(PERSON), "}\n</tool_call>")


def schema(value: object, whitespace: Whitespace = Whitespace.SPACED, after: str = "") -> Grammar:
    return Grammar(GrammarKind.JSON_SCHEMA, json.dumps(value), whitespace, after)


GRAMMARS = {
    "schema": schema(PERSON),
    "compact": schema(PERSON, Whitespace.COMPACT),
    "flexible": schema(PERSON, Whitespace.FLEXIBLE),
    "enum": schema({"enum": ["red", "green", "grey", "gr\\een"]}),
    "json": Grammar(GrammarKind.JSON),
    "calls": Grammar(GrammarKind.TAGS, tags=Tags((CALL,), "<tool_call>")),
    "only calls": Grammar(GrammarKind.TAGS, tags=Tags((CALL,), "<tool_call>", free_text=False)),
    "ebnf": Grammar(GrammarKind.EBNF, 'root ::= "name" (" the" | " fox")+ "." | "{" root "}"'),
    "regex": Grammar(GrammarKind.REGEX, "(red|green): [a-z]{2,9}(, the end)?"),
}
PROMPTS = (
    "Ann is 12 and likes red.",
    'tools: {"name": "f", "tags": 1, "age": 2} <|tool|>Set the age of "Bo Fox" to 123 and 45',
    "",
)
limits = st.builds(
    Limits,
    max_tokens=st.integers(1, 70),
    stop=st.lists(st.sampled_from(["age", "12", '",', "}\n", "end"]), max_size=2).map(tuple),
    max_lines=st.none() | st.integers(1, 3),
)


@dataclass(frozen=True)
class Case:
    seed: int
    order: int
    prompt: str
    grammar: str
    heal: bytes
    limits: Limits
    min_rows: int
    sampling: Sampling

    @property
    def ids(self) -> list[int]:
        return VOCABULARY.encode(self.prompt, special=True) or [65]

    def run(self, *proposers: Proposer, trims: bool = True) -> Completion:
        rule = hash_rule(VOCABULARY, seed=self.seed, order=self.order, likely=LIKELY)
        backend = ScriptedBackend(rule, VOCABULARY, context=200, min_rows=self.min_rows)
        grammar = replace(GRAMMARS[self.grammar], after=self.heal.decode())
        task = Task(
            "doc", self.ids, self.limits, self.heal, sampling=self.sampling, speculate=bool(proposers)
        )
        task = replace(task, grammar=COMPILER.start(grammar, self.heal))
        decoder = Decoder(backend, proposers, eager_selector(self.min_rows), trims=trims)
        return decoder.complete(task, CancelToken())

    def draft_model(self) -> DraftModel:
        rule = hash_rule(VOCABULARY, seed=self.seed, order=self.order + 1, likely=LIKELY)
        return DraftModel(ScriptedBackend(rule, VOCABULARY, context=300), VOCABULARY.size)


cases = st.builds(
    Case,
    seed=st.integers(0, 2**32),
    order=st.integers(1, 3),
    prompt=st.sampled_from(PROMPTS),
    grammar=st.sampled_from(sorted(GRAMMARS)),
    heal=st.just(b""),
    limits=limits,
    min_rows=st.sampled_from([1, 2]),
    sampling=st.sampled_from([Sampling(), Sampling(temperature=0.2, seed=3)]),
)
healed = st.builds(replace, cases, grammar=st.just("schema"), heal=st.sampled_from([b"{", b'{"', b'{"na']))


def proposers_for(case: Case, answer: Sequence[int]) -> list[list[Proposer]]:
    known = [*case.ids, *answer, *answer[:5]]
    size = VOCABULARY.size
    return [
        [Forced(VOCABULARY)],
        [GrammarState(VOCABULARY)],
        [SuffixProposer(), ResumeProposer()],
        [case.draft_model()],
        [Oracle(known, size)],
        [Oracle(known, size, spoil=0.3, seed=case.seed)],
        [
            Forced(VOCABULARY),
            GrammarState(VOCABULARY),
            SuffixProposer(),
            ResumeProposer(),
            case.draft_model(),
            Oracle(known, size, spoil=0.5, seed=case.seed),
            RandomIds(size, case.seed),
        ],
    ]


@settings(max_examples=40, deadline=None)
@given(case=cases | healed, trims=st.sampled_from([True, True, False]))
def test_any_draft_gives_the_outcome_of_none(case: Case, trims: bool) -> None:
    plain = case.run()
    every = replace(case, limits=Limits(max_tokens=case.limits.max_tokens + 40)).run()
    for proposers in proposers_for(case, every.token_ids):
        for _ in range(2):  # the second time with all that was learned
            drafted = case.run(*proposers, trims=trims)
            assert drafted.token_ids == plain.token_ids
            assert (drafted.text, drafted.finish) == (plain.text, plain.finish)
            assert drafted.statistics.new_tokens == plain.statistics.new_tokens
            assert drafted.statistics.steps <= plain.statistics.steps


def write(script: str, grammar: Grammar, prompt: str, *proposers: Proposer) -> Completion:
    """Have a model write `script` under `grammar`."""
    ids = VOCABULARY.encode(prompt, special=True)
    rule = script_rule(VOCABULARY, VOCABULARY.encode(script), after=len(ids))
    decoder = Decoder(ScriptedBackend(rule, VOCABULARY), proposers, eager_selector())
    task = Task(
        "doc", ids, Limits(max_tokens=120), speculate=bool(proposers), grammar=COMPILER.start(grammar)
    )
    done = decoder.complete(task, CancelToken())
    assert (done.text, done.finish) == (script, FinishReason.END)
    return done


def test_forced_text_takes_one_step() -> None:
    grammar = schema({"const": {"name": ["red", "green"], "age": 12}})
    text = '{"name": ["red", "green"], "age": 12}'
    done = write(text, grammar, "a", Forced(VOCABULARY))
    assert done.statistics.steps == 1
    assert done.statistics.forced_tokens == done.statistics.new_tokens == len(VOCABULARY.encode(text))


def test_the_last_id_of_an_answer_takes_no_row() -> None:
    text = '{"name": ["red", "green"], "age": 12}'
    ids = VOCABULARY.encode(text)
    done = write(text, schema({"const": json.loads(text)}), "a", Forced(VOCABULARY))
    assert done.statistics.drafted_tokens == done.statistics.accepted_tokens == len(ids) - 1
    assert done.statistics.rows[len(ids)] == 1


def test_values_of_the_request_and_what_is_around_them_are_one_draft() -> None:
    wanted = {"type": "object", "properties": {"arg": {"type": "integer"}, "age": {"type": "integer"}},
              "required": ["arg", "age"], "additionalProperties": False}  # fmt: skip
    text = '{"arg": 123, "age": 12}'
    done = write(
        text, schema(wanted), "The name has an arg of 123 and an age of 12.", GrammarState(VOCABULARY)
    )
    assert done.statistics.steps <= 2
    assert write(text, schema(wanted), "The name.", GrammarState(VOCABULARY)).statistics.steps > 2


def test_an_alternative_that_the_request_mentions_is_drafted() -> None:
    wanted = schema({"enum": ["blue", "green", "red", "the fox"]})
    done = write('"red"', wanted, "Stop: the lamp shows red now", GrammarState(VOCABULARY))
    assert done.statistics.steps == 1


def test_what_was_chosen_before_is_drafted_again() -> None:
    proposer = GrammarState(VOCABULARY)
    text = '{"name": "the fox", "age": 7, "known": true}'
    first = write(text, schema(PERSON), "a", proposer)
    again = [write(text, schema(PERSON), "a", proposer) for _ in range(3)]
    assert again[-1].statistics.steps < first.statistics.steps / 2
    assert again[-1].statistics.steps <= 3
    proposer.use_workspace("another")
    elsewhere = write(text, schema(PERSON), "a", proposer)
    assert elsewhere.statistics.steps == first.statistics.steps


def test_blanks_are_drafted_as_the_text_had_them_before() -> None:
    wanted = {"type": "array", "items": {"enum": [0, 1]}}
    grammar = schema(wanted, Whitespace.FLEXIBLE)
    few, many = (
        write("[\n  " + ",\n  ".join("0" * n) + "\n]", grammar, "a", GrammarState(VOCABULARY))
        for n in (4, 12)
    )
    added = many.statistics.new_tokens - few.statistics.new_tokens
    assert many.statistics.steps - few.statistics.steps <= added / 4


def test_a_draft_model_writes_what_the_grammar_allows() -> None:
    wish = VOCABULARY.encode('{"name": "the fox", "age": a')  # the last is not allowed
    small = ScriptedBackend(script_rule(VOCABULARY, wish, after=1), VOCABULARY)
    proposer = DraftModel(small, VOCABULARY.size)
    drafted: list[int] = []
    for grammar in (None, COMPILER.start(schema(PERSON))):
        proposer.use_grammar(grammar)
        proposer.begin([65])
        drafted.clear()
        while len(drafted) < len(wish):
            draft = proposer.propose(len(wish) - len(drafted)).ids
            proposer.extend(draft)
            drafted.extend(draft)
            if grammar is not None:
                assert grammar.trim(draft) == len(draft)
                grammar.advance(draft)
        assert drafted[:-1] == wish[:-1]
        assert (drafted[-1] == wish[-1]) is (grammar is None)


def test_without_the_grammar_none_of_them_drafts() -> None:
    for proposer in (Forced(VOCABULARY), GrammarState(VOCABULARY)):
        proposer.use_grammar(None)
        proposer.begin([65])
        proposer.extend([66])
        assert not proposer.propose(8).ids


def test_an_answer_goes_on_where_the_text_before_it_stands() -> None:
    proposer = GrammarState(VOCABULARY)
    for before, wanted in (('{"na', b'me": "'), ('{"name": "the fox", "ag', b'e": '), ('{"na', b'me": "')):
        proposer.use_grammar(COMPILER.start(schema(PERSON, after=before)))
        proposer.begin(VOCABULARY.encode(before))
        written = b"".join(VOCABULARY.piece(token) for token in proposer.propose(15).ids)
        assert written.startswith(wanted)
