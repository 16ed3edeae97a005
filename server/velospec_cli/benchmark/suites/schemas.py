"""Questions whose answers have a JSON Schema, five of each of six types (`schemas.toml`)."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files

from velospec_cli.benchmark.suites.prompt import Prompt, Structure

KINDS = ("pure-enum", "nested-enum", "enum-short-text", "mixed", "long-free-text", "short-free-text")
"""The types, from the one that leaves the model least choice."""

SIZE = 30
_INSTRUCTION = "Answer with JSON of this schema, and nothing else: {schema}"


def load() -> tuple[Prompt, ...]:
    """All questions, the types in turn."""
    kinds = tomllib.loads((files(__package__) / "schemas.toml").read_text("utf-8"))["kind"]
    turns = zip(*(_prompts(kind["name"], kind["schema"], kind["questions"]) for kind in kinds), strict=True)
    return tuple(prompt for turn in turns for prompt in turn)


def _prompts(kind: str, schema: str, questions: list[str]) -> list[Prompt]:
    schema = json.dumps(json.loads(schema))
    instruction = _INSTRUCTION.format(schema=schema)
    return [
        Prompt(
            f"{kind}-{number}",
            question,
            structure=Structure(kind, (("system", instruction), ("user", question)), schema=schema),
        )
        for number, question in enumerate(questions, start=1)
    ]
