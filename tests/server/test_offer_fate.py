"""What becomes of offers: accepted, in part, typed through, passed over, deleted again; and what follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec_lsp.completion.fate import FateWatch, agreement
from velospec_lsp.completion.offer import Offer, Silence
from velospec_lsp.completion.rejections import Rejections
from velospec_lsp.completion.site import Query
from velospec_lsp.documents import Change, Documents, Position
from velospec_lsp.events import Decision, Edit, Fate
from velospec_lsp.text import Place, Text

URI = "file:///a.py"
LINE = "value(one, two)"


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Editor:
    """One document, its cursor, and what the server is told of them."""

    text: str = "x = \nend\n"
    cursor: Place = field(default_factory=lambda: Place(0, 4))
    clock: Clock = field(default_factory=Clock)
    decisions: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.documents = Documents()
        self.documents.open(URI, "python", 1, self.text)
        self.rejections = Rejections(self.clock)
        self.watch = FateWatch(self.hear, self.clock)

    def hear(self, decision: Decision) -> None:
        self.decisions.append(decision)
        self.rejections.decided(decision)

    @property
    def query(self) -> Query:
        document = self.documents.get(URI)
        assert document
        return Query(document, self.cursor)

    def show(self, *texts: str, typed: int = 0, identity: str = "v1") -> None:
        """The server answers with offers that begin `typed` characters before the cursor."""
        start = Place(self.cursor.line, self.cursor.index - typed)
        names = [identity, *(f"{identity}.{number}" for number in range(1, len(texts)))]
        self.watch.asked(self.query)
        offers = [Offer(name, text, start, self.cursor) for name, text in zip(names, texts, strict=True)]
        self.watch.answered(self.query, tuple(offers))
        self.clock.now += 1.0

    def put(self, text: str, replace: int = 0, behind: str = "") -> None:
        """One change at the cursor: `replace` characters before it go, `behind` comes behind it."""
        before = self.query.document
        start = Position(self.cursor.line, self.cursor.index - replace)
        change = Change(text + behind, start, Position(self.cursor.line, self.cursor.index))
        after = self.documents.change(URI, before.version + 1, [change])
        assert after
        lines = text.split("\n")
        column = len(lines[-1]) + (start.column if len(lines) == 1 else 0)
        self.cursor = Place(self.cursor.line + len(lines) - 1, column)
        self.watch.edited(Edit(before, after, (change,)))

    def type(self, text: str) -> None:
        for char in text:
            self.put(char)

    @property
    def fates(self) -> list[tuple[str, int]]:
        return [
            (decision.fate.value, decision.kept) for decision in self.decisions if decision.fate != "shown"
        ]

    def unwanted(self, text: str = LINE) -> bool:
        document = self.query.document
        return self.rejections.unwanted(document, Place(0, 4), text)


def test_accepted_at_once_and_told_once() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.put(LINE)
    editor.watch.accepted("v1")
    assert editor.fates == [("accepted", len(LINE))]
    [shown, accepted] = editor.decisions
    assert (shown.fate, accepted.identity, accepted.text) == (Fate.SHOWN, "v1", LINE)
    assert (accepted.document.language, accepted.start) == ("python", Place(0, 4))


def test_the_clients_word_counts_before_the_change_and_without_it() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.watch.accepted("v1")
    editor.put(LINE)
    editor.watch.accepted("v7")
    assert editor.fates == [("accepted", len(LINE))]


def test_typed_through() -> None:
    editor = Editor()
    editor.show(LINE)
    for count, char in enumerate(LINE[:-1], 1):
        editor.put(char)
        editor.show(LINE, typed=count)
    editor.put(LINE[-1])
    assert editor.fates == [("typed", len(LINE))]
    assert Counter(decision.fate for decision in editor.decisions)[Fate.SHOWN] == 1


@pytest.mark.parametrize("rest", ["z", "\n", None])
def test_words_were_accepted_and_then_something_else_came(rest: str | None) -> None:
    editor = Editor()
    editor.show(LINE)
    editor.put("value")
    editor.show(LINE, typed=5)
    editor.put("(one,")
    editor.show(LINE, typed=10)
    if rest is None:
        editor.cursor = Place(1, 0)
        editor.watch.asked(editor.query)
    else:
        editor.put(rest)
        editor.watch.asked(editor.query)
    assert editor.fates == [("partly", 10)]


def test_word_by_word_to_the_end_is_accepted() -> None:
    editor = Editor()
    editor.show(LINE)
    for word in ("value", "(one", ", two", ")"):
        editor.put(word)
    assert editor.fates == [("accepted", len(LINE))]


def test_a_line_of_a_block() -> None:
    editor = Editor()
    editor.show("if a:\n    b()")
    editor.put("if a:")
    editor.watch.asked(editor.query)
    editor.put("\n    ")  # the editor's indentation, along the text
    editor.put("c")
    assert editor.fates == [("partly", 10)]


def test_keys_that_came_together_are_no_piece() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.put("val")  # in the middle of a word: no editor accepts so
    editor.put("z")
    assert editor.fates == [("rejected", 3)]


@pytest.mark.parametrize("otherwise", ["z", "left", " "])
def test_passed_over(otherwise: str) -> None:
    editor = Editor()
    editor.show(LINE)
    if otherwise == "left":
        editor.cursor = Place(1, 0)
        editor.show("other", identity="v2")
    else:
        editor.put(otherwise)
    assert editor.fates == [("rejected", 0)]


def test_what_was_visible_for_a_moment_was_not_read() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.clock.now -= 0.9
    editor.put("z")
    assert editor.fates == []


def test_deleting_back_is_no_refusal() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.type("va")
    editor.put("", replace=1)
    editor.show(LINE, typed=1)
    editor.put(LINE[1:])
    assert editor.fates == [("accepted", len(LINE))]


@pytest.mark.parametrize("seconds", [0, 60])
def test_deleted_soon_after(seconds: int) -> None:
    editor = Editor()
    editor.show(LINE)
    editor.put(LINE)
    editor.clock.now += seconds
    editor.put("", replace=len(LINE) - 2)
    assert editor.fates == [("accepted", len(LINE)), ("deleted", 2)]


def test_a_word_deleted_soon_after() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.put("value")
    editor.put("", replace=5)
    assert editor.fates == [("partly", 5), ("deleted", 0)]


def test_deleted_much_later_or_in_part() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.put(LINE)
    editor.put("", replace=4)
    assert editor.fates == [("accepted", len(LINE))]
    editor.clock.now += 60
    for _ in range(3):
        editor.put("a")
    editor.put("", replace=len(LINE))
    assert editor.fates == [("accepted", len(LINE))]


def test_another_choice_was_accepted() -> None:
    editor = Editor()
    editor.show(LINE, "other(1)")
    editor.put("other(1)")
    editor.watch.accepted("v1.1")
    assert editor.fates == [("accepted", 8)]
    assert editor.decisions[-1].identity == "v1.1"


def test_an_edit_above_and_a_closed_document_tell_nothing() -> None:
    editor = Editor()
    editor.show(LINE)
    before = editor.query.document
    change = Change("# above\n", Position(0, 0), Position(0, 0))
    after = editor.documents.change(URI, 9, [change])
    assert after
    editor.watch.edited(Edit(before, after, (change,)))
    editor.cursor = Place(1, 4)
    editor.show("z", identity="v2")
    editor.watch.closed(after)
    editor.put("q")
    assert editor.fates == []


def test_silence_ends_what_is_shown() -> None:
    editor = Editor()
    editor.show(LINE)
    editor.watch.answered(editor.query, Silence("Nothing."))
    editor.put("z")
    assert editor.fates == []


def pass_over(editor: Editor, text: str = LINE, typed: int = 0) -> None:
    editor.show(text, typed=typed)
    editor.put("z")
    editor.put("", replace=1)


def test_twice_passed_over_is_enough_at_that_place() -> None:
    editor = Editor()
    pass_over(editor)
    assert not editor.unwanted()
    editor.type("va")
    pass_over(editor, "lue(one, two)")  # made anew behind what was typed: the same text at the same place
    editor.put("", replace=2)
    assert editor.unwanted()
    assert not editor.unwanted("other")
    assert not editor.rejections.unwanted(editor.query.document, Place(1, 0), LINE)


def test_time_and_edits_nearby_let_it_be_forgotten() -> None:
    editor = Editor("a\nb\nc\nd\nx = \nend\n", Place(4, 4))
    for _ in range(2):
        pass_over(editor)
    spot = (Place(4, 4), LINE)
    assert editor.rejections.unwanted(editor.query.document, *spot)
    far = editor.query.document.apply(Change("z", Position(0, 0), Position(0, 1)))
    near = editor.query.document.apply(Change("z", Position(3, 0), Position(3, 1)))
    assert editor.rejections.unwanted(far, *spot)
    assert not editor.rejections.unwanted(near, *spot)
    editor.clock.now += 600
    assert not editor.rejections.unwanted(editor.query.document, *spot)


def test_what_is_accepted_after_all_is_wanted() -> None:
    editor = Editor()
    for _ in range(2):
        pass_over(editor)
    editor.show(LINE)
    editor.put(LINE)
    editor.put("", replace=len(LINE))
    assert not editor.unwanted()


def test_a_closed_document_takes_its_refusals_along() -> None:
    editor = Editor()
    for _ in range(2):
        pass_over(editor)
    editor.rejections.closed(editor.query.document)
    assert not editor.unwanted()


@given(st.text("ab\n", max_size=6), st.text("ab\n", max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_agreement_is_the_common_beginning(there: str, expected: str, end: str) -> None:
    common = 0
    while common < min(len(there), len(expected)) and there[common] == expected[common]:
        common += 1
    text = Text.of(("xy" + there).replace("\n", end))
    assert agreement(text, Place(0, 2), expected, None) == common
