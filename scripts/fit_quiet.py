"""Fits the quiet gate's weights: how the features of an offer tell whether its first line is right.

    python scripts/fit_quiet.py collect DATA.json     # the default model writes at 3,310 cursors: some hours
    python scripts/fit_quiet.py fit DATA.json

`collect` asks the default model at cursors in the libraries below, none of which gives a place to
`velospec benchmark quality`, and writes what came: names of places, features, right or wrong, no text. At
cursors where the author wrote nothing more, every offer counts as wrong. `fit` is a logistic regression by
Newton's method with a ridge, over features of mean 0 and deviation 1; the same data gives the same weights.
The libraries need not all be installed; DATA names those that were.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from velospec import Engine, ModelStore, VeloSpecError
from velospec_cli.benchmark.suites.completion import find_library
from velospec_cli.benchmark.suites.quality import Direct, Judge
from velospec_cli.benchmark.suites.quality_places import SourceFile, places
from velospec_lsp.completion.quiet import FEATURES, measure

LICENCES = {
    "hypothesis_jsonschema": "MPL-2.0",
    "importlinter": "BSD-2-Clause",
    "grimp": "BSD-2-Clause",
    "argcomplete": "Apache-2.0",
    "fire": "Apache-2.0",
    "tomlkit": "MIT",
    "pipx": "MIT",
    "userpath": "MIT",
    "termcolor": "MIT",
    "pynvim": "Apache-2.0",
    "truststore": "MIT",
    "cattrs": "MIT",
    "referencing": "MIT",
    "jsonschema": "MIT",
    "filelock": "MIT",
    "pluggy": "MIT",
    "packaging": "Apache-2.0 or BSD-2-Clause",
    "hatchling": "MIT",
    "typer": "MIT",
    "click": "BSD-3-Clause",
    "networkx": "BSD-3-Clause",
    "mpmath": "BSD-3-Clause",
    "platformdirs": "MIT",
    "pydantic": "MIT",
    "httpcore2": "BSD-3-Clause",
    "httpx2": "BSD-3-Clause",
    "fsspec": "BSD-3-Clause",
    "huggingface_hub": "Apache-2.0",
    "hypothesis": "MPL-2.0",
    "tqdm": "MPL-2.0 and MIT",
    "rich": "MIT",
    "attr": "MIT",
    "trove_classifiers": "Apache-2.0",
}
"""Packages and their licences, in the order in which they are read. Only figures are taken, no text."""

COUNTS = {"word": 2200, "start": 300, "closed": 200, "block": 250, "prose": 200, "end": 80, "empty": 80}
NOTHING_RIGHT = ("end", "empty")  # kinds of places where the author wrote nothing more
SMALLEST, LARGEST = 2_500, 150_000  # characters of a file
RIDGE = 3.0
ROUNDS = 30  # of Newton's method; it stands still after ten
WEIGHTS = Path(__file__).resolve().parent.parent / "server/velospec_lsp/completion/quiet.json"

Floats = NDArray[np.float64]


def sources() -> Iterator[SourceFile]:
    """The Python files of the libraries that are installed, but not what they carry of others."""
    for name in LICENCES:
        try:
            library = find_library(name)
        except VeloSpecError:
            continue
        for file in library.files:
            parts = file.relative_to(library.root).parts
            text = file.read_text("utf-8", errors="replace").replace("\r\n", "\n")
            if SMALLEST <= len(text) <= LARGEST and not {"tests", "_vendor"} & set(parts):
                yield SourceFile("/".join((name, *parts)), "python", text)


async def rows(judge: Judge) -> list[list[Any]]:
    """One for each offer: place, kind, right or not as 1 or 0, then the features."""
    chosen = places(list(sources()), COUNTS, per_file=3)
    found: list[list[Any]] = []
    for done, place in enumerate(chosen):
        row = await judge.row(place)
        work = judge.work
        if row.open is not None and work is not None:
            right = row.open["right"] and place.kind not in NOTHING_RIGHT
            values = measure(work.answer, work.text, work.site)
            found.append([place.name, place.kind, int(right), *(round(values[name], 2) for name in FEATURES)])
        sys.stderr.write(f"\r{done + 1} of {len(chosen)}")
    return found


def collect(path: Path) -> None:
    """Ask the default model and write the data."""
    store = ModelStore()
    model = store.default("completion")
    if model is None:
        sys.exit("No model is installed. Install one: velospec model install")
    engine = Engine.open(store.check(model), slots=1, remember=False)
    try:
        found = asyncio.run(rows(Judge(Direct(engine))))
    finally:
        engine.close()
    write(path, {"model": {"name": model.name, "sha256": model.sha256}, "answers": "by the engine"}, found)


def write(path: Path, about: dict[str, Any], found: list[list[Any]]) -> None:
    """The data, a row on each line."""
    frame = json.dumps({**about, "libraries": LICENCES, "features": FEATURES, "rows": ["@"]}, indent=1)
    path.write_text(
        frame.replace('  "@"', ",\n".join(f"  {json.dumps(row)}" for row in found)) + "\n", "utf-8"
    )


def fit(data: dict[str, Any]) -> dict[str, Any]:
    """The weights of `quiet.json`."""
    names = data["features"]
    matrix = np.array([row[3:] for row in data["rows"]], dtype=float)
    right = np.array([row[2] for row in data["rows"]], dtype=float)
    mean, deviation = matrix.mean(0), matrix.std(0) + 1e-9
    scaled = np.column_stack([np.ones(len(matrix)), (matrix - mean) / deviation])
    solved = _newton(scaled, right)
    weights = solved[1:] / deviation
    return {
        "provenance": {
            "script": "scripts/fit_quiet.py",
            "model": data["model"],
            "answers": data["answers"],
            "rows": len(matrix),
            "right": round(float(right.mean()), 4),
            "libraries": data["libraries"],
        },
        "bias": round(float(solved[0] - mean @ weights), 5),
        "weights": {name: round(float(weight), 5) for name, weight in zip(names, weights, strict=True)},
    }


def _newton(features: Floats, right: Floats) -> Floats:
    """Weights of the likeliest logistic model; the first one, of the constant, has no ridge."""
    ridge = np.r_[0.0, np.full(features.shape[1] - 1, RIDGE)]
    solved = np.zeros(features.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-features @ solved))
        slope = features.T @ (chance - right) + ridge * solved
        curve = (features * (chance * (1 - chance))[:, None]).T @ features + np.diag(ridge)
        solved -= np.linalg.solve(curve, slope)
    return solved


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("collect", "fit"):
        sys.exit(__doc__)
    if sys.argv[1] == "collect":
        collect(Path(sys.argv[2]))
    else:
        fitted = fit(json.loads(Path(sys.argv[2]).read_text("utf-8")))
        WEIGHTS.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
