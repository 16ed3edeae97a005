"""The edit commands in the real Neovim: the file still parses, and one undo restores it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import edit_desk
from tests.support import neovim as driver
from tests.support.edit_desk import Desk
from tests.support.edit_samples import SAMPLES, Sample
from tests.support.edit_screen import COMMANDS, Screen
from velospec_lsp.syntax import Syntax

pytestmark = pytest.mark.editor


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


CASES = [pytest.param(sample, name, id=f"{sample.file}-{name}") for sample in SAMPLES for name in COMMANDS]


@pytest.mark.parametrize(("sample", "command"), CASES)
def test_an_edit_parses_and_one_undo_restores(
    screen: Screen, desk: Desk, sample: Sample, command: str
) -> None:
    desk.clear()
    desk.call("Rewrite", "replace", code=sample.new)
    lines = {name: f'the {name}, */ """ and its \\ own' for name in sample.parameters}
    desk.call("What does the", "document", summary="Does what it is named for", parameters=lines, returns="")
    desk.call("better names", "rename", names=[sample.name, sample.fresh, "another"])
    screen.open(sample)
    COMMANDS[command](screen, sample)
    text = screen.text()
    assert text != sample.text
    assert Syntax(sample.language, text).errors == Syntax(sample.language, sample.text).errors == 0
    if command == "edit":
        assert text == sample.text.replace(sample.old, sample.new)
    elif command == "rename-suggest":
        assert sample.fresh in text
        assert len(text.split("\n")) == len(sample.text.split("\n"))
    else:
        assert "oes what it is named for" in text
        assert "Old" not in text
    screen.undo()
    assert screen.text() == sample.text


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_a_call_that_does_not_apply_changes_nothing(
    screen: Screen, desk: Desk, sample: Sample, command: str
) -> None:
    desk.clear()
    desk.call("Rewrite", "replace", code=f"{sample.new} ((")
    desk.call("What does the", "document", summary="-")
    desk.call("better names", "rename", names=[sample.name, sample.function, "if"])
    screen.open(sample)
    tick = screen.editor.lua("return vim.b.changedtick")
    screen.editor.nvim.command("messages clear")
    COMMANDS[command](screen, sample)
    assert screen.text() == sample.text
    assert screen.editor.lua("return vim.b.changedtick") == tick
    reason = {
        "edit": "would no longer parse",
        "docstring": "said nothing",
        "rename-suggest": "No usable name",
    }[command]
    assert reason in screen.editor.messages()


def test_undo_takes_back_the_edit_and_not_what_was_typed_before(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.call("better names", "rename", names=["renamed", "b", "c"])
    sample = SAMPLES[0]
    screen.open(sample)
    screen.editor.keys("ggO# A comment.<Esc>")
    typed = "# A comment.\n" + sample.text
    screen.editor.wait(lambda: screen.text() == typed, "what was typed")
    screen.put_cursor(typed.index("result"), typed)
    screen.run("VeloSpec rename-suggest")
    assert screen.text() == typed.replace("result", "renamed")
    screen.undo()
    assert screen.text() == typed


def test_an_instruction_is_asked_for(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.call("Make it 2.", "replace", code="result = 2")
    screen.open(SAMPLES[0])
    screen.editor.lua(
        "vim.ui.input = function(options, done) _G.asked = options.prompt done('Make it 2') end"
    )
    screen.run("2VeloSpec edit")
    assert screen.editor.lua("return _G.asked") == "What to do: "
    assert "    result = 2\n" in screen.text()
    screen.undo()


def test_selected_characters_are_rewritten(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.call("Rewrite", "replace", code="item.price * 2")
    sample = SAMPLES[0]
    screen.open(sample)
    before = screen.done
    screen.editor.keys("4G0f=wve2le:VeloSpec edit Double it<CR>")
    screen.editor.wait(lambda: screen.done > before, "the edit")
    assert screen.text() == sample.text.replace("item.price", "item.price * 2")
    screen.undo()


def test_a_code_action_asks_and_edits(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.call("Make it 3.", "replace", code="result = 3")
    screen.open(SAMPLES[0])
    screen.put_cursor(SAMPLES[0].text.index("result"), SAMPLES[0].text)
    screen.editor.lua("vim.ui.input = function(_, done) done('Make it 3') end")
    before = screen.done
    screen.editor.lua(
        "vim.lsp.buf.code_action({ apply = true, filter = function(it) return it.title:find('Edit') end })"
    )
    screen.editor.wait(lambda: screen.done > before, "the edit")
    assert "    result = 3\n" in screen.text()
    screen.undo()


def test_typing_meanwhile_ends_the_edit(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.answer("Rewrite", json.dumps({"name": "replace", "arguments": {"code": "x = 1"}}), wait=True)
    sample = SAMPLES[0]
    screen.open(sample)
    before = screen.done
    screen.editor.nvim.command("2VeloSpec edit Do it")
    screen.editor.wait(desk.log, "the question")
    screen.editor.keys("Gonew = 1<Esc>")
    screen.editor.wait(lambda: screen.done > before, "the end")
    desk.go()
    assert screen.text() == sample.text + "new = 1\n"
    assert "was changed meanwhile" in screen.editor.messages()
    screen.undo()
