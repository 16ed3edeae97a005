"""Records what the real model writes at places of our own sources, for tests of the filters without a model.

    python -m tests.benchmarks.record_cassettes

writes tests/server/cassettes/*.json, one file for each source: what stands before and behind each place, the
model's answer, and what the filters leave of it. It asks the daemon of the home at hand, and the model that
is the default there. Look through what has changed before it is committed: a test holds the filters to it.
"""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

from tests.support.repository import ROOT
from tests.support.sites import query_between
from velospec.core.request import Completion, FinishReason, InfillRequest, Limits
from velospec.daemon.client import DaemonClient
from velospec_lsp.completion.site import Site, site_of
from velospec_lsp.filters import apply_filters

FOLDER = ROOT / "tests" / "server" / "cassettes"
SOURCES = {
    "server/velospec_cli/demo_project/inventory/stock.py": "python",
    "server/velospec_cli/demo_project/inventory/report.py": "python",
    "server/velospec_cli/demo_project/web/stock.ts": "typescript",
    "server/velospec_lsp/gitignore.py": "python",
    "server/velospec_lsp/nvim/lua/velospec/keys.lua": "lua",
}
PLACES = 12  # of each source
TOKENS = 64
CUT_OFF = frozenset({FinishReason.LENGTH.value, FinishReason.DEADLINE.value})
_AROUND = 1200  # characters on each side


def site_between(before: str, behind: str, language: str) -> Site:
    """The site of a place, as the language server makes it."""
    found = site_of(query_between(before, behind, language), 4000, 1000)
    assert found is not None
    return found


def places(text: str) -> list[int]:
    """Offsets where a user may stop: at ends of lines, and behind blanks, dots and brackets within them."""
    chance = random.Random(len(text))  # noqa: S311 - the same places each time
    offsets = [at for at in range(40, len(text)) if text[at - 1] in " .([=" or text[at] == "\n"]
    return sorted(chance.sample(offsets, min(PLACES, len(offsets))))


def cassette(language: str, before: str, behind: str, completion: Completion) -> dict[str, Any]:
    """One place as it is kept."""
    finish = completion.finish.value
    site = site_between(before, behind, language)
    shown, emptied_by = apply_filters(completion.text, site, cut_off=finish in CUT_OFF)
    kept = {"before": before, "behind": behind, "finish": finish, "written": completion.text}
    return {**kept, "shown": shown, "emptied_by": emptied_by}


async def record(client: DaemonClient, path: str, language: str) -> list[dict[str, Any]]:
    """The cassettes of one source. What the user would write behind the place on its line is left out."""
    text = (ROOT / path).read_text("utf-8")
    made = []
    for number, at in enumerate(places(text)):
        # Half of the places lose the rest of their line, as where it is being written.
        end = at if number % 2 else text.find("\n", at) % (len(text) + 1)
        before, behind = text[max(0, at - _AROUND) : at], text[end : end + _AROUND]
        limits = Limits(max_tokens=TOKENS, max_lines=[1, 6][number % 3 == 0])
        name = f"cassette:{path}"
        request = InfillRequest(name, before, behind, path=Path(path).name, limits=limits)
        made.append(cassette(language, before, behind, await client.infill(request)))
    return made


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    async with DaemonClient() as client:
        for path, language in SOURCES.items():
            kept = {"source": path, "language": language, "places": await record(client, path, language)}
            file = FOLDER / f"{Path(path).name}.json"
            file.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
