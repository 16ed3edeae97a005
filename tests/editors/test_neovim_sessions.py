"""Recorded editing sessions in the real Neovim with the installed language server: no extra characters.

The model's answers are written down in the sessions; all the rest is real.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support import edit_desk
from tests.support import neovim as driver
from tests.support.edit_desk import Desk
from tests.support.sessions import File, Session, sessions
from tests.support.sessions_neovim import Screen

pytestmark = pytest.mark.editor

SESSIONS = sessions("neovim")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with edit_desk.running(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture(scope="module")
def screen(neovim: Path, desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    """One editor for all tests of the file."""
    folder = tmp_path_factory.mktemp("screen")
    with driver.running(neovim, folder / "home", desk.environment) as editor:
        yield Screen(editor, folder)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_a_session(screen: Screen, desk: Desk, session: Session) -> None:
    desk.clear()
    desk.infill(session.answers)
    screen.replay(session)


LINE = "x = "
OFFERED = ("value(1) + other(2)", "größe['😋'] + 'é'", "f(a, [b], {c})\nprint(x)")


def along(screen: Screen, desk: Desk, chance: random.Random, number: int) -> None:
    """Types some of what is offered, accepts at a moment that chance chooses, and types on at once."""
    offered = chance.choice(OFFERED)
    pairs = chance.random() < 0.5
    typed = chance.randrange(len(offered.partition("\n")[0]))
    session = Session(
        f"along{number}", "", 50, 0, {f"along{number}.py": File("\n", "", "python")}, (), pairs=pairs
    )
    desk.clear()
    desk.infill({LINE: offered})
    screen.open(session)
    screen.type(LINE, chance)
    screen.editor.wait(lambda: screen.shows(offered), f"the offer {offered!r}", 20)
    screen.type(offered[:typed], chance)
    screen.editor.keys("<Tab>")
    screen.editor.keys(";")  # before anything else can have come
    name, text = next(iter(session.files)), f"{LINE}{offered};\n"
    screen.editor.wait(lambda: screen.has(name, text), f"{text!r}, {offered[:typed]!r} typed", 10)
    assert screen.server_text(name) == text


def blindly(screen: Screen, desk: Desk, chance: random.Random, number: int) -> None:
    """The same without a look at the screen: the key accepts what is shown by then, or is a tab."""
    offered = chance.choice(OFFERED)
    typed = chance.randrange(len(offered.partition("\n")[0]))
    name = f"blindly{number}.py"
    desk.clear()
    desk.infill({(LINE + offered)[:end]: (LINE + offered)[end:] for end in range(1, len(LINE) + typed + 1)})
    screen.open(Session(name, "", 50, 0, {name: File("\n", "", "python")}, ()))
    screen.type(LINE + offered[:typed], chance)
    screen.editor.keys("<Tab>;")
    right = (f"{LINE}{offered};\n", f"{LINE}{offered[:typed]}\t;\n")
    screen.editor.wait(lambda: ";" in screen.text(name), "the last key", 10)
    assert screen.text(name) in right
    assert screen.server_text(name) == screen.text(name)


@pytest.mark.parametrize("way", [along, blindly])
def test_accepting_while_typing(screen: Screen, desk: Desk, way: Callable[..., None]) -> None:
    chance = random.Random(5)  # noqa: S311 - test data
    for number in range(4):
        way(screen, desk, chance, number)


@pytest.mark.slow
@pytest.mark.parametrize("way", [along, blindly])
def test_accepting_while_typing_again_and_again(screen: Screen, desk: Desk, way: Callable[..., None]) -> None:
    chance = random.Random(50_300)  # noqa: S311 - test data
    for number in range(100, 140):
        way(screen, desk, chance, number)


def test_brackets_closed_since_the_answer_do_not_come_twice(screen: Screen, desk: Desk) -> None:
    offered = "f([a], g(b))\nprint(x)"
    for typed in ("f", "f(", "f([", "f([a", "f([a], g("):
        name = f"closed{len(typed)}.py"
        desk.clear()
        desk.infill({LINE: offered})
        screen.open(Session(name, "", 0, 0, {name: File("\n", "", "python")}, (), pairs=True))
        screen.type(LINE, 0)
        screen.editor.wait(partial(screen.shows, offered), f"the offer {offered!r}", 20)
        screen.editor.keys(f"{typed}<Tab>;")  # at once: no newer answer can have come
        text = f"{LINE}{offered};\n"
        screen.editor.wait(partial(screen.has, name, text), f"{text!r}, {typed!r} typed", 10)


def test_one_undo_takes_back_what_was_accepted(screen: Screen, desk: Desk) -> None:
    file = File("\n", "", "python")
    desk.clear()
    desk.infill({LINE: "value(1)\nprint(x)"})
    screen.open(Session("undo-one", "", 50, 0, {"undo-one.py": file}, ()))
    screen.type(LINE, 50)
    screen.editor.wait(lambda: screen.shows("value(1)\nprint(x)"), "the offer", 20)
    screen.editor.keys("<Tab>")
    screen.type(" # on", 50)
    after = f"{LINE}value(1)\nprint(x) # on\n"
    screen.editor.wait(lambda: screen.has("undo-one.py", after), "what was typed behind", 10)
    for keys, text in (("<Esc>u", f"{LINE}\n"), ("u", "\n"), ("<C-r>", f"{LINE}\n"), ("<C-r>", after)):
        screen.editor.keys(keys)
        screen.editor.wait(partial(screen.has, "undo-one.py", text), f"{text!r} after {keys}", 10)
