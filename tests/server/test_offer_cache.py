"""Typed-through answers: for every split of a completion, and never for another text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from velospec_lsp.completion.cache import Hit, OfferCache
from velospec_lsp.completion.closers import follows
from velospec_lsp.completion.site import Site

URI = "file:///a.py"
PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"'}


def site(prefix: str, suffix: str = "") -> Site:
    return Site(prefix, suffix, prefix.rpartition("\n")[2], suffix.partition("\n")[0], (), "")


def cache_of(*texts: tuple[str, Site, str]) -> OfferCache:
    cache = OfferCache()
    for identity, place, text in texts:
        cache.put(URI, place, Hit(identity, "", text))
    return cache


@given(st.text("ab\n", max_size=8), st.text("ab\n", min_size=1, max_size=8), st.data())
def test_every_beginning_that_was_typed_is_answered(prefix: str, text: str, data: st.DataObject) -> None:
    cache = cache_of(("v1", site(prefix), text))
    typed = data.draw(st.integers(0, len(text) - 1))
    [hit] = cache.find(URI, site(prefix + text[:typed]))[:1]
    assert hit.typed + hit.text == text
    assert (prefix + text[:typed]).endswith(hit.typed)


@given(
    st.text("ab", min_size=4, max_size=8), st.text("ab", min_size=1, max_size=6), st.text("abc", max_size=6)
)
def test_what_is_offered_was_completed_at_that_text(prefix: str, text: str, typed: str) -> None:
    cache = cache_of(("v1", site("<" + prefix), text))
    hits = cache.find(URI, site("<" + prefix + typed))
    fits = len(typed) < len(text) and text.startswith(typed)
    assert hits == ((Hit("v1", typed, text[len(typed) :]),) if fits else ())


@given(st.lists(st.tuples(st.text("ab\n", max_size=5), st.text("ab\n", min_size=1, max_size=5)), max_size=9))
def test_what_is_offered_was_written_by_the_model_at_that_place(written: list[tuple[str, str]]) -> None:
    cache = cache_of(*((f"v{at}", site(prefix), text) for at, (prefix, text) in enumerate(written)))
    for prefix, text in written:
        for typed in range(len(text)):
            here = prefix + text[:typed]
            hits = cache.find(URI, site(here))
            possible = {
                (old + new)[len(here) :]
                for old, new in written
                if here.startswith(old) and (old + new).startswith(here) and old + new != here
            }
            assert {hit.text for hit in hits} == possible
            assert len(hits) == len(possible)


def test_other_documents_suffixes_and_requests() -> None:
    cache = OfferCache()
    cache.put(URI, site("x = ", "\n"), Hit("v1", "", "12"), cut=True)
    assert cache.find("file:///b.py", site("x = ", "\n")) == ()
    assert cache.find(URI, site("x = ", "y\n")) == ()
    assert cache.find(URI, site("x = 12", "\n")) == ()
    assert cache.find(URI, site("x = 1", "\n")) == (Hit("v1", "1", "2"),)
    # What the time of an automatic request has cut off is no answer to one made by hand.
    assert cache.find(URI, site("x = ", "\n"), manual=True) == ()
    cache.put(URI, site("y = ", "\n"), Hit("v2", "", "12"))
    assert cache.find(URI, site("y = ", "\n"), manual=True) == (Hit("v2", "", "12"),)


def test_a_window_that_has_moved_still_fits() -> None:
    lines = "".join(f"line {number}\n" for number in range(60))
    cache = cache_of(("v1", site(f"{lines}x = "), "12"))
    moved = lines.partition("line 7\n")[2]
    assert cache.find(URI, site(f"{moved}x = 1")) == (Hit("v1", "1", "2"),)
    assert cache.find(URI, site(f"{moved[3:]}x = 1")) == ()
    assert cache.find(URI, site("line 59\nx = 1")) == ()


def test_a_place_that_is_come_back_to_has_the_offer_of_then() -> None:
    cache = cache_of(("v1", site("x = "), "value(1)"), ("v2", site("x = vo"), "id"))
    assert cache.find(URI, site("x = va")) == (Hit("v1", "va", "lue(1)"),)
    assert cache.find(URI, site("x = vo")) == (Hit("v2", "", "id"),)
    assert cache.find(URI, site("x = v")) == (Hit("v1", "v", "alue(1)"),)
    assert cache.find(URI, site("x =")) == ()


def test_the_least_recently_used_go() -> None:
    cache = OfferCache()
    for number in range(300):
        cache.put(URI, site(f"{number:3} = "), Hit(f"v{number}", "", "1"))
        assert cache.find(URI, site("  0 = ")) == (Hit("v0", "", "1"),)
    assert cache.find(URI, site("  1 = ")) == ()
    assert cache.find(URI, site("299 = ")) == (Hit("v299", "", "1"),)
    cache.forget("file:///b.py")
    assert cache.find(URI, site("299 = ")) != ()
    cache.forget(URI)
    assert cache.find(URI, site("299 = ")) == ()


def test_what_is_shown_stays_but_for_what_extends_it() -> None:
    cache = cache_of(("v1", site("x = "), "one(1)"))
    assert cache.find(URI, site("x = o"))[0].id == "v1"
    cache.put(URI, site("x = o"), Hit("v2", "", "ther"))
    assert [hit.id for hit in cache.find(URI, site("x = o"))] == ["v2", "v1"]  # the newest, shown from now on
    assert [hit.id for hit in cache.find(URI, site("x = "))] == ["v1"]
    cache.put(URI, site("x = o"), Hit("v3", "", "ne(1) + 2"))
    cache.find(URI, site("x = on"))
    assert [hit.text for hit in cache.find(URI, site("x = on"))] == ["e(1) + 2", "e(1)"]
    # A further choice never takes the place of what is shown, whether it extends it or not.
    cache.put(URI, site("x = o"), Hit("v4", "", "ne(1) + 2 + 3", sampled=True))
    assert [hit.id for hit in cache.find(URI, site("x = on"))] == ["v3", "v1", "v4"]


def test_a_text_that_goes_on_is_extended_under_its_name() -> None:
    cache = OfferCache()
    cache.put(URI, site("x = "), Hit("v1", "", "one("), cut=True)
    cache.extend("v1", "1)", cut=False)
    cache.extend("v2", "nothing", cut=False)
    assert cache.find(URI, site("x = o"), manual=True) == (Hit("v1", "o", "ne(1)"),)


def test_a_look_up_costs_one_step_for_each_character_that_may_be_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = "    return value(first, second)\n"
    lines = "".join(f"line {number}\n" for number in range(400))
    cache = OfferCache()
    for number in range(250):
        cache.put(URI, site(f"{lines}x{number} = "), Hit(f"v{number}", "", f"{number}(\n" + 11 * line))
    steps = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    here = site(f"{lines}x7 = 7(\n" + 10 * line)
    sys.setprofile(count)
    try:
        [hit] = cache.find(URI, here)
    finally:
        sys.setprofile(None)
    assert hit.id == "v7"
    # The text has 360 characters: less than four calls for each, and not 250 texts compared.
    assert steps < 4 * 360


@pytest.mark.parametrize(
    ("then", "now", "typed", "right"),
    [
        ("\n", ")\n", "f(", True),
        ("\n", '")\n', 'f("', True),
        ("\n", "\n}\n", "if (x) {\n  ", True),
        (")\n", "\n", "x)", True),
        (")\n", "])\n", "[", True),
        (')"\n', "\n", ')"', True),
        ("\n", ")\n", "f(x)", False),
        ("\n", "]\n", "f(", False),
        ("\n", " \n", "f(", False),
        ("\n", "\n\n", "f(", False),
        (") + 1\n", " + 1\n", "x", False),
        ("\n", "x)\n", "f(", False),
    ],
)
def test_what_editors_do_behind_the_cursor(then: str, now: str, typed: str, right: bool) -> None:
    assert follows(then, now, typed) is right


def test_windows_that_were_cut_off_at_their_ends() -> None:
    long = "".join(f"line {number}\n" for number in range(90))
    assert follows(long[:500], (")" + long)[:500], "f(")
    assert follows((")" + long)[:500], long[:500], "x)")
    assert not follows(long[:500], ")" + long[:400], "f(")
    assert not follows(long[:500], (")" + long.replace("line 20", "line 02"))[:500], "f(")


@given(st.text('([{"x', max_size=6), st.text("ab\n)", max_size=6))
@example('("x', "\n")
def test_all_that_an_editor_closes_by_itself_follows(typed: str, then: str) -> None:
    added: list[str] = []
    for char in typed:
        if added and char == '"' == added[-1]:
            added.pop()
        elif char in PAIRS and not (added and added[-1] == '"'):
            added.append(PAIRS[char])
    assert follows(then, "".join(reversed(added)) + then, typed)
