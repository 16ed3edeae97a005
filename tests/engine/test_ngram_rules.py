"""N-gram rules in tokens, and the proposer that drafts by them: tiers, caps, conflicts, rest and return."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.vocabularies import vocabulary
from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY
from velospec.learning import store
from velospec.learning.library import RuleLibrary
from velospec.learning.rules import Rule, RulePack, Tier, shipped_pack
from velospec.learning.token_rules import MAX_IDS, TokenRule, TokenRules, compile_rules
from velospec.proposers.ngram_rules import LENGTHS, LIMITS, NgramRules

SURE, STRONG, FREQUENT, NONE = Tier.DETERMINISTIC, Tier.STRONG, Tier.FREQUENT, Tier.NONE


def proposer(rules: dict[tuple[int, ...], TokenRule], *begin: int) -> NgramRules:
    table = TokenRules(rules)
    made = NgramRules(lambda language: table if language == "python" else None)
    made.use_language("python")
    made.begin(begin)
    return made


def sure(*ids: int) -> TokenRule:
    return TokenRule(ids, SURE, 1.0)


def test_the_longest_context_decides() -> None:
    rules = {(3,): sure(30), (2, 3): sure(20), (1, 2, 3): TokenRule((), NONE, 0.0)}
    made = proposer(rules, 9, 3)
    assert made.propose(4).ids == (30,)
    made.extend([2, 3])
    assert made.propose(4).ids == (20,)
    made.extend([1, 2, 3])
    assert made.propose(4) is EMPTY


def test_where_a_rule_ends_others_go_on() -> None:
    rules = {(1,): sure(2, 3), (2, 3): sure(4), (4,): sure(5, 6)}
    assert proposer(rules, 1).propose(16).ids == (2, 3, 4, 5, 6)
    assert proposer(rules, 1).propose(3).ids == (2, 3, 4)
    assert proposer(rules, 1).propose(0) is EMPTY


def test_a_draft_ends_where_it_has_become_unlikely() -> None:
    rules: dict[tuple[int, ...], TokenRule] = {(i,): TokenRule((i + 1,), STRONG, 0.5) for i in range(40)}
    rules |= {(i, i + 1): TokenRule((i + 2,), STRONG, 0.5) for i in range(40)}
    assert proposer(rules, 1, 2).propose(16).ids == (3,)


@pytest.mark.parametrize("tier", [SURE, STRONG, FREQUENT])
def test_each_tier_has_its_cap_and_its_least_context(tier: Tier) -> None:
    least, cap = LIMITS[tier].context, LIMITS[tier].draft
    context = tuple(range(1, least + 1))
    rules = {context: TokenRule(tuple(range(100, 140)), tier, 1.0)}
    draft = proposer(rules, *context).propose(40)
    assert draft.ids == tuple(range(100, 100 + cap))
    assert draft.evidence // LENGTHS == tier
    if least > 1:
        short = {context[1:]: TokenRule((100,), tier, 1.0)}
        assert proposer(short, *context).propose(40) is EMPTY


def test_evidence_is_the_tier_and_the_class_of_context_length() -> None:
    seen = set()
    for tier in (SURE, STRONG, FREQUENT):
        for length in range(LIMITS[tier].context, MAX_IDS + 1):
            context = tuple(range(1, length + 1))
            draft = proposer({context: TokenRule((50,), tier, 0.9)}, *context).propose(4)
            assert 0.6 < draft.prior < 0.9
            seen.add((tier, (length + 1) // 2, draft.evidence))
    assert len({evidence for _, _, evidence in seen}) == len(seen)


def test_a_rule_that_fails_rests_returns_and_rests_longer() -> None:
    made = proposer({(1,): sure(2)}, 1)

    def fail() -> bool:
        """Whether the rule drafted; what it said does not come."""
        drafted = bool(made.propose(4).ids)
        made.extend([7, 1])
        return drafted

    tries = "".join("x" if fail() else "." for _ in range(300))
    # It rests 64 ids, of which there are two between tries, and twice as many each time.
    assert tries.startswith("xxxx" + "." * 32 + "x" + "." * 64 + "x" + "." * 128 + "x.")


def test_while_a_rule_rests_no_shorter_one_stands_in_and_success_wipes_the_record() -> None:
    rules = {(1,): sure(5), (2, 1): sure(3)}
    made = proposer(rules, 2, 1)
    for _ in range(4):
        assert made.propose(4).ids == (3,)
        made.extend([2, 1])
    assert made.propose(4) is EMPTY
    made.extend([9, 1])
    assert made.propose(4).ids == (5,)
    made = proposer(rules, 2, 1)
    for _ in range(8):
        for right in (False, False, False, True):
            assert made.propose(4).ids == (3,)
            made.extend([3, 2, 1] if right else [2, 1])


def test_only_the_rule_that_was_wrong_is_charged() -> None:
    made = proposer({(1,): sure(2), (2,): sure(3)}, 1)
    for _ in range(6):
        made.propose(4)
        made.extend([2, 9, 1])
    assert made.propose(4).ids == (2,)


def test_the_language_chooses_the_rules() -> None:
    made = proposer({(1,): sure(2)}, 1)
    made.use_language("go")
    made.begin([1])
    assert made.propose(4) is EMPTY
    made.use_language("")
    made.begin([1])
    assert made.propose(4) is EMPTY
    made.use_language("python")
    made.begin([1])
    assert made.propose(4).ids == (2,)


@pytest.mark.parametrize("name", ["starcoder", "qwen2", "deepseek-coder", "llama-spm"])
def test_rules_are_the_ids_that_the_tokenizer_gives_the_whole_text(name: str) -> None:
    words = vocabulary(name)
    context = ("\n", "for", " item", " in")
    pack = RulePack(
        {
            context: Rule(" range", 20, 20),
            (" range",): Rule("(", 20, 20),
            (" range", "("): Rule("", 0, 20),
        }
    )
    rules = compile_rules(pack, words)
    before, after = "x = 1\nfor item in", " range("
    ids = words.encode(before)
    found = rules.find(ids)
    assert found is not None
    assert b"".join(words.piece(token) for token in found[1].ids).decode() == after
    assert [*ids, *found[1].ids] == words.encode(before + after)
    stop = rules.find(words.encode(before + after))
    assert stop is not None
    assert stop[1] == TokenRule((), NONE, 0.0)


def test_a_context_that_ends_inside_a_token_makes_no_rule() -> None:
    words = vocabulary("starcoder")
    assert len(words.encode("():")) == 1
    assert len(compile_rules(RulePack({("(",): Rule(")", 9, 9), ("(", ")"): Rule(":", 9, 9)}), words)) == 0


def test_the_shipped_pack_drafts_in_an_empty_workspace(tmp_path: Path) -> None:
    words = vocabulary("starcoder")
    made = NgramRules(RuleLibrary(words, tmp_path, "starcoder").rules)
    made.use_language("python")
    written = {}
    for text in (
        "import os\n\nif __name__",
        "class A:\n    def __init__(",
        "try:\n    import x\nexcept ImportError",
    ):
        made.begin(words.encode(text))
        draft = made.propose(16)
        written[text.split("\n")[-1]] = b"".join(words.piece(token) for token in draft.ids).decode()
    assert written["if __name__"].startswith(' == "__main__":')
    assert written["    def __init__("].startswith("self")
    assert written["except ImportError"].startswith(":")


def test_compiled_rules_are_kept_and_made_anew_where_they_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = vocabulary("starcoder")
    small = RulePack({("a",): Rule(" b", 9, 9)})
    made: list[RulePack] = []
    monkeypatch.setattr("velospec.learning.library.shipped_pack", lambda _language: small.to_bytes())

    def compile_counted(pack: RulePack, vocabulary: Vocabulary) -> TokenRules:
        made.append(pack)
        return compile_rules(pack, vocabulary)

    monkeypatch.setattr("velospec.learning.library.compile_rules", compile_counted)

    def load(model: str) -> list[object]:
        rules = RuleLibrary(words, tmp_path, model).rules("python")
        assert rules is not None
        return rules.to_data()

    first = load("one")
    assert load("one") == first == [[words.encode("a"), words.encode(" b"), int(SURE), 1.0]]
    assert len(made) == 1
    load("two")
    assert len(made) == 2
    (tmp_path / "rules-python.msgpack").write_bytes(b"\xc1 damaged")
    assert load("two") == first
    assert len(made) == 3
    assert RuleLibrary(words, tmp_path, "one").rules("go") is None
    assert load("one") == RuleLibrary(words, tmp_path / "gone", "one").rules("python").to_data()  # type: ignore[union-attr]  # python has rules


def test_a_store_gives_back_what_was_kept_under_the_same_key(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert store.load(path, "a") is None
    store.save(path, "a", [1, "b", {"c": 0.5}])
    assert store.load(path, "a") == [1, "b", {"c": 0.5}]
    assert store.load(path, "b") is None
    path.write_bytes(path.read_bytes()[:-3])
    assert store.load(path, "a") is None
    assert list(tmp_path.iterdir()) == [path]


def test_the_shipped_pack_stays_within_its_memory() -> None:
    assert len(RulePack.from_bytes(shipped_pack("python"))) < 60_000
