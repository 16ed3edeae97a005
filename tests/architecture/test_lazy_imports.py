"""What an editor or a shell starts first stays light: heavy libraries load only where they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import clean_environment, command

NATIVE = {"llama_cpp", "torch", "triton", "xgrammar"}
# Beside those, what costs a noticeable part of a second or belongs to one layer alone.
HEAVY = NATIVE | {
    "gguf",
    "huggingface_hub",
    "jsonschema",
    "llguidance",
    "lsprotocol",
    "msgpack",
    "numpy",
    "pygls",
    "tree_sitter",
}


def imported(*arguments: str, folder: Path) -> set[str]:
    """Top-level modules that a run of Python with `arguments` imports."""
    result = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line for line in result.stderr.splitlines() if line.startswith("import time:"))
    return {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in lines}


def test_the_measurement_sees_a_heavy_import(tmp_path: Path) -> None:
    assert imported("-c", "import msgpack", folder=tmp_path) & HEAVY == {"msgpack"}


def test_importing_velospec_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = imported("-c", "import velospec", folder=tmp_path)
    assert "velospec" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
@pytest.mark.parametrize("script", ["velospec", "velospec-lsp"])
def test_asking_a_command_for_help_loads_nothing_heavy(
    script: str, arguments: list[str], tmp_path: Path
) -> None:
    loaded = imported(command(script), *arguments, folder=tmp_path)
    assert "velospec" in loaded
    assert loaded & HEAVY == set()


def test_the_daemons_client_loads_the_protocol_and_no_model_library(tmp_path: Path) -> None:
    loaded = imported("-c", "import velospec.daemon.client", folder=tmp_path)
    assert loaded & HEAVY == {"msgpack"}
