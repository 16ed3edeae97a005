"""The installed server against the protocol library of VS Code, on Node, with the real default model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import node_client
from velospec.models.store import InstalledModel

pytestmark = [pytest.mark.editor, pytest.mark.model]

BIN = Path(sys.executable).parent
CANCELLED = -32800


@pytest.fixture(scope="module")
def report(default_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the client saw, see client.mjs."""
    assert default_model.present
    modules = node_client.install()
    folder = tmp_path_factory.mktemp("node")
    command = [
        "node",
        str(node_client.SOURCE / "client.mjs"),
        str(modules),
        str(BIN / "velospec-lsp"),
        "--stdio",
    ]
    result = subprocess.run(
        command, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=280, check=False
    )
    subprocess.run([str(BIN / "velospec"), "daemon", "stop"], check=True, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout))


def test_negotiates(report: dict[str, Any]) -> None:
    assert report["encoding"] == "utf-16"
    assert report["provider"] in (True, {})


def test_offers_at_the_cursor(report: dict[str, Any]) -> None:
    item = report["first"][0]
    assert item["insertText"].strip()
    assert "\r" not in item["insertText"]
    assert item["range"]["start"] == {"line": 4, "character": 7}
    assert item["command"]["command"] == "velospec.accepted"


def test_counts_utf16_units(report: dict[str, Any]) -> None:
    assert report["text"] == 'faces = ["😋é"]  # 😋\n\n\ndef first_face(faces):\n    "😋" ; return fa'
    item = report["afterSurrogates"][0]
    assert item["range"]["start"] == {"line": 4, "character": 20}


def test_cancels(report: dict[str, Any]) -> None:
    assert report["cancelled"] == {"code": CANCELLED}
    # The server goes on serving.
    assert report["afterCancel"] == report["afterSurrogates"]


def test_ends_cleanly(report: dict[str, Any]) -> None:
    assert report["exit"] == 0
    assert report["faults"] == []
