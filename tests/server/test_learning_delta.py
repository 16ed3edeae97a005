"""One change between two snapshots: applied by the daemon to the earlier text, it gives the later one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from velospec.core.learning import TextChange
from velospec.learning.workspace.documents import apply
from velospec_lsp.learning.delta import change_between
from velospec_lsp.text import Place, Text, to_lf

TEXTS = st.text(st.sampled_from("ab\n\r\té😋"), max_size=40)
PLACES = st.builds(Place, st.integers(0, 900), st.integers(0, 6))


def lf(text: Text) -> str:
    return to_lf(text.lines(0))


@given(start=TEXTS, lines=st.integers(0, 700), edits=st.lists(st.tuples(PLACES, PLACES, TEXTS), max_size=5))
def test_the_change_makes_the_later_text(
    start: str, lines: int, edits: list[tuple[Place, Place, str]]
) -> None:
    before = Text.of("".join(f"line {number}\r\n" for number in range(lines)) + start)
    after = before
    for first, last, new in edits:
        after = after.replace(first, last, new)
    change = change_between(before, after)
    assert apply(lf(before), [change] if change else []) == lf(after)
    assert (change is None) == (lf(before) == lf(after))


def test_the_change_is_as_small_as_it_can_be() -> None:
    before = Text.of("".join(f"line {number}\n" for number in range(1000)))
    at = lf(before).index("line 500")
    after = before.replace(Place(500, 5), Place(500, 8), "five")
    assert change_between(before, after) == TextChange(at + 5, at + 8, "five")
    typed = after.replace(Place(700, 0), Place(700, 0), "x")
    assert change_between(after, typed) == TextChange(
        lf(after).index("line 700"), lf(after).index("line 700"), "x"
    )


def test_line_ends_make_no_difference() -> None:
    assert change_between(Text.of("a\r\nb\rc"), Text.of("a\nb\nc")) is None
