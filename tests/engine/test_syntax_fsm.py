"""The proposer of syntax: indentation, merging tokenizers, rules that rest, infill prompts, exactness."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from tests.support.proposers import eager_selector
from tests.support.syntax import continuation, proposer, written
from velospec.backends.base import Logits
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, script_rule
from velospec.core.cancellation import CancelToken
from velospec.core.draft import EMPTY
from velospec.core.request import Limits
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.base import LanguageAware
from velospec.proposers.cursor import before_cursor
from velospec.proposers.suffix import SuffixProposer
from velospec.proposers.syntax_fsm import SyntaxFsm, rule_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A:\n  def f(self):\n    try", ":\n      "),  # two spaces, as seen
        ("class A:\n\tdef f(self):\n\t\ttry", ":\n\t\t\t"),  # tabs
        ("if a:\n   b = 1\n   if c:\n      try", ":\n         "),  # three
        ("try", ":\n    "),  # nothing seen: the language's own
        ("if a:\n\tb\nif c:\n\td\nif e:\n        f\ntry", ":\n\t"),  # mixed: the more frequent
        ("def f(a,\n      b):", '\n    """'),  # a continued line does not set the depth
        ("x = [\n        1,\n]\ntry", ":\n    "),
        ("def f():\n    '''\n  Doc.\n    '''\n    try", ":\n        "),  # nor do a string's lines
        ("if a:\n\n\n    try", ":\n        "),  # blank lines
        ("if a:\r\n    try", ":\n        "),
    ],
)
def test_lines_are_indented_as_the_file_is(text: str, expected: str) -> None:
    assert continuation("python", text) == expected


def test_a_dedent_ends_at_the_outer_depth() -> None:
    assert continuation("go", "if a {\n\tif b {\n\t\treturn nil, err").startswith("\n\t}\n\t")


def test_a_line_begun_by_the_draft_is_finished_from_where_it_stands() -> None:
    text = "class A:\n    def size(self):"
    assert continuation("python", text) == '\n        """'
    assert continuation("python", text + "\n      ") == '  """'
    assert continuation("python", text + "\n          ") == ""  # deeper than the rule would have it


def test_a_text_that_the_tokenizer_would_have_merged_is_not_offered() -> None:
    assert continuation("python", "for i in range") == "("
    assert continuation("python", "for i in range", words=[b"e("]) == ""


def test_the_last_space_of_an_indentation_is_left_to_the_word_behind_it() -> None:
    words = [b"\n   ", b" x"]
    assert continuation("python", "try", words) == ":\n   "


def test_ids_are_those_the_tokenizer_gives_after_the_token_before() -> None:
    fsm = proposer("python", "    @property", words=[b" def", b"\n   ", b" x"])
    vocabulary = fsm._vocabulary
    pieces = [vocabulary.piece(token) for token in fsm.propose(20).ids]
    assert pieces == [b"\n   ", b" def"]


def test_a_rule_goes_on_where_another_ends() -> None:
    assert continuation("python", "raise") == ' ValueError("'
    assert continuation("python", "def f(a) -> None") == ':\n    """'


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_draft_is_no_longer_than_asked(limit: int) -> None:
    assert len(proposer("python", "if __").propose(limit)) == limit


def test_evidence_names_the_rule() -> None:
    draft = proposer("go", "if err").propose(9)
    assert draft.proposer == "syntax_fsm"
    assert rule_name(draft.evidence).startswith("go: ^if err -> ' != nil {")
    assert draft.prior == 0.9


def decide(fsm: SyntaxFsm, text: str) -> str:
    """What was drafted where `text` was decided; the place is reset afterwards."""
    draft = written(fsm)
    fsm.extend(fsm._vocabulary.encode(text))
    return draft


def test_a_rule_that_keeps_failing_rests_and_comes_back() -> None:
    fsm = proposer("python", "")
    drafts = []
    for _ in range(40):
        fsm.extend(fsm._vocabulary.encode("\nimport numpy"))
        drafts.append(decide(fsm, ", scipy"))
    offered = [bool(draft) for draft in drafts]
    assert offered[:4] == [True] * 4
    assert not any(offered[4:6])
    returns = [number for number in range(5, 40) if offered[number]]
    assert returns  # it gets another try,
    assert len(returns) < 8  # and rests longer after each failure
    waits = np.diff([3, *returns])
    assert all(later >= earlier for earlier, later in pairwise(waits))


def test_a_rule_that_is_right_again_no_longer_rests() -> None:
    fsm = proposer("python", "")
    for _ in range(4):
        fsm.extend(fsm._vocabulary.encode("\nimport numpy"))
        decide(fsm, ", scipy")
    while not (draft := decide_after(fsm, "\nimport numpy", " as np")):
        pass
    assert draft == " as np\n"
    assert [bool(decide_after(fsm, "\nimport numpy", "")) for _ in range(3)] == [True] * 3


def decide_after(fsm: SyntaxFsm, text: str, then: str) -> str:
    fsm.extend(fsm._vocabulary.encode(text))
    return decide(fsm, then)


def test_of_two_rules_the_one_that_kept_its_word_drafts() -> None:
    fsm = proposer("python", "")
    assert decide_after(fsm, "\nexcept KeyError", " as e") == ":\n    "
    drafts = [decide_after(fsm, "\nexcept KeyError", " as e:\n    pass") for _ in range(6)]
    assert drafts[-1] == " as e:\n    "


def test_what_was_proposed_twice_is_judged_once() -> None:
    fsm = proposer("python", "import numpy")
    assert written(fsm) == written(fsm)
    fsm.extend(fsm._vocabulary.encode(", "))
    fsm.extend(fsm._vocabulary.encode("os"))
    assert [record._seen for record in fsm._table.records if record._seen] == [1.0]  # type: ignore[union-attr]  # loaded


def test_begin_forgets_the_text_before_and_takes_the_language_told() -> None:
    fsm = proposer("python", "'an open string")
    assert isinstance(fsm, LanguageAware)
    assert not isinstance(SuffixProposer(), LanguageAware)
    encode = fsm._vocabulary.encode
    fsm.begin(encode("import numpy"))
    assert written(fsm) == " as np\n"
    fsm.use_language("go")
    fsm.begin(encode("import numpy"))
    assert written(fsm) == ""
    fsm.begin(encode("if err"))
    assert written(fsm).startswith(" != nil {\n\t")
    for unknown in ("", "cobol"):
        fsm.use_language(unknown)
        fsm.begin(encode("if err"))
        fsm.extend(encode("or"))
        assert fsm.propose(9) == EMPTY


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], []),
        ([1, 2], [1, 2]),
        ([90, 1, 2], [1, 2]),  # begin of text
        ([90, 7, 8, 91, 1, 2], [1, 2]),  # suffix first, then the prefix
        ([90, 1, 2, 91, 7, 8, 92], [1, 2]),  # prefix, suffix, middle
        ([90, 91, 7, 92], []),  # an empty prefix
        ([1, 2, 90], []),  # what follows a control token begins a text
        ([90], []),
    ],
)
def test_the_text_before_the_cursor_is_found_in_infill_prompts(
    ids: Sequence[int], expected: Sequence[int]
) -> None:
    assert list(before_cursor(ids, {90, 91, 92})) == expected


def test_an_infill_prompt_is_continued_from_its_prefix() -> None:
    vocabulary = ScriptedVocabulary()
    fsm = SyntaxFsm(vocabulary, language="python")
    control = vocabulary.control
    prefix, suffix = vocabulary.encode("import numpy"), vocabulary.encode('"""open')
    fsm.begin([control, *suffix, control, *prefix])
    assert written(fsm) == " as np\n"
    fsm.begin([control, *prefix, control, *suffix, control])
    assert written(fsm) == " as np\n"


def test_bytes_that_are_no_characters_do_no_harm() -> None:
    vocabulary = ScriptedVocabulary()
    fsm = SyntaxFsm(vocabulary, language="python")
    fsm.begin([0xC3, *vocabulary.encode("\nfor "), 0xC3])
    assert written(fsm).startswith(" in")
    fsm.extend([0xA9])
    assert written(fsm).startswith(" in")


class CountingVocabulary(ScriptedVocabulary):
    """Counts how often a token's bytes or a text's ids are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def piece(self, token: int) -> bytes:
        self.asked += 1
        return super().piece(token)

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        self.asked += 1
        return super().encode(text, special=special)


def test_what_was_met_before_is_neither_decoded_nor_encoded_again() -> None:
    vocabulary = CountingVocabulary()
    fsm = SyntaxFsm(vocabulary, language="python")
    ids = vocabulary.encode("class A:\n    def __init__(self):\n        for i in range(len(x)):\n") * 3

    def follow() -> None:
        fsm.begin([])
        for token in ids:
            fsm.propose(8)
            fsm.extend([token])

    for _ in range(8):  # rules rest, come back and change places
        follow()
    before = vocabulary.asked
    follow()
    assert vocabulary.asked == before


def test_memos_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("velospec.proposers.syntax_fsm._MOST_KEPT", 20)
    fsm = proposer("python", "class A:\n    def __init__(self, a, b):\n        self.a = a\n        for i")
    assert fsm._table is not None
    assert len(fsm._table._effects) <= 20
    assert written(fsm).startswith(" in")


def test_states_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("velospec.proposers.syntax_rules.pattern._MOST_STATES", 30)
    fsm = proposer("python", "class A:\n    def __init__(self, a, b):\n        self.a = a\n        ")
    assert fsm._table is not None
    assert len(fsm._table.machine._automaton._states) <= 30


SCRIPT = 'class Stack:\n    """Doc."""\n\n    def __init__(self, items=None):\n        self.items = items\n'


def complete(proposers: list[SyntaxFsm], seed: int) -> tuple[tuple[int, ...], int]:
    """Ids and steps of a model that writes SCRIPT, or something a little different."""
    vocabulary = ScriptedVocabulary([b"\n   ", b" def", b"self"])
    prompt, script = vocabulary.encode("\n"), vocabulary.encode(SCRIPT)
    rule = script_rule(vocabulary, script, after=len(prompt))

    def stray(ids: tuple[int, ...]) -> Logits:
        """Now and then another choice than the script's, by a hash of the ids before."""
        logits = rule(ids).copy()
        if seed and hash((seed, *ids[-3:])) % 5 == 0:
            logits[hash((seed, *ids[-2:])) % vocabulary.size] = 2
        return logits

    backend = ScriptedBackend(stray, vocabulary)
    task = Task("d", prompt, Limits(max_tokens=80), language="python")
    done = Decoder(backend, proposers, eager_selector()).complete(task, CancelToken())
    return done.token_ids, done.statistics.steps


@pytest.mark.parametrize("seed", range(6))
def test_alone_it_changes_no_output(seed: int) -> None:
    vocabulary = ScriptedVocabulary([b"\n   ", b" def", b"self"])
    plain, plain_steps = complete([], seed)
    ids, steps = complete([SyntaxFsm(vocabulary)], seed)
    assert ids == plain
    assert steps < plain_steps or seed
