"""Where a completion ends, byte by byte, and what may be shown before it has ended."""

from __future__ import annotations

import pytest

from velospec.core.request import FinishReason, Limits
from velospec.decode.detokenize import Detokenizer
from velospec.decode.stop import StopRules


def run(text: str, limits: Limits, cursor_line: str = "", size: int = 1) -> tuple[str, FinishReason | None]:
    """The kept text and the reason, for `text` fed in pieces of `size` bytes; checks what was settled."""
    rules, data, shown = StopRules(limits, cursor_line), text.encode(), b""
    reason = None
    for start in range(0, len(data), size):
        reason = rules.feed(data[start : start + size])
        assert rules.settled >= len(shown)
        shown = rules.bytes(0, rules.settled)
        if reason is not None:
            break
    kept = rules.bytes(0, rules.end)
    assert kept.startswith(shown), "something was shown that is not kept"
    return kept.decode(), reason


SIZES = [1, 2, 3, 7, 100]


@pytest.mark.parametrize("size", SIZES)
def test_stop_string_ends_the_text_before_it(size: int) -> None:
    assert run("one END two END", Limits(stop=("END",)), size=size) == ("one ", FinishReason.STOP)


@pytest.mark.parametrize("size", SIZES)
def test_the_earliest_stop_string_wins(size: int) -> None:
    limits = Limits(stop=("three", "two", "wo"))
    assert run("one two three", limits, size=size) == ("one ", FinishReason.STOP)


def test_possible_start_of_a_stop_string_is_held_back_and_released() -> None:
    rules = StopRules(Limits(stop=("</code>",)))
    assert rules.feed(b"a</co") is None
    assert rules.settled == 1
    assert rules.feed(b"l>") is None
    assert rules.settled == 7


def test_held_back_text_is_kept_when_nothing_follows() -> None:
    assert run("a</co", Limits(stop=("</code>",))) == ("a</co", None)


def test_overlapping_starts_of_a_stop_string() -> None:
    assert run("aaab", Limits(stop=("aab",))) == ("a", FinishReason.STOP)


def test_empty_stop_string_is_ignored() -> None:
    assert run("abc", Limits(stop=("",))) == ("abc", None)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("lines", "kept"), [(1, "a"), (2, "a\nb"), (3, "a\nb\n")])
def test_line_limit(lines: int, kept: str, size: int) -> None:
    assert run("a\nb\n\nc", Limits(max_lines=lines), size=size) == (kept, FinishReason.LINES)


def test_earliest_of_several_rules_wins_within_one_piece() -> None:
    limits = Limits(max_lines=1, stop=("x",))
    assert run("ab\ncx", limits, size=100) == ("ab", FinishReason.LINES)
    assert run("axb\nc", limits, size=100) == ("a", FinishReason.STOP)


SCOPE = Limits(indent_scope=True)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("cursor_line", "text", "kept"),
    [
        # Inside a block: the first line that is indented less ends it, blank lines before it included.
        ("    ", "a = 1\n    b = 2\n\n\ndef f():", "a = 1\n    b = 2"),
        ("    return", " a\n\nprint()", " a"),
        # Deeper blocks inside belong to it.
        ("    ", "if a:\n        b\n    c\nd", "if a:\n        b\n    c"),
        # A line that opens a block: its body, then what closes or continues it, nothing after.
        ("def f():", "\n    return 1\n\n\ndef g():", "\n    return 1"),
        ("function f() {", "\n  return 1;\n}\n\nfunction g() {", "\n  return 1;\n}"),
        ("if a:", "\n    b\nelse:\n    c\nd = 1", "\n    b\nelse:\n    c"),
        ("if a:", "\n    b\nelsewhere = 1", "\n    b"),
        (
            "  if (a) {",
            "\n    b();\n  } else {\n    c();\n  }\n  d();",
            "\n    b();\n  } else {\n    c();\n  }",
        ),
        # Tabs.
        ("\tx = 1", "\n\ty = 2\nz", "\n\ty = 2"),
    ],
)
def test_scope_ends_with_the_block(cursor_line: str, text: str, kept: str, size: int) -> None:
    assert run(text, SCOPE, cursor_line, size) == (kept, FinishReason.SCOPE)


@pytest.mark.parametrize(
    ("cursor_line", "text"),
    [("", "a\nb\n\nc"), ("x = 1", "\ny = 2\nz = 3"), ("    a", "\n\n\n    b"), ("def f():", "\n    a\n  ")],
)
def test_scope_goes_on_at_the_same_level(cursor_line: str, text: str) -> None:
    assert run(text, SCOPE, cursor_line) == (text, None)


def test_newline_is_held_back_until_the_line_after_it_has_text() -> None:
    rules = StopRules(SCOPE, "    a")
    assert rules.feed(b"b\n") is None
    assert rules.settled == 1
    assert rules.feed(b"    ") is None
    assert rules.settled == 1
    assert rules.feed(b"c") is None
    assert rules.settled == 7


EMOJI = "a😀é漢👩‍👩‍👧z"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_detokenizer_never_ends_inside_a_character(size: int) -> None:
    detokenizer, data = Detokenizer(), EMOJI.encode()
    parts = [detokenizer.feed(data[start : start + size]) for start in range(0, len(data), size)]
    assert "".join(parts) == EMOJI
    assert detokenizer.waiting == 0


def test_detokenizer_tells_what_waits() -> None:
    detokenizer = Detokenizer()
    assert detokenizer.feed("x😀".encode()[:-1]) == "x"
    assert detokenizer.waiting == 3


@pytest.mark.parametrize("data", [b"a\xffb", b"\xf0\x9f\x98x", b"\xc3\x28", b"\xed\xa0\x80.", b"\x80\x80"])
def test_detokenizer_replaces_invalid_bytes_as_a_whole_decode_does(data: bytes) -> None:
    detokenizer = Detokenizer()
    assert "".join(detokenizer.feed(data[i : i + 1]) for i in range(len(data))) == data.decode(
        errors="replace"
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("after", range(0, 22, 3))
def test_a_pause_ends_with_whole_lines_and_takes_back_nothing_shown(size: int, after: int) -> None:
    text = "\n \none two\n  three\nfour\n"
    rules, shown, reason = StopRules(Limits(lines_ms=0.0)), b"", None
    for start in range(0, len(text), size):
        reason = rules.feed(text[start : start + size].encode())
        if reason is None and start + size > after:
            reason = rules.pause()
        assert rules.bytes(0, rules.settled).startswith(shown)
        shown = rules.bytes(0, rules.settled)
        if reason is not None:
            break
    kept = rules.bytes(0, rules.end).decode()
    assert reason is FinishReason.PAUSE
    assert kept in ("\n \none two", "\n \none two\n  three", "\n \none two\n  three\nfour")
    assert kept.startswith(shown.decode())
    if size == 1:
        assert kept == ("\n \none two" if after < 18 else "\n \none two\n  three")
