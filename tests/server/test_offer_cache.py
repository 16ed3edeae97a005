"""Typed-through answers: for every split of a completion, and never for another text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from velospec_lsp.completion.cache import Hit, OfferCache
from velospec_lsp.completion.site import Site

URI = "file:///a.py"


def site(prefix: str, suffix: str = "") -> Site:
    return Site(prefix, suffix, prefix.rpartition("\n")[2], "", (), "")


@given(st.text("ab\n", max_size=8), st.text("ab\n", min_size=1, max_size=8), st.data())
def test_every_beginning_that_was_typed_is_answered(prefix: str, text: str, data: st.DataObject) -> None:
    cache = OfferCache()
    cache.put("v1", URI, site(prefix), text, manual=False)
    typed = data.draw(st.integers(0, len(text) - 1))
    hit = cache.get(URI, site(prefix + text[:typed]), manual=False)
    assert hit is not None
    assert text.startswith(hit.typed)
    assert hit.typed + hit.text == text
    assert (prefix + text).endswith(text[:typed] + hit.text) or hit.typed != text[:typed]


@given(
    st.text("ab", min_size=4, max_size=8), st.text("ab", min_size=1, max_size=6), st.text("abc", max_size=6)
)
def test_what_is_offered_was_completed_at_that_text(prefix: str, text: str, typed: str) -> None:
    cache = OfferCache()
    cache.put("v1", URI, site("<" + prefix), text, manual=False)
    hit = cache.get(URI, site("<" + prefix + typed), manual=False)
    assert (hit is not None) == (len(typed) < len(text) and text.startswith(typed))
    assert hit is None or hit == Hit("v1", typed, text[len(typed) :])


def test_other_documents_suffixes_and_requests() -> None:
    cache = OfferCache()
    cache.put("v1", URI, site("x = ", "\n"), "12", manual=False)
    assert cache.get("file:///b.py", site("x = ", "\n"), manual=False) is None
    assert cache.get(URI, site("x = ", "y\n"), manual=False) is None
    assert cache.get(URI, site("x = 12", "\n"), manual=False) is None
    assert cache.get(URI, site("x = ", "\n"), manual=True) is None
    assert cache.get(URI, site("x = 1", "\n"), manual=False) == Hit("v1", "1", "2")


def test_a_window_that_has_moved_still_fits() -> None:
    cache = OfferCache()
    lines = "".join(f"line {number}\n" for number in range(60))
    cache.put("v1", URI, site(f"{lines}x = "), "12", manual=False)
    moved = lines.partition("line 7\n")[2]
    assert cache.get(URI, site(f"{moved}x = 1"), manual=False) == Hit("v1", "1", "2")
    assert cache.get(URI, site(f"{moved[3:]}x = 1"), manual=False) is None
    assert cache.get(URI, site("line 59\nx = 1"), manual=False) is None


def test_the_newest_counts_and_the_oldest_go() -> None:
    cache = OfferCache()
    for number in range(100):
        cache.put(f"v{number}", URI, site(f"{number} = "), "1", manual=False)
    assert cache.get(URI, site("0 = "), manual=False) is None
    assert cache.get(URI, site("99 = "), manual=False) == Hit("v99", "", "1")
    cache.put("w", URI, site("99 = "), "2", manual=True)
    assert cache.get(URI, site("99 = "), manual=True) == Hit("w", "", "2")
    cache.forget("file:///b.py")
    assert cache.get(URI, site("99 = "), manual=False) is not None
    cache.forget(URI)
    assert cache.get(URI, site("99 = "), manual=False) is None
