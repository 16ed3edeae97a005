"""What grammars may cost, and what is said of those that cost more, have no answer or no meaning."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import numpy as np
import pytest
from llguidance import LLParserLimits

from tests.support.grammar_cases import VOCABULARY, accepts, compiler, schema
from tests.support.schema_engines import ENGINES
from tests.support.vocabularies import vocabulary
from velospec.constraints import budget, llguidance, regex
from velospec.constraints.budget import MOST_CHARACTERS, TimeLimit
from velospec.constraints.gbnf_rules import endless_rule
from velospec.constraints.matcher import Matcher
from velospec.constraints.refusal import reason
from velospec.core.cancellation import CancelToken
from velospec.core.errors import CancelledError, GrammarError
from velospec.core.grammar import Grammar, GrammarKind, Tag, Tags
from velospec.core.request import Limits, TextRequest
from velospec.tasks import TaskMaker


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    compiler(request.param)
    return str(request.param)


@pytest.mark.parametrize("count", [500, 503, 2000])
def test_an_object_may_have_thousands_of_optional_properties(count: int) -> None:
    names = {f"p{number}": {"type": "integer"} for number in range(count)}
    made = compiler("llguidance").compile(
        schema({"type": "object", "properties": names, "additionalProperties": False})
    )
    matcher = made.matcher()
    text = f'{{"p1": 1, "p{count - 1}": 2}}'
    assert accepts(matcher, text)
    assert matcher.stopped
    assert not accepts(made.matcher(), f'{{"p{count}": 1}}')
    assert not accepts(made.matcher(), '{"p2": 1, "p1": 2}')


def test_a_place_that_is_too_much_for_llguidance_is_told_whatever_is_asked_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(llguidance, "_LIMITS", LLParserLimits(max_items_in_row=100, verbose_errors=False))
    names = {f"p{number}": {"type": "integer"} for number in range(60)}
    grammar = schema({"type": "object", "properties": names, "additionalProperties": False})
    ids = VOCABULARY.encode('{"p1": 1')
    matcher = llguidance.LlguidanceEngine(VOCABULARY).compile(grammar).matcher()
    with pytest.raises(
        GrammarError, match=r"at this place: Current row has \d+ items; max is 100\."
    ) as refused:
        matcher.consume(ids)
    assert refused.value.remedy
    asked: list[Callable[[], object]] = [
        lambda: matcher.stopped,
        lambda: matcher.accepting,
        lambda: matcher.accept(ids[0]),
        lambda: matcher.valid(ids),
        lambda: matcher.fill(np.zeros(VOCABULARY.size, dtype=np.int32)),
        lambda: matcher.rollback(1),
        matcher.forced,
    ]
    for ask in asked:
        with pytest.raises(GrammarError, match="Current row has"):
            ask()


def test_forced_text_that_wears_out_llguidance_is_told_to_every_cursor_of_the_grammar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its lexer has built all that it may when a million characters are forced at once."""
    monkeypatch.setattr(regex, "LONGEST_LEAST", 1_000_000)
    made = llguidance.LlguidanceEngine(VOCABULARY).compile(Grammar(GrammarKind.REGEX, "(a{1000}){1000}"))
    first, second = made.matcher(), made.matcher()
    assert set(first.forced()) == set(b"a")

    def read(matcher: Matcher) -> None:
        assert not matcher.consume(VOCABULARY.encode("aaaa"))
        matcher.check()

    for matcher in (first, second):
        with pytest.raises(GrammarError, match="too much for its engine"):
            read(matcher)


@pytest.mark.parametrize(("source", "name"), [
    ('root ::= "a" root', "root"),
    ('root ::= "a" | "b" x\nx ::= y "c"\ny ::= ("d" | "e") x', "x"),
    ('root ::= (root | "a" root) "b"', "root"),
    ('root ::= root{2,} # "a"', "root"),
    ("root ::= x+\nx ::= [ab] (x)", "x"),
    ('root ::= "a" (x | "b")\nx ::= x', "x"),
    ('root ::= "a" | root "b"', None),
    ('root ::= "a" root?', None),
    ('root ::= "a" root*', None),
    ('root ::= "a" root{0,3}', None),
    ('root ::= "a" (root "b")? "c"', None),
    ('root ::= "a" (root | "")', None),
    ('root ::= "(" root ")" | [|] | .', None),
    ('root ::= "a" |\n  "b" x\nx ::= "c" x | y\ny ::= "d"', None),
    ('root ::= "a"\nunused ::= unused', None),
    ('root ::= "a" missing', None),
    ('root ::= "a" ) (', None),
    ("root ::=", None),
])  # fmt: skip
def test_a_rule_that_has_no_end_is_found(source: str, name: str | None) -> None:
    assert endless_rule(source) == name


def test_a_long_chain_of_rules_is_followed_to_its_end() -> None:
    rules = [f'r{number} ::= "a" r{number + 1}' for number in range(20_000)]
    chain = "\n".join(["root ::= r0", *rules])
    assert endless_rule(f'{chain}\nr20000 ::= "b"') is None
    assert endless_rule(f"{chain}\nr20000 ::= r0") == "r0"


@pytest.mark.parametrize(("grammar", "said"), [
    (Grammar(GrammarKind.EBNF, 'root ::= "a" root'), "The rule `root` of the EBNF grammar has no end"),
    (Grammar(GrammarKind.EBNF, "root ::= []"), r"the class \[\], which no character is of"),
    (Grammar(GrammarKind.EBNF, r"root ::= [^\x00-\U0010FFFF]"), "which no character is of"),
    (Grammar(GrammarKind.REGEX, "(a{1000}){1000}"), "no text of 20,000 characters or fewer"),
    (schema({"type": "string", "pattern": "^a{5}$", "maxLength": 3}), "No value satisfies the JSON Schema"),
    (Grammar(GrammarKind.REGEX, "a" * (MOST_CHARACTERS + 1)), "2,000,001 characters; 2,000,000 are the most"),
    (
        Grammar(GrammarKind.TAGS, tags=Tags((Tag("<f>", " " * MOST_CHARACTERS + "{}", "</f>"),), "<f>")),
        "The grammar of the calls has 2,000,0",
    ),
])  # fmt: skip
def test_what_has_no_answer_or_is_too_large_is_refused_by_its_cause(
    engine: str, grammar: Grammar, said: str
) -> None:
    with pytest.raises(GrammarError, match=said) as refused:
        compiler(engine).compile(grammar)
    assert refused.value.remedy
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("grammar", [
    Grammar(GrammarKind.EBNF, 'root ::= "a" missing'),
    Grammar(GrammarKind.EBNF, 'root ::= "a" ('),
    Grammar(GrammarKind.EBNF, 'root ::= "a" )'),
    schema({"type": "string", "pattern": "^[a-z]+(x[0-9]{2,40}y){1,20}$", "maxLength": 1000}),
])  # fmt: skip
def test_no_engine_shows_its_grammar_or_its_state(engine: str, grammar: Grammar) -> None:
    with pytest.raises(GrammarError) as refused:
        compiler(engine).compile(grammar)
    said = str(refused.value)
    assert refused.value.remedy
    assert len(said.splitlines()) == 1
    assert len(said) < 400
    for own in (
        "%llguidance",
        "%json",
        "x-guidance",
        "(And (",
        "start:",
        "/project/",
        "<non-verbose",
        "panic",
    ):
        assert own not in said


def test_groups_nested_too_deep_for_the_reader_are_named() -> None:
    nested = "root ::= " + "(" * 3000 + '"a"' + ")" * 3000
    with pytest.raises(GrammarError, match="nested too deep"):
        compiler("llguidance").compile(Grammar(GrammarKind.EBNF, nested))


@pytest.mark.parametrize(("message", "text"), [
    (
        "Parser Error: Current row has 2019 items; max is 2000; consider making it left-recursive\n<state>",
        "Current row has 2019 items; max is 2000",
    ),
    ("lexer error: too many expressions constructed\n<non-verbose/>", "too many expressions constructed"),
    ("at 2(8): failed to compile JSON schema: Expected a\n   1 | %llguidance {}\n", "Expected a"),
    ("[18:00:01] /project/cpp/grammar.cc:12: EBNF lexer error at line 1.\n", "EBNF lexer error at line 1"),
    ("panic: assertion failed: grammar.symbols.len() < u16::MAX as usize - 10", "it has too many parts"),
    (
        "at 2(8): Unable to determine if regex is empty:  (And (SearchRegex /^(?:[a-z]+)$/) (Regex /.*/))",
        "the conditions of a string are too much together, among them [a-z]+",
    ),
    ("", ""),
])  # fmt: skip
def test_of_an_engines_message_the_cause_is_left(message: str, text: str) -> None:
    assert reason(message) == text
    assert len(reason(message + "x" * 10_000)) <= len("x" * 162)


def test_work_that_takes_too_long_is_left_behind() -> None:
    go_on = threading.Event()
    limit = TimeLimit[bool](0.05)
    with pytest.raises(GrammarError, match=r"takes longer than 0\.05 s"):
        limit.result(lambda: go_on.wait(60))
    assert limit.result(lambda: True)
    go_on.set()


def test_work_left_behind_does_not_pile_up() -> None:
    go_on = threading.Event()
    ended = threading.Barrier(3)
    limit = TimeLimit[bool](0.01)

    def work() -> bool:
        go_on.wait(60)
        ended.wait(60)
        return True

    for _ in range(2):
        with pytest.raises(GrammarError, match="takes longer"):
            limit.result(work)
    with pytest.raises(GrammarError, match="keep the grammar engine busy"):
        limit.result(lambda: True)
    left = [thread for thread in threading.enumerate() if thread.name == "velospec-grammar"]
    go_on.set()
    ended.wait(60)
    for thread in left:
        thread.join(60)
    assert limit.result(lambda: True)


def test_a_cancelled_request_does_not_wait_for_its_grammar() -> None:
    go_on, begun = threading.Event(), threading.Event()
    cancel = CancelToken()

    def work() -> bool:
        begun.set()
        return go_on.wait(60)

    def leave() -> None:
        begun.wait(60)
        cancel.cancel()

    client = threading.Thread(target=leave)
    client.start()
    with pytest.raises(CancelledError):
        TimeLimit[bool](60).result(work, cancel)
    assert not go_on.is_set()
    go_on.set()
    client.join()


def test_what_the_work_raises_is_raised() -> None:
    def work() -> None:
        raise GrammarError("The cause.")

    with pytest.raises(GrammarError, match="The cause"):
        TimeLimit[None](60).result(work)


def test_the_compiler_holds_grammars_to_the_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    made = compiler("llguidance")
    monkeypatch.setattr(made, "_limit", TimeLimit(0.05))
    monkeypatch.setattr(made.engine, "compile", lambda _grammar: go_on.wait(60))
    with pytest.raises(GrammarError, match=r"takes longer than 0\.05 s"):
        made.compile(schema({"const": "taken long"}))
    go_on.set()


def test_a_request_is_cancelled_while_its_grammar_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    cancel = CancelToken()
    tasks = TaskMaker(vocabulary("starcoder"), None)

    def compile_long(_engine: object, _grammar: Grammar) -> None:
        cancel.cancel()
        go_on.wait(60)

    monkeypatch.setattr(llguidance.LlguidanceEngine, "compile", compile_long)
    request = TextRequest("d", "Answer: ", Limits(max_tokens=2), grammar=schema({"const": "taken long"}))
    with pytest.raises(CancelledError):
        tasks.make(request, 100, cancel)
    go_on.set()


def test_enumerations_of_30000_members_compile_in_time() -> None:
    names = [f"value number {number} of the list" for number in range(30_000)]
    source = json.dumps({"enum": names})
    assert len(source) < budget.MOST_CHARACTERS
    made = compiler("llguidance").compile(Grammar(GrammarKind.JSON_SCHEMA, source))
    assert accepts(made.matcher(), json.dumps(names[-1]))
    assert not accepts(made.matcher(), json.dumps("value number 30000 of the list"))
