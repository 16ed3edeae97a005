"""Fit the weights that acceptance begins with: `engine/velospec/control/priors.json`.

    python scripts/fit_priors.py record text answers.jsonl    # the default model writes; a quarter of an hour
    python scripts/fit_priors.py fit text answers.jsonl       # replays what it wrote; some minutes

`structured` in the place of `text` does the same for answers under a grammar, by the chat model, to questions
of `fit_structured.toml`. A number behind the file's name keeps it to so many prompts. Those of text are
beginnings of functions, functions to be rewritten, and cursor positions, from the sources of this project and
of one of its development dependencies; none is of a benchmark. The answers are replayed with all proposers
under a steep and a flat cost curve, and the estimator learns as it does in use, but forgets nothing. What is
kept is weights by proposer, evidence, position and class of id, and nothing of any text.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fit_structured
import hypothesis

from velospec import (
    CancelToken,
    ChatFormat,
    Drafting,
    Engine,
    InfillRequest,
    InstalledModel,
    Limits,
    ModelStore,
    Recording,
    TextRequest,
)
from velospec.control.acceptance import Acceptance
from velospec.control.cost_model import CostModel
from velospec.control.priors import NAME, VERSION
from velospec.control.workspaces import Acceptances

ENGINE = Path(__file__).resolve().parent.parent / "engine" / "velospec"
SOURCES = {"own": ENGINE, "hypothesis": Path(hypothesis.__file__).parent}
MODELS = {"text": "smollm2-135m-fim", "structured": "smollm2-135m-instruct"}
KEYS = {"text": "weights", "structured": "structured"}  # of `priors.json`
COUNTS = {"begin": 40, "rewrite": 15, "cursor": 25}  # prompts of each kind and source
TOKENS = {"begin": 192, "rewrite": 192, "cursor": 64}
MOST_CHARACTERS = 900  # of a function that is part of a prompt
CORPUS_FILES = 30
CURVES = (
    {1: 1.0, 2: 1.83, 3: 2.3, 4: 2.55, 6: 3.0, 8: 3.42, 12: 4.7, 16: 5.8},
    {1: 1.0, 2: 1.30, 3: 1.66, 4: 1.72, 6: 2.12, 8: 2.52, 12: 3.30, 16: 4.13},
)
EPOCHS = 3
WISHES = (
    "with type hints",
    "with clearer variable names",
    "that also logs what it does",
    "with error handling",
)
UNSTABLE = "evidence syntax_fsm "  # a rule's number means another rule in the next build
SEED = 7

Prompt = dict[str, Any]


def functions(files: Sequence[Path]) -> Iterator[tuple[str, str, int]]:
    """Name and text of each function of a moderate length, and the lines before its first statement."""
    for file in files:
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            text = ast.get_source_segment(source, node) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and text and len(text) < MOST_CHARACTERS:
                documented = ast.get_docstring(node) is not None
                last = node.body[0].end_lineno if documented else node.body[0].lineno - 1
                yield node.name, text, (last or node.lineno) - node.lineno + 1


def prompts() -> list[Prompt]:
    """All prompts, mixed, the same in each run over the same sources."""
    chance = random.Random(SEED)  # noqa: S311  (a choice of samples)
    made: list[Prompt] = []
    for name, folder in SOURCES.items():
        files = sorted(folder.rglob("*.py"))
        found = [item for item in functions(files) if item[1].count("\n") > 4]
        for _, text, head in chance.sample(found, COUNTS["begin"]):
            made.append({"kind": "begin", "prompt": "".join(text.splitlines(keepends=True)[:head])})
        for number, (function, text, _) in enumerate(chance.sample(found, COUNTS["rewrite"])):
            wish = f"# The same function {WISHES[number % len(WISHES)]}:\ndef {function}("
            made.append({"kind": "rewrite", "prompt": f"{text}\n\n\n{wish}"})
        large = [file for file in files if file.stat().st_size > 2000]
        places = (cursor(file, chance) for file in chance.choices(large, k=COUNTS["cursor"]))
        made.extend({"kind": "cursor", "source": name, **place} for place in places)
    chance.shuffle(made)
    return made


def cursor(file: Path, chance: random.Random) -> Prompt:
    """A place inside a line of `file` that has text."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    number = chance.choice([number for number, line in enumerate(lines) if len(line.strip()) > 8])
    start = sum(map(len, lines[:number])) + len(lines[number]) - len(lines[number].lstrip())
    place = start + chance.randrange(len(lines[number].strip()))
    text = "".join(lines)
    return {"file": str(file), "prefix": text[:place], "suffix": text[place:]}


def request_of(prompt: Prompt, model: InstalledModel, *, speculate: bool) -> InfillRequest | TextRequest:
    """What the engine is asked for a prompt."""
    if prompt["kind"] == "structured":
        return fit_structured.request_of(prompt, ChatFormat.for_file(model.path), speculate=speculate)
    limits = Limits(max_tokens=TOKENS[prompt["kind"]], ignore_end=prompt["kind"] != "cursor")
    if prompt["kind"] == "cursor":
        place = prompt["prefix"], prompt["suffix"], prompt["file"]
        return InfillRequest("fit", *place, limits, speculate=speculate)
    return TextRequest("fit", prompt["prompt"], limits, speculate=speculate)


def record(engine: Engine, asked: Sequence[Prompt], target: Path) -> None:
    """Let the model answer the prompts, and write a line for each."""
    with target.open("w", encoding="utf-8") as lines:
        for prompt in asked:
            ids: list[int] = []
            margins: list[float] = []
            request = request_of(prompt, engine.model, speculate=False)
            run = engine.infill if isinstance(request, InfillRequest) else engine.generate

            def note(step: Any, ids: list[int] = ids, margins: list[float] = margins) -> None:
                ids.extend(step.verdict.ids)
                margins.extend(step.verdict.margins)

            run(request, CancelToken(), on_step=note)
            lines.write(json.dumps({**prompt, "ids": ids, "margins": margins}) + "\n")
            lines.flush()


def fit(engine: Engine, answers: list[Prompt]) -> dict[str, float]:
    """Replay all answers some times over, in another order each time; the weights that come of it."""
    acceptance = Acceptance(classes=engine._classes, memory=1.0)  # noqa: SLF001  (the engine has no use for it)
    chance = random.Random(SEED)  # noqa: S311  (an order)
    for epoch in range(EPOCHS):
        chance.shuffle(answers)
        engine.use_drafting(Drafting())  # what was counted of grammars would know the answers
        engine._learned = Acceptances(lambda: acceptance)  # noqa: SLF001  (as above: it is learned by)
        for number, answer in enumerate(answers):
            engine._cost = CostModel({0: CURVES[(number + epoch) % 2]})  # noqa: SLF001  (curves of two machines)
            engine.use_corpus(others(answer))
            acceptance.forget_ids()
            written = Recording(tuple(answer["ids"]), tuple(answer["margins"]))
            engine.replay(request_of(answer, engine.model, speculate=True), written)
    weights = {name: round(value, 2) for name, (value, _) in acceptance.to_dict().items()}
    return {name: value for name, value in weights.items() if value and not name.startswith(UNSTABLE)}


def others(answer: Prompt) -> list[str]:
    """Texts of the project around the file of a cursor, without the file."""
    if answer["kind"] != "cursor":
        return []
    files = [file for file in sorted(SOURCES[answer["source"]].rglob("*.py")) if str(file) != answer["file"]]
    return [file.read_text(encoding="utf-8") for file in files[:CORPUS_FILES]]


def main(command: str, what: str, file: str, most: str = "1000") -> int:
    """Record or fit; the exit status."""
    engine = Engine.open(ModelStore().get(MODELS[what]), slots=1, remember=False)
    try:
        if command == "record":
            asked = fit_structured.prompts() if what == "structured" else prompts()
            record(engine, asked[: int(most)], Path(file))
            return 0
        lines = Path(file).read_text(encoding="utf-8").splitlines()[: int(most)]
        weights = fit(engine, [json.loads(line) for line in lines])
    finally:
        engine.close()
    target = ENGINE / "control" / NAME
    data = json.loads(target.read_text(encoding="utf-8"))
    data = {**data, "version": VERSION, KEYS[what]: weights}
    target.write_text(json.dumps(data, indent=0) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
