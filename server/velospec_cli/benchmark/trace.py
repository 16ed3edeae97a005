"""The trace: a CSV file with one line for each token that VeloSpec decided with drafts.

`drafted` is the token's place in the draft that was scored, from 0, and `accepted` whether the draft was
right there; both are empty for a token that no draft stood for. `proposer` and `rule` are those of the
draft of its step; the token behind a wholly accepted draft has none. `margin` is the target's largest logit
less the next, `rows` the size of the batch.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from velospec import Engine
from velospec.core.errors import VeloSpecError
from velospec_cli.benchmark.methods import VELOSPEC, Run
from velospec_cli.benchmark.session import Entry

COLUMNS = (
    "prompt",
    "step",
    "index",
    "token",
    "text",
    "proposer",
    "rule",
    "margin",
    "drafted",
    "accepted",
    "rows",
)


def write_trace(path: Path, entries: Sequence[Entry], engine: Engine) -> None:
    """Write the first round's runs with drafts. Raises VeloSpecError where the file cannot be written."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for entry in entries:
                run = entry.runs[VELOSPEC][0]
                writer.writerows(_lines(entry.prompt.name, run, engine))
    except OSError as error:
        raise VeloSpecError(f"The trace cannot be written: {error}", "Name another file.") from error


def _lines(prompt: str, run: Run, engine: Engine) -> Iterator[tuple[object, ...]]:
    index = 0
    for number, step in enumerate(run.steps):
        draft, margins = step.verdict.draft, step.verdict.margins
        for place, token in enumerate(step.verdict.ids):
            if index == len(run.ids):
                return
            inside = place < len(draft)
            yield (
                prompt,
                number,
                index,
                token,
                escape(engine.piece(token)),
                draft.proposer if inside else "",
                engine.rule_name(draft) if inside else "",
                f"{margins[place]:.4f}" if place < len(margins) else "",
                place if inside else "",
                int(place < step.verdict.accepted) if inside else "",
                step.rows,
            )
            index += 1


def escape(piece: bytes) -> str:
    """A token's bytes on one line: line ends, control characters and parts of characters as escapes."""
    text = piece.decode("utf-8", "surrogateescape")
    return "".join(each if each.isprintable() and each != "\\" else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no character by itself
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
