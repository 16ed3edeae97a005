"""The blocks of docs/python.md, run one after the other as a reader would."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.repository import ROOT
from velospec.core.request import Completion, FinishReason
from velospec.core.statistics import Statistics
from velospec.models.store import InstalledModel

BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "docs" / "python.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.model
def test_the_blocks_do_what_the_page_says(
    default_model: InstalledModel, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    shown = []
    for block in BLOCKS:
        exec(block, names)  # noqa: S102 - this repository's own page
        shown.append(capsys.readouterr().out)
    writing, cursor, cancelled, drawn, chat, called, held, corpus, steps, plugged_in, first = shown
    assert names["model"] == default_model
    completion, counts = names["completion"], names["counts"]
    assert isinstance(completion, Completion)
    assert isinstance(counts, Statistics)
    assert (completion.finish, len(completion.token_ids)) == (FinishReason.LENGTH, 24)
    assert writing == f"{completion.text}\nlength\n"
    assert cursor == " * height\n"
    assert cancelled.endswith("\nended: cancelled\n")
    assert drawn.strip()
    assert chat == f"{names['answer'].text}\n"
    (call,) = names["made"].tool_calls
    assert called == f"add_numbers{call.arguments}\nadd_numbers ['a', 'b']\n"
    assert held.startswith("['age', 'name']\n")
    assert held.split()[-1] in {"red", "green", "blue"}
    assert corpus == ""
    assert counts.reused_tokens == counts.prompt_tokens - 1
    assert steps.count(" accepted, ") == counts.steps
    assert "tokens a step" in steps
    assert names["total"].new_tokens > counts.new_tokens
    assert re.search(r"\n\d+ steps, \d+ tokens accepted\n$", plugged_in)
    assert re.fullmatch(r"(red|green|blue) in \d+ rounds, \d+% accepted\n", first)
