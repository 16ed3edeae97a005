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
from tests.support.neovim import Neovim
from velospec_lsp.editing.syntax import Syntax

pytestmark = pytest.mark.editor

RUNTIME = Path(__file__).resolve().parents[2] / "server" / "velospec_lsp" / "nvim"
_DONE = """
vim.g.edits_done = 0
vim.api.nvim_create_autocmd('LspRequest', { callback = function(event)
  local request = event.data.request
  if request.type == 'complete' and request.method == 'workspace/executeCommand' then
    vim.g.edits_done = vim.g.edits_done + 1
  end
end })
vim.opt.runtimepath:append(...)
vim.cmd.runtime('plugin/velospec.lua')
require('velospec').setup()
"""


class Screen:
    """An editor with the module, and the steps of these tests."""

    def __init__(self, editor: Neovim, folder: Path) -> None:
        self.editor = editor
        self.folder = folder
        editor.lua(_DONE, str(RUNTIME))

    def open(self, sample: Sample) -> None:
        path = self.folder / sample.file
        path.write_bytes(sample.text.encode())
        self.editor.nvim.command("%bwipeout!")
        self.editor.edit(path)
        self.editor.wait_for_server()

    def text(self) -> str:
        """The buffer as it would be written."""
        end = "\r\n" if self.editor.lua("return vim.bo.fileformat") == "dos" else "\n"
        return "".join(line + end for line in self.editor.lines())

    def run(self, command: str) -> None:
        """Runs `:VeloSpec ...` (with its range, if any) to its end."""
        before = self.editor.lua("return vim.g.edits_done")
        self.editor.nvim.command(command)
        self.editor.wait(lambda: self.editor.lua("return vim.g.edits_done") > before, f"the end of {command}")

    def put_cursor(self, offset: int, text: str) -> None:
        """On the character before which `offset` characters of `text` lie."""
        head = text[:offset].replace("\r\n", "\n")
        line = head.rpartition("\n")[2]
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {...})", head.count("\n") + 1, len(line.encode()))

    def undo(self) -> None:
        self.editor.nvim.command("normal! u")


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


def edit(screen: Screen, sample: Sample) -> None:
    number = sample.text[: sample.text.index(sample.old)].count("\n") + 1
    screen.run(f"{number}VeloSpec edit Do what is asked")


def document(screen: Screen, sample: Sample) -> None:
    screen.put_cursor(sample.text.index(sample.old), sample.text)
    screen.run("VeloSpec docstring")


def rename(screen: Screen, sample: Sample) -> None:
    screen.put_cursor(sample.text.index(sample.at) + len(sample.at) - 1, sample.text)
    screen.run("VeloSpec rename-suggest")


COMMANDS = {"edit": edit, "docstring": document, "rename-suggest": rename}
CASES = [
    pytest.param(sample, name, id=f"{sample.file}-{name}") for sample in SAMPLES for name in COMMANDS
]


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
    before = screen.editor.lua("return vim.g.edits_done")
    screen.editor.keys("4G0f=wve2le:VeloSpec edit Double it<CR>")
    screen.editor.wait(lambda: screen.editor.lua("return vim.g.edits_done") > before, "the edit")
    assert screen.text() == sample.text.replace("item.price", "item.price * 2")
    screen.undo()


def test_a_code_action_asks_and_edits(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.call("Make it 3.", "replace", code="result = 3")
    screen.open(SAMPLES[0])
    screen.put_cursor(SAMPLES[0].text.index("result"), SAMPLES[0].text)
    screen.editor.lua("vim.ui.input = function(_, done) done('Make it 3') end")
    before = screen.editor.lua("return vim.g.edits_done")
    screen.editor.lua(
        "vim.lsp.buf.code_action({ apply = true, filter = function(it) return it.title:find('Edit') end })"
    )
    screen.editor.wait(lambda: screen.editor.lua("return vim.g.edits_done") > before, "the edit")
    assert "    result = 3\n" in screen.text()
    screen.undo()


def test_typing_meanwhile_ends_the_edit(screen: Screen, desk: Desk) -> None:
    desk.clear()
    desk.answer("Rewrite", json.dumps({"name": "replace", "arguments": {"code": "x = 1"}}), wait=True)
    sample = SAMPLES[0]
    screen.open(sample)
    before = screen.editor.lua("return vim.g.edits_done")
    screen.editor.nvim.command("2VeloSpec edit Do it")
    screen.editor.wait(desk.log, "the question")
    screen.editor.keys("Gonew = 1<Esc>")
    screen.editor.wait(lambda: screen.editor.lua("return vim.g.edits_done") > before, "the end")
    desk.go()
    assert screen.text() == sample.text + "new = 1\n"
    assert "was changed meanwhile" in screen.editor.messages()
    screen.undo()
