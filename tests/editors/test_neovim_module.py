"""The Lua module in the real Neovim, against a server whose answers the test writes down."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import neovim as driver
from tests.support import scripted_server
from tests.support.neovim import Neovim

pytestmark = pytest.mark.editor

RUNTIME = Path(__file__).resolve().parents[2] / "server" / "velospec_lsp" / "nvim"


class Desk:
    """An editor, and the answers that its server gives."""

    def __init__(self, editor: Neovim, folder: Path) -> None:
        self.editor = editor
        self.folder = folder
        self.answers = folder / "answers.json"
        self.answer({})

    def answer(self, answers: dict[str, Any]) -> None:
        self.answers.write_text(json.dumps(answers), encoding="utf-8")

    def setup(self, options: str = "") -> None:
        """Adds the module to the runtime path and calls its setup() with these more options."""
        self.editor.lua(
            "vim.opt.runtimepath:append(...) vim.cmd.runtime('plugin/velospec.lua')", str(RUNTIME)
        )
        command = [sys.executable, scripted_server.__file__, str(self.answers)]
        self.editor.lua(f"require('velospec').setup({{ cmd = ..., {options} }})", command)

    def open(self, text: str = "") -> None:
        path = self.folder / "notes.py"
        path.write_text(text, encoding="utf-8")
        self.editor.edit(path)
        self.editor.wait_for_server()

    def executed(self) -> list[dict[str, Any]]:
        log = self.answers.with_suffix(".log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def ghost(self, text: str) -> None:
        self.editor.wait(lambda: self.editor.ghost() == text, f"the ghost text {text!r}", 15)

    def lines(self, *lines: str) -> None:
        self.editor.wait(lambda: self.editor.lines() == list(lines), f"the buffer {lines!r}", 15)


@pytest.fixture
def desk(neovim: Path, tmp_path: Path) -> Iterator[Desk]:
    with driver.running(neovim, tmp_path / "home") as editor:
        yield Desk(editor, tmp_path)


def test_accepts_all(desk: Desk) -> None:
    desk.setup()
    desk.open()
    desk.answer({"def add(": [{"text": "a, b):\n    return a + b"}]})
    desk.editor.keys("idef add(")
    desk.ghost("a, b):\n    return a + b")
    assert desk.editor.screen()[:2] == ["def add(a, b):", "    return a + b"]
    desk.editor.keys("<Tab>")
    desk.lines("def add(a, b):", "    return a + b")
    assert desk.editor.cursor == (2, 16)
    accepted = {"command": "velospec.accepted", "arguments": ["a, b):\n    return a + b"]}
    desk.editor.wait(lambda: desk.executed() == [accepted], "the accept command", 10)


def test_accepts_word_by_word_and_line_by_line(desk: Desk) -> None:
    desk.setup()
    desk.open()
    text = "name, größe):\n    return name"
    desk.answer(
        {
            "f(": [{"text": text}],
            "f(name": [{"text": text.removeprefix("name")}],
            "f(name,": [{"text": text.removeprefix("name,")}],
            "f(name, größe": [{"text": text.removeprefix("name, größe")}],
            "f(name, größe):": [{"text": "\n    return name"}],
        }
    )
    desk.editor.keys("if(")
    desk.ghost(text)
    for buffer in ("f(name", "f(name,", "f(name, größe"):
        desk.editor.keys("<M-Right>")
        desk.lines(buffer)
        desk.ghost(text.removeprefix(buffer.removeprefix("f(")))
    desk.editor.keys("<M-C-Right>")
    desk.lines("f(name, größe):")
    desk.ghost("\n    return name")
    desk.editor.keys("<M-C-Right>")
    desk.lines("f(name, größe):", "    return name")
    # Only the last part finished the item.
    desk.editor.wait(lambda: len(desk.executed()) == 1, "the accept command", 10)


def test_a_word_leaves_the_closers_behind_the_cursor(desk: Desk) -> None:
    desk.setup()
    desk.open("print()\n")
    desk.answer(
        {"print(": [{"text": "a, b)", "end": 7}], "print(a": [{"text": ", b)", "start": 7, "end": 8}]}
    )
    desk.editor.keys("f)i")
    desk.ghost("a, b)")
    desk.editor.keys("<M-Right>")
    desk.lines("print(a)")
    desk.ghost(", b)")
    desk.editor.keys("<Tab>")
    desk.lines("print(a, b)")


def test_accepts_what_is_left_after_typing_on(desk: Desk) -> None:
    """Neovim itself would insert the whole stored text after what was typed since the answer."""
    desk.setup()
    desk.open()
    desk.answer({"re": [{"text": "turn value"}]})
    desk.editor.keys("ire")
    desk.ghost("turn value")
    desk.editor.keys("tu<Tab>")  # at once: no newer answer can have come
    desk.lines("return value")


def test_does_not_accept_what_was_typed_against(desk: Desk) -> None:
    desk.setup()
    desk.open()
    desk.answer({"re": [{"text": "turn value"}]})
    desk.editor.keys("ire")
    desk.ghost("turn value")
    desk.editor.keys("x<Tab>y")
    desk.lines("rexy")


def test_keys_fall_back_to_what_they_did(desk: Desk) -> None:
    desk.editor.lua("vim.keymap.set('i', '<Tab>', function() return 'mine' end, { expr = true })")
    desk.editor.lua("vim.keymap.set('i', '<M-Right>', 'word')")
    desk.setup("keys = { accept_line = '<C-l>', next = false }")
    desk.open()
    desk.editor.keys("i<Tab>-<M-Right>-<C-]>-<C-v><C-l>")
    desk.lines("mine-word--\f")
    assert desk.editor.lua("return vim.fn.maparg('<M-]>', 'i')") == ""
    assert desk.editor.lua("return vim.fn.maparg('<M-C-Right>', 'i')") == ""


def test_tab_indents_where_nothing_is_shown(desk: Desk) -> None:
    desk.setup()
    desk.open()
    desk.editor.keys("i<Tab>x")
    desk.lines("    x")  # expandtab and shiftwidth of the Python file type


def test_tab_belongs_to_a_chosen_menu_entry(desk: Desk) -> None:
    desk.setup()
    desk.open("alpha = alps\n")
    desk.answer({"alpha": [{"text": " + 1"}]})
    desk.editor.keys("oal<C-n>")
    desk.editor.wait(lambda: desk.editor.lua("return vim.fn.pumvisible()") == 1, "the menu", 10)
    desk.ghost(" + 1")
    desk.editor.keys("<Tab>x")
    desk.lines("alpha = alps", "alpha   x")


def test_dismisses(desk: Desk) -> None:
    desk.setup()
    desk.open()
    desk.answer({"re": [{"text": "turn value"}]})
    desk.editor.keys("ire")
    desk.ghost("turn value")
    desk.editor.keys("<C-]>")
    desk.ghost("")
    desk.lines("re")


def test_shows_the_next_alternative(desk: Desk) -> None:
    desk.setup()
    desk.open()
    desk.answer({"re": [{"text": "turn"}, {"text": "peat"}]})
    desk.editor.keys("ire")
    desk.ghost("turn")
    desk.editor.keys("<M-]>")
    desk.ghost("peat (2/2)")
    desk.editor.keys("<Tab>")
    desk.lines("repeat")


def test_a_second_setup_keeps_the_users_mapping(desk: Desk) -> None:
    desk.editor.lua("vim.keymap.set('i', '<Tab>', 'mine')")
    desk.setup()
    desk.setup("keys = { accept = '<C-y>' }")
    desk.open()
    desk.editor.keys("i<Tab>")
    desk.lines("mine")


def test_status_line_and_commands(desk: Desk) -> None:
    desk.setup()
    statusline = "return require('velospec').statusline()"
    assert desk.editor.lua(statusline) == ""
    desk.open()
    desk.editor.wait(lambda: desk.editor.lua(statusline) == "VeloSpec: loading the model", "the status", 10)
    desk.editor.nvim.command("VeloSpec why")
    desk.editor.wait(lambda: "velospec.why answered" in desk.editor.messages(), "the answer", 10)
    uri = (desk.folder / "notes.py").as_uri()
    assert desk.executed() == [{"command": "velospec.why", "arguments": [uri]}]
    desk.editor.nvim.command("VeloSpec disable")
    assert desk.editor.lua(statusline) == "VeloSpec off"
    desk.editor.nvim.command("VeloSpec enable")
    assert desk.editor.lua(statusline) == "VeloSpec: loading the model"
    complete = desk.editor.lua("return vim.fn.getcompletion('VeloSpec r', 'cmdline')")
    assert complete == ["rename-suggest", "restart"]


def test_what_was_learned_is_asked_for_and_forgotten(desk: Desk) -> None:
    desk.setup()
    desk.answer({"velospec.workspace.show": {"text": "Learned of /p: 1 file, 2 lines."}})
    desk.open()
    for words in ("workspace", "workspace stats", "workspace forget", "workspace forget  file"):
        desk.editor.nvim.command(f"VeloSpec {words}")
    desk.editor.wait(lambda: len(desk.executed()) == 4, "the commands", 10)
    uri = (desk.folder / "notes.py").as_uri()
    assert desk.executed() == [
        {"command": "velospec.workspace.show", "arguments": [uri]},
        {"command": "velospec.workspace.stats", "arguments": []},
        {"command": "velospec.workspace.forget", "arguments": [uri]},
        {"command": "velospec.workspace.forget", "arguments": [uri, "file"]},
    ]
    assert "Learned of /p: 1 file, 2 lines." in desk.editor.messages()
    desk.editor.nvim.command("silent! VeloSpec workspace show all")
    assert len(desk.executed()) == 4
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert desk.editor.lua(complete, "VeloSpec workspace f") == ["forget", "forget file"]
    assert desk.editor.lua(complete, "VeloSpec workspace forget f") == ["file"]


def test_why_shows_the_stages_in_a_window_that_goes_away(desk: Desk) -> None:
    desk.setup()
    stages = [{"stage": "gate", "ms": 0.5, "note": ""}, {"stage": "model", "ms": 83.5, "note": "3 tokens"}]
    reason = "The model has nothing to add here."
    why = {"text": "", "reason": reason, "stage": "model", "ms": 84.0, "stages": stages}
    desk.answer({"velospec.why": why})
    desk.open("x = 1\ny = 2\n")
    desk.editor.nvim.command("VeloSpec why")
    desk.editor.wait(lambda: len(desk.editor.nvim.windows) == 2, "the window", 10)
    assert desk.editor.nvim.windows[1].buffer[:] == [
        reason,
        "",
        "  gate              0.5 ms",
        "> model            83.5 ms  3 tokens",
        "  in all           84.0 ms",
    ]
    desk.editor.keys("j")
    desk.editor.wait(lambda: len(desk.editor.nvim.windows) == 1, "the window's end", 10)
    shown = desk.editor.lua("return require('velospec.why').show({ text = 'x', stages = {} })")
    assert shown is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("key = {}", "setup() has no option 'key'"),
        ("keys = { acept = '<Tab>' }", "there is no key named 'acept'"),
        ("keys = { accept = true }", "keys.accept: expected a key or false, got true"),
        ("settings = 3", "settings: expected table, got number"),
    ],
)
def test_wrong_options_are_named(desk: Desk, options: str, message: str) -> None:
    setup = f"local _, e = pcall(require('velospec').setup, {{ {options} }}) return e"
    desk.editor.lua("vim.opt.runtimepath:append(...)", str(RUNTIME))
    assert message in desk.editor.lua(setup)


def test_says_what_an_older_neovim_lacks(desk: Desk) -> None:
    desk.editor.lua("vim.lsp.enable = nil")
    desk.editor.lua("vim.opt.runtimepath:append(...)", str(RUNTIME))
    assert desk.editor.lua("return require('velospec').setup()") is False
    assert "VeloSpec needs Neovim 0.12 or later" in desk.editor.messages()


def test_health_check(desk: Desk) -> None:
    desk.setup()
    desk.open()
    desk.editor.nvim.command("checkhealth velospec")
    report = "\n".join(desk.editor.lines())
    assert "OK Neovim 0.12" in report
    assert "serves 1 buffer(s), position encoding utf-8" in report


def test_server_ends_with_the_editor(neovim: Path, tmp_path: Path) -> None:
    with driver.running(neovim, tmp_path / "home") as editor:
        desk = Desk(editor, tmp_path)
        desk.setup()
        desk.open()
        pid = editor.wait_for_server()
        assert driver.alive(pid)
    assert driver.ended(pid)
