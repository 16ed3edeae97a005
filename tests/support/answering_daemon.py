"""A daemon process whose engine answers what a test has written down: the real supervisor, host and server.

Run as a program with VELOSPEC_ANSWERS naming a folder. `answers.json` there maps the end of a prefix to
{"text": ..., "wait": true, "finish": "deadline"}; the longest that fits counts, and without one the text is
empty. With "refuse": true, a request with a grammar gets a GrammarError.
With `wait` the engine steps until it is cancelled or the file `go` appears; "head" is the beginning of the
text that it has written before. A request for no tokens gets none, and one where chance takes part one of the
answer's "others", if it has them, by its seed. Each request ("sample" where chance takes part, "ahead" where
nobody waits for it), each head and each cancel is appended to `log.jsonl`. Without a model, the daemon says
so as the real one does: the file `no-model` tells it to. `chat.json` is for the model `talker`, which has the
role chat: it maps what a prompt holds to such an answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.scripted_engine import ScriptedModels, scripted_model
from velospec.core.errors import CancelledError, GrammarError
from velospec.core.paths import workspaces_folder
from velospec.core.request import Completion, FinishReason, InfillRequest, TextRequest
from velospec.core.statistics import Statistics
from velospec.daemon.host import host_models
from velospec.daemon.options import parse
from velospec.daemon.supervisor import supervise
from velospec.learning.workspace.library import Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable

    from velospec.core.cancellation import CancelToken
    from velospec.models.store import InstalledModel

PROGRAM = str(Path(__file__).resolve())


class AnsweringEngine:
    """Answers infill requests from the folder."""

    memory_bytes = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def infill(
        self, request: InfillRequest, cancel: CancelToken, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        event = "ahead" if request.background else "sample" if request.sampling.temperature else "infill"
        self._log(event=event, prefix=request.prefix, suffix=request.suffix, path=request.path,
                  document=request.document, max_lines=request.limits.max_lines,
                  budget_ms=request.limits.budget_ms, max_tokens=request.limits.max_tokens,
                  grammar=request.grammar and asdict(request.grammar),
                  context=[chunk.path for chunk in request.context])  # fmt: skip
        if request.limits.max_tokens == 0:
            return Completion("", (), FinishReason.LENGTH, Statistics())
        answers = json.loads((self._folder / "answers.json").read_text("utf-8"))
        fitting = [end for end in answers if request.prefix.endswith(end)]
        answer = answers[max(fitting, key=len)] if fitting else {"text": ""}
        if event == "sample" and "others" in answer:
            answer = {"text": answer["others"][(request.sampling.seed or 0) % len(answer["others"])]}
        if answer.get("refuse") and request.grammar is not None:
            raise GrammarError("The grammar was refused.")
        head = answer.get("head", "")
        if on_text is not None and head:
            on_text(head)
            self._log(event="head", prefix=request.prefix)
        completion = self._answer(answer, cancel, request.prefix)
        if on_text is not None:
            on_text(completion.text.removeprefix(head))
        return completion

    def generate(
        self, request: TextRequest, cancel: CancelToken, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        grammar = request.grammar
        self._log(event="generate", prompt=request.prompt, document=request.document,
                  max_tokens=request.limits.max_tokens, special=request.special,
                  speculate=request.speculate, workspace=request.workspace,
                  grammar=grammar and [grammar.kind, grammar.source])  # fmt: skip
        answers = json.loads((self._folder / "chat.json").read_text("utf-8"))
        held = [part for part in answers if part in request.prompt]
        answer = answers[max(held, key=len)] if held else {"text": ""}
        if on_text is not None:
            on_text(answer["text"])
        return self._answer(answer, cancel, request.prompt)

    def _answer(self, answer: dict[str, Any], cancel: CancelToken, prefix: str) -> Completion:
        while answer.get("wait") and not (self._folder / "go").exists():
            if cancel.cancelled:
                self._log(event="cancelled", prefix=prefix)
                raise CancelledError("The request was cancelled.")
            time.sleep(0.002)
        text = answer["text"]
        return Completion(
            text, tuple(range(len(text))), FinishReason(answer.get("finish", "end")), Statistics()
        )

    def measure(self, progress: Callable[[float], None]) -> dict[str, Any]:
        raise NotImplementedError

    def study(self) -> bool:
        return False

    def describe(self) -> dict[str, Any]:
        return {"measured": True}

    def close(self) -> None:
        pass

    def _log(self, **entry: Any) -> None:
        with (self._folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


class Models(ScriptedModels):
    """One model for each role, unless the folder says there is none."""

    def __init__(self, folder: Path) -> None:
        super().__init__(scripted_model("small"), scripted_model("talker", roles=("chat",)))
        self._folder = folder

    def default(self, role: str) -> InstalledModel | None:
        return None if (self._folder / "no-model").exists() else super().default(role)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--host"]:
        folder = Path(os.environ["VELOSPEC_ANSWERS"])
        engine = AnsweringEngine(folder)
        kept = Workspaces(workspaces_folder())
        host_models(parse(arguments[1:]), Models(folder), lambda _model, _progress: engine, workspaces=kept)
    return supervise(parse(arguments), (sys.executable, PROGRAM, "--host"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
