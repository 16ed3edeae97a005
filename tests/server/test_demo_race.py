"""The race of `velospec demo`: what it draws of given lanes, exactly, and a real one."""

from __future__ import annotations

import io
import threading
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from velospec.models.store import InstalledModel
from velospec_cli import demo_race_view as view
from velospec_cli.demo_race import Lane, Lanes, Token, race
from velospec_cli.demo_race_picture import picture

SVG = "{http://www.w3.org/2000/svg}"
PROMPT = "import math\n\ndef f"
WORDS = ["(x)", ":\n", "    return x", " <", " 3\n"]


def lanes(*, same: bool = True) -> Lanes:
    """A plain lane of a token each second, and one whose second step had three tokens of a draft."""
    plain = Lane("plain", speculate=False, steps=5, seconds=5.0, ids=(1, 2, 3, 4, 5))
    plain.tokens = [Token(float(at), word, "") for at, word in enumerate(WORDS, 1)]
    drafted = Lane("with drafts", speculate=True, steps=2, seconds=2.5)
    drafted.ids = (1, 2, 3, 4, 5) if same else (1, 2, 9)
    places = [(1.0, ""), (2.5, "suffix"), (2.5, "suffix"), (2.5, "suffix"), (2.5, "")]
    drafted.tokens = [Token(at, word, name) for (at, name), word in zip(places, WORDS, strict=True)]
    return plain, drafted


def drawn(thing: object, width: int = 60) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=20, highlight=False)
    console.print(thing)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def parsed_picture() -> ET.Element:
    return ET.fromstring(picture(PROMPT, lanes(), "a note"))  # noqa: S314 - made here


def test_panes_stand_side_by_side_with_a_legend() -> None:
    console = Console(file=io.StringIO(), width=60, height=8)
    assert drawn(view.panes(console, PROMPT, lanes())) == [
        "╭─ plain ────────────────────╮╭─ with drafts ──────────────╮",
        "│ def f(x):                  ││ def f(x):                  │",
        "│     return x < 3           ││     return x < 3           │",
        "│                            ││                            │",
        "╰─── 5 tokens, 1.0 tokens/s ─╯╰─── 5 tokens, 2.0 tokens/s ─╯",
        "■ suffix 3  □ the model itself 2",
    ]


def test_panes_colour_what_was_drafted_and_dim_what_was_there() -> None:
    console = Console(file=io.StringIO(), width=60, height=8, force_terminal=True, color_system="truecolor")
    console.print(view.panes(console, PROMPT, lanes()))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    red, green, blue = bytes.fromhex(view.COLOURS["suffix"].removeprefix("#"))
    assert shown.count("\x1b[2mdef f\x1b[0m(x)") == 2
    assert f"\x1b[38;2;{red};{green};{blue}m <\x1b[0m 3" in shown


def test_panes_show_the_end_of_a_text_that_is_too_long() -> None:
    long = lanes()
    for lane in long:
        lane.tokens += [Token(lane.seconds, f"line {number}\n", "") for number in range(9)]
    rows = drawn(view.panes(Console(file=io.StringIO(), width=60, height=8), PROMPT, long))
    assert [row[2:8] for row in rows[1:4]] == ["line 7", "line 8", "      "]


def test_the_result_has_both_speeds() -> None:
    assert [row.split() for row in drawn(view.result(lanes()), 80)[1:]] == [
        ["plain", "5", "5.0", "1.0", "1.00x", "1.00"],
        ["with", "drafts", "5", "2.5", "2.0", "2.00x", "2.50"],
    ]


def test_the_verdict_says_where_texts_differ() -> None:
    assert str(view.verdict(lanes())) == "Both wrote the same text, token for token."
    assert str(view.verdict(lanes(same=False))) == "The texts differ from token 3 on."
    shorter = lanes()
    shorter[1].ids = (1, 2)
    assert str(view.verdict(shorter)) == "The texts differ at the end."


def test_the_picture_shows_each_step_when_it_ended() -> None:
    root = parsed_picture()
    left, right = root.findall(f"{SVG}g")
    appearances = []
    for pane in (left, right):
        groups = pane.findall(f"{SVG}svg/{SVG}g")
        for group in groups:
            motion = group.find(f"{SVG}animate")
            assert motion is not None
            duration = float(motion.attrib["dur"].removesuffix("s"))
            start = float(motion.attrib["keyTimes"].removeprefix("0;")) * duration
            words = [text.text for text in group.findall(f"{SVG}text")]
            appearances.append((round(start, 1), words))
    assert duration == 9.6  # from before the first token to some seconds after the last
    assert appearances == [
        (1.6, ["(x)"]),
        (2.6, [":"]),
        (3.6, ["return x"]),
        (4.6, ["<"]),
        (5.6, ["3"]),
        (1.6, ["(x)"]),
        (3.1, [":", "return x", "<", "3"]),
    ]


def test_the_picture_colours_drafts_and_puts_text_where_it_stands() -> None:
    root = parsed_picture()
    runs = {text.text: text.attrib for text in root.findall(f"{SVG}g")[1].iter(f"{SVG}text")}
    assert runs["return x"]["style"] == f"fill:{view.COLOURS['suffix']}"
    assert "style" not in runs["3"]
    assert [float(runs[word]["x"]) for word in ("(x)", "return x", "<")] == [36.0, 28.8, 93.6]
    assert [runs[word]["y"] for word in ("(x)", "return x", "<")] == ["17", "34", "34"]
    assert [text.text for text in root.findall(f"{SVG}text")] == [
        "■ suffix 3",
        "■ the model itself 2",
        "The same text, token for token. a note",
    ]


def test_the_picture_ends_with_the_last_reading_where_nothing_moves() -> None:
    root = parsed_picture()
    for pane, reading in zip(
        root.findall(f"{SVG}g"),
        ["5 tokens, 5.0 s, 1.0 tokens/s", "5 tokens, 2.5 s, 2.0 tokens/s"],
        strict=True,
    ):
        still = [text.text for text in pane.findall(f"{SVG}text") if text.attrib.get("opacity") != "0"]
        assert still[1:] == [reading]


@pytest.mark.model
def test_a_real_race_ends_with_the_same_text(default_model: InstalledModel) -> None:
    looks = []
    prompt = (
        "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n\n\ndef multiply(a, b):"
    )
    plain, drafted = race(
        default_model, prompt, max_tokens=40, watch=lambda both: looks.append(len(both[0].tokens))
    )
    assert plain.ids == drafted.ids
    assert len(plain.tokens) == len(plain.ids) == plain.steps == 40
    assert drafted.steps < 40
    texts = ["".join(token.text for token in lane.tokens) for lane in (plain, drafted)]
    assert texts[0] == texts[1]
    assert texts[0].startswith("\n    return a * b\n")
    assert {token.proposer for token in plain.tokens} == {""}
    assert len({token.proposer for token in drafted.tokens}) > 1
    assert looks[-1] == 40
    assert len(picture(prompt, (plain, drafted), "")) < 100_000


@pytest.mark.model
def test_an_interrupt_ends_both_lanes(default_model: InstalledModel) -> None:
    def interrupt(_lanes: Lanes) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        race(default_model, "def f(", max_tokens=400, watch=interrupt)
    assert threading.active_count() == before
