"""`velospec benchmark learning`: what a learned workspace brings to five projects, one file left out.

At cursors in the files of installed libraries, none of which a shipped rule was mined from, the model writes
its completion once. That answer is then decoded again (`Engine.replay`: exact counts, the measured cost of
each batch, and the engine's own time) with nothing learned, with the shipped rules, and with the workspace:
all files of the project but the cursor's own and those that are nearly the same. The same is done with what
the file's author wrote there, which is what a model would write that is always right.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from velospec import CancelToken, Drafting, Engine, InstalledModel, Limits, Recording, Statistics
from velospec.core.learning import Lesson
from velospec.core.request import InfillRequest
from velospec.core.step import Step
from velospec.models.progress import Progress
from velospec_cli.benchmark.ablation import PROPOSERS
from velospec_cli.benchmark.machine import Watch, describe_machine, describe_model, describe_versions
from velospec_cli.benchmark.opening import Opener, Options
from velospec_cli.benchmark.suites.completion import Library, find_library, prompts_of
from velospec_cli.benchmark.suites.prompt import Prompt

SUMMARY = "five projects, one file left out: nothing learned, shipped rules, the workspace"
PROJECTS = ("networkx", "jsonschema", "pathspec", "gguf", "tqdm", "llama_cpp")
"""Packages; the first `_PROJECTS` of those that are installed are taken. Only the first is large."""
_PROJECTS = 5
_LARGE = PROJECTS[:1]  # too large for a quick run
CURSORS, QUICK_CURSORS, MINUTES = 10, 2, 15
"""Of each project."""

_OF_A_FILE = 2  # cursors
_TOKENS = 48
_LEAST = 8  # tokens of an answer that counts
_CONTEXT = 1280  # of a prompt, in tokens, with its answer
_SURE = 4.0  # the margin that an author's ids are given
_RECORD_SHARE = 0.6  # of a quick run's time that may pass before the last answer is begun

NOTHING, PRIORS, WORKSPACE = "nothing", "priors", "workspace"
_EVERYTHING = frozenset(PROPOSERS)
SETTINGS = {NOTHING: _EVERYTHING - {"ngram"}, PRIORS: _EVERYTHING, WORKSPACE: _EVERYTHING}
"""The proposers of each setting; only the last is taught the workspace."""
ANSWERS = ("model", "author")


@dataclass(slots=True)
class Cursor:
    """A place, the two answers there, and what each setting made of them, by answer and setting."""

    project: str
    prompt: Prompt
    answers: dict[str, Recording] = field(default_factory=dict)
    counts: dict[tuple[str, str], Statistics] = field(default_factory=dict)

    def request(self, *, speculate: bool = True) -> InfillRequest:
        prompt, limits = self.prompt, Limits(max_tokens=_TOKENS)
        after = prompt.after or ""
        return InfillRequest(
            prompt.path, prompt.before, after, prompt.path, limits, speculate, workspace=self.project
        )


def load(cursors: int, *, quick: bool = False) -> list[Cursor]:
    """So many cursors of each project, those of a file together. Raises VeloSpecError."""
    names = [name for name in PROJECTS if find_spec(name) and not (quick and name in _LARGE)]
    drawn = [
        [Cursor(name, prompt) for prompt in _drawn(find_library(name), cursors)] for name in names[:_PROJECTS]
    ]
    # A quick run may end early, with some of each project.
    turns = zip_longest(*drawn) if quick else drawn
    return [cursor for each in turns for cursor in each if cursor is not None]


def run_learning(model: InstalledModel, options: Options, say: Progress) -> dict[str, Any]:
    """The document of a run; a quick one takes fewer cursors.

    Raises VeloSpecError where the model or the libraries cannot be used.
    """
    quick = options.deadline is not None
    cursors = load(options.prompts or (QUICK_CURSORS if quick else CURSORS), quick=quick)
    with ExitStack() as stack:
        engine = Opener(model, options, _CONTEXT, say, stack).engine(options.mode)
        watch = Watch()
        cursors = list(_recorded(engine, cursors, options.deadline, say))
        projects = list(dict.fromkeys(each.project for each in cursors))
        for number, setting in enumerate(SETTINGS):
            say(f"Replaying with {setting}", number, len(SETTINGS))
            _replay_all(engine, cursors, setting)
        return {
            "suite": "learning",
            "machine": describe_machine(engine, watch),
            "model": describe_model(engine),
            "versions": describe_versions(tuple(each.replace("_", "-") for each in projects)),
            "rows": [row(cursors, project) for project in projects],
            "summary": summarize(cursors),
        }


def row(cursors: Sequence[Cursor], project: str) -> dict[str, Any]:
    """The figures of one project."""
    mine = [each for each in cursors if each.project == project]
    figures = {
        answer: {setting: _figures(mine, answer, setting) for setting in SETTINGS} for answer in ANSWERS
    }
    return {
        "project": project,
        "cursors": len(mine),
        "files_learned": len(mine[0].prompt.corpus),
        "workspace_vs_nothing": _ratio(mine, WORKSPACE),
        "priors_vs_nothing": _ratio(mine, PRIORS),
        "author_workspace_vs_nothing": _ratio(mine, WORKSPACE, answer="author"),
        **figures,
    }


def summarize(cursors: Sequence[Cursor]) -> dict[str, Any]:
    """The figures of all; `worst` is that of the project to which its workspace brings the least."""
    projects = {each.project: [c for c in cursors if c.project == each.project] for each in cursors}
    return {
        "workspace_vs_nothing": _ratio(cursors, WORKSPACE),
        "priors_vs_nothing": _ratio(cursors, PRIORS),
        "worst": min(_ratio(mine, WORKSPACE) for mine in projects.values()),
        "author_workspace_vs_nothing": _ratio(cursors, WORKSPACE, answer="author"),
        "author_priors_vs_nothing": _ratio(cursors, PRIORS, answer="author"),
        "author_worst": min(_ratio(mine, WORKSPACE, answer="author") for mine in projects.values()),
        "cursors": len(cursors),
    }


def _drawn(library: Library, count: int) -> Iterator[Prompt]:
    """Cursors of files drawn with the library's name as the seed, two of a file; those of a file together."""
    files = list(library.files)
    random.Random(library.name).shuffle(files)  # noqa: S311 - draws places, no secrets
    for file in files:
        prompts = (prompts_of(library, file) or ())[: min(_OF_A_FILE, count)]
        yield from prompts
        count -= len(prompts)
        if not count:
            return


def _recorded(
    engine: Engine, cursors: Sequence[Cursor], deadline: float | None, say: Progress
) -> Iterator[Cursor]:
    """The cursors with their answers; those whose answer is too short do not count."""
    began = time.monotonic()
    for number, cursor in enumerate(cursors):
        if deadline is not None and time.monotonic() > began + _RECORD_SHARE * (deadline - began):
            return
        say("Writing answers", number, len(cursors))
        steps: list[Step] = []
        done = engine.infill(cursor.request(), CancelToken(), on_step=steps.append)
        margins = [margin for step in steps for margin in step.verdict.margins]
        ids = done.token_ids
        author = engine.encode(_taken_out(cursor.prompt))[:_TOKENS]
        if min(len(ids), len(author)) >= _LEAST:
            cursor.answers["model"] = Recording(ids, tuple(margins[: len(ids)]))
            cursor.answers["author"] = Recording(author, (_SURE,) * len(author))
            yield cursor


def _taken_out(prompt: Prompt) -> str:
    """What the author of the file wrote at the cursor."""
    library, _, inner = prompt.path.partition("/")
    text = _read(find_library(library).root / inner)
    return text[len(prompt.before) : len(text) - len(prompt.after or "")]


def _replay_all(engine: Engine, cursors: Sequence[Cursor], setting: str) -> None:
    """Replay both answers at each cursor, acceptance learning from one to the next as in use."""
    for answer in ANSWERS:
        engine.use_drafting(Drafting(SETTINGS[setting]))
        for cursor in cursors:
            if setting == WORKSPACE:
                _teach(engine, cursor)
            done = engine.replay(cursor.request(), cursor.answers[answer])
            cursor.counts[answer, setting] = done.statistics
        for project in {each.project for each in cursors}:
            engine.workspaces.forget(project)


def _teach(engine: Engine, cursor: Cursor) -> None:
    """Have the engine know the project as the cursor's file is left out, and nothing else of it."""
    workspace = engine.workspaces.of(cursor.project)
    wanted = {str(path): path for path in cursor.prompt.corpus}
    for name in list(workspace.documents):
        if name not in wanted:
            workspace.forget(name)
    for name, path in wanted.items():
        if name not in workspace.documents:
            workspace.learn(Lesson(cursor.project, name, 0, _read(path), path=path.name))
    while engine.study():
        pass


def _read(path: Path) -> str:
    return path.read_text("utf-8").replace("\r\n", "\n")


def _total(cursors: Sequence[Cursor], answer: str, setting: str) -> Statistics:
    return sum((each.counts[answer, setting] for each in cursors), Statistics())


def _seconds(counts: Statistics) -> float:
    """What the batches are expected to take, and what the engine itself took."""
    return counts.expected_seconds + counts.propose_seconds + counts.decide_seconds


def _ratio(cursors: Sequence[Cursor], setting: str, *, answer: str = "model") -> float:
    """Tokens per second of a setting over those with nothing learned; the tokens are the same."""
    return round(_seconds(_total(cursors, answer, NOTHING)) / _seconds(_total(cursors, answer, setting)), 4)


def _figures(cursors: Sequence[Cursor], answer: str, setting: str) -> dict[str, Any]:
    counts = _total(cursors, answer, setting)
    own = counts.propose_seconds + counts.decide_seconds
    return {
        "tokens_per_second": round(counts.new_tokens / _seconds(counts), 2),
        "tokens_per_pass": round(counts.tokens_per_step, 4),
        "accepted_per_pass": round(counts.accepted_tokens / counts.steps, 4),
        "model_seconds": round(counts.expected_seconds, 4),
        "own_microseconds_per_pass": round(1e6 * own / counts.steps, 1),
        "accepted_by": {name: count.accepted for name, count in sorted(counts.proposers.items())},
    }


def shown(document: dict[str, Any]) -> RenderableType:
    """The table of a run."""
    table = Table(box=None, pad_edge=False, title="Over nothing learned", title_justify="left")
    table.add_column("project", no_wrap=True)
    for name in ("files", "cursors", "rules", "workspace", "/pass", "if always right", "/pass"):
        table.add_column(name, justify="right")
    for each in document["rows"]:
        table.add_row(
            each["project"],
            str(each["files_learned"]),
            str(each["cursors"]),
            f"{each['priors_vs_nothing']:.2f}x",
            f"{each['workspace_vs_nothing']:.2f}x",
            f"{each['model'][WORKSPACE]['tokens_per_pass']:.2f}",
            f"{each['author_workspace_vs_nothing']:.2f}x",
            f"{each['author'][WORKSPACE]['tokens_per_pass']:.2f}",
        )
    summary = document["summary"]
    text = (
        f"The workspace brings {summary['workspace_vs_nothing']:.2f}x the tokens per second, "
        f"at the worst {summary['worst']:.2f}x; shipped rules {summary['priors_vs_nothing']:.2f}x. "
        f"To a model that writes what the author did, {summary['author_workspace_vs_nothing']:.2f}x."
    )
    return Group(table, text)
