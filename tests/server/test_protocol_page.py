"""docs/protocol.md against the code: every method, command and state is there, and no other command."""

from __future__ import annotations

import re
from pathlib import Path

from velospec_lsp.server import Server
from velospec_lsp.status import STATUS_METHOD, Kind

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")


def test_every_state_is_described() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == {kind.value for kind in Kind} | {"kind"}
    assert f"## `{STATUS_METHOD}`" in PAGE


def test_every_command_is_described() -> None:
    commands = Server().protocol.fm.commands
    assert set(re.findall(r"^\| `(velospec\.[\w.-]+)` \|", PAGE, re.MULTILINE)) == set(commands)


def test_every_method_of_our_own_is_described() -> None:
    own = [name for name in Server().protocol.fm.features if name.startswith("velospec/")]
    assert own == ["velospec/text"]
    assert all(f"`{name}`" in PAGE for name in own)
