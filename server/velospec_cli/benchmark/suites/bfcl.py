"""Tool calls of the Berkeley Function Calling Leaderboard, from the data in its own package, bfcl-eval.

The package is Apache-2.0. Its wheel is small, but it depends on much that is of no use here; so the wheel is
downloaded without its dependencies, the first time that the suite is run, and only its data files are kept.
None of its code runs, and the reference answers are not read.

Its parameters are described in words of Python where JSON Schema has others: `dict`, `float`, `tuple`, `any`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from velospec.core.errors import VeloSpecError
from velospec.core.paths import data_folder
from velospec.core.tools import Tool
from velospec.models.catalogue import WheelSource
from velospec.models.files import disk_errors, install_lock
from velospec.models.progress import Progress, silent
from velospec.models.sources.wheel import download_wheel, extract
from velospec_cli.benchmark.suites.prompt import Prompt, Structure

VERSION = "2026.3.23"
CATEGORIES = ("simple", "multiple", "parallel")
"""One function on offer and one call; several functions and one call; one function and several calls."""

_FILES = {
    "simple": (
        "BFCL_v4_simple_python.json",
        "82dd63ba502eb2520c6b5d1d9a5c4b590e03ff261565175561f6228a367d1991",
    ),
    "multiple": ("BFCL_v4_multiple.json", "aef168155ebd74b7ac2401198b201343bc7d16d7a3d7e0d4e6d8ee82c6969b2a"),
    "parallel": ("BFCL_v4_parallel.json", "19f51a82eff42e5d62541aa500115a056eb78f437c2ba1f10415fd7c8e5dda84"),
}
"""By category: the file in the wheel, and its SHA-256."""

_EACH = 20  # prompts of a category that are run
_REQUIREMENT = f"bfcl-eval=={VERSION}"
_DOWNLOAD_MB = 2
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_KEPT = frozenset({"description", "enum", "maximum", "required"})
SIZE = _EACH * len(CATEGORIES)


def load() -> tuple[Prompt, ...]:
    """So many prompts of each category, evenly over it, the categories in turn. Raises VeloSpecError.

    Some questions stand in several categories; here none is asked twice.
    """
    asked: set[str] = set()
    chosen = [_spread(list(_prompts(category)), _EACH, asked) for category in CATEGORIES]
    return tuple(prompt for group in zip(*chosen, strict=True) for prompt in group)


def entries(category: str, progress: Progress = silent) -> list[dict[str, Any]]:
    """What the package has in `category`, as it stands there: `id`, `question`, `function`.

    Raises InstallError where it cannot be downloaded, VeloSpecError where it has another form.
    """
    path = _file(category, progress)
    try:
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [entry for entry in found if entry["id"] and entry["question"] and entry["function"]]
    except (ValueError, KeyError, TypeError) as error:
        raise VeloSpecError(
            f"The data of bfcl-eval in {path} cannot be read: {error}.",
            "Remove that file, and run the suite again to have it downloaded anew.",
        ) from error


def tools_of(entry: dict[str, Any]) -> tuple[Tool, ...]:
    """The functions that an entry offers."""
    return tuple(
        Tool(function["name"], function["description"], json.dumps(to_schema(function["parameters"])))
        for function in entry["function"]
    )


def to_schema(described: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema of what bfcl-eval describes; objects with known properties have no others.

    Defaults stay out: they say what the function does without the argument, and no schema needs them.
    """
    schema = {key: value for key, value in described.items() if key in _KEPT}
    kind = described.get("type", "any")
    if kind != "any":
        schema["type"] = _TYPES.get(kind, kind)
    if "items" in described:
        schema["items"] = to_schema(described["items"])
    if properties := described.get("properties"):
        schema["properties"] = {name: to_schema(value) for name, value in properties.items()}
        schema["additionalProperties"] = False
    return schema


def _prompts(category: str) -> Iterator[Prompt]:
    for entry in entries(category):
        turns = [(message["role"], message["content"]) for turn in entry["question"] for message in turn]
        structure = Structure(category, tuple(turns), tools=tools_of(entry), parallel=category == "parallel")
        yield Prompt(str(entry["id"]), turns[-1][1].rstrip(), structure=structure)


def _spread(prompts: list[Prompt], count: int, asked: set[str]) -> list[Prompt]:
    """`count` of the prompts, from each part of them the first that is not `asked` yet."""
    chosen = []
    for index in range(count):
        part = prompts[index * len(prompts) // count :]
        chosen.append(next(prompt for prompt in part if prompt.before not in asked))
        asked.add(chosen[-1].before)
    return chosen


def _file(category: str, progress: Progress) -> Path:
    """Where the data file of `category` lies, downloaded if it is not there as it should be."""
    folder = data_folder() / "benchmarks" / f"bfcl-eval-{VERSION}"
    name, digest = _FILES[category]
    path = folder / name
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        with disk_errors(folder), install_lock(folder):
            _download(folder, progress)
    return path


def _download(folder: Path, progress: Progress) -> None:
    """Take all data files out of the wheel; each is put in its place whole."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        wheel = download_wheel(_REQUIREMENT, Path(scratch) / "wheel", progress)
        for name, digest in _FILES.values():
            source = WheelSource(_REQUIREMENT, f"bfcl_eval/data/{name}", digest, _DOWNLOAD_MB)
            target = Path(scratch) / name
            extract(wheel, source, target, progress)
            shutil.move(target, folder / name)
