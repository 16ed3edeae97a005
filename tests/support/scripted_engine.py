"""An engine for tests of the daemon: what it does is written in the prompt.

say TEXT        answer TEXT, one character per step
wait NAME       step until the gate NAME is opened (in the test's own process), then answer NAME
steps N         N steps of 2 ms, then answer "done"
signal NUMBER   end the process by that signal
freeze          never come back, and make no step
fail            raise an error that no user should see as it is
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from velospec.core.errors import CancelledError, ModelLoadError, ModelNotFoundError
from velospec.core.request import Completion, FinishReason, InfillRequest, TextRequest
from velospec.core.statistics import Statistics
from velospec.models.store import InstalledModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from velospec.core.cancellation import CancelToken


def scripted_model(
    name: str, *, size: int = 800, roles: tuple[str, ...] = ("completion",), sha256: str = ""
) -> InstalledModel:
    folder = Path("/nowhere") / name
    return InstalledModel(name, roles, folder / "model", sha256, size, "none", "test", None, folder)


class ScriptedModels:
    """The store of models, held in memory."""

    def __init__(self, *models: InstalledModel) -> None:
        self.models = {model.name: model for model in models}

    def get(self, name: str) -> InstalledModel:
        if name not in self.models:
            raise ModelNotFoundError(f"No model {name!r} is installed.")
        return self.models[name]

    def default(self, role: str) -> InstalledModel | None:
        return next((model for model in self.models.values() if role in model.roles), None)


class Script:
    """What the engines of one test share: the gates that the test opens, and what happened in which order."""

    def __init__(self) -> None:
        self.gates: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self.events: list[str] = []  # "open NAME", "PROMPT", "measure NAME", "close NAME"
        self.steps: defaultdict[str, int] = defaultdict(int)  # by prompt
        self.blurred = False  # whether measurements find the machine busy
        self.lessons = 0  # slices that there are to study
        self.studied: list[int] = []  # for each slice, how many events there were before it
        self.complaint = ""  # what studying fails with
        self.failing: set[str] = set()  # models that cannot be loaded

    def open(self, model: InstalledModel, progress: Callable[[float], None]) -> ScriptedEngine:
        self.events.append(f"open {model.name}")
        if model.name == "crasher":
            os.kill(os.getpid(), signal.SIGILL)
            time.sleep(10)  # another thread may be the one that the signal ends
        if model.name in self.failing:
            raise ModelLoadError(f"{model.name} cannot be loaded.")
        if f"load {model.name}" in self.gates:
            progress(0.5)
            self.gates[f"load {model.name}"].wait(10)
        progress(1.0)
        return ScriptedEngine(model, self)


class ScriptedEngine:
    """Does what the prompt says."""

    def __init__(self, model: InstalledModel, script: Script) -> None:
        self._model = model
        self._script = script
        self.memory_bytes = model.size
        self.measured = model.name.startswith("measured")

    def infill(
        self, request: InfillRequest, cancel: CancelToken, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        return self._answer(request.prefix, cancel, on_text)

    def generate(
        self, request: TextRequest, cancel: CancelToken, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        return self._answer(request.prompt, cancel, on_text)

    def measure(self, progress: Callable[[float], None], cancel: CancelToken) -> dict[str, Any]:
        self._script.events.append(f"measure {self._model.name}")
        for step in range(10):
            progress(step / 10)
            if "measure" in self._script.gates:
                while not self._script.gates["measure"].wait(0.001):
                    self._step("measure", cancel)
        self.measured = not self._script.blurred
        return {"rows": [1, 2, 4]}

    def study(self) -> bool:
        self._script.studied.append(len(self._script.events))
        if self._script.complaint:
            raise ValueError(self._script.complaint)
        self._script.lessons = max(self._script.lessons - 1, 0)
        return self._script.lessons > 0

    def describe(self) -> dict[str, Any]:
        notice = {"notice": "This model is odd."} if self._model.name == "odd" else {}
        return {"measured": self.measured, **notice}

    def close(self) -> None:
        if f"close {self._model.name}" in self._script.gates:
            self._script.gates[f"close {self._model.name}"].wait(10)
        self._script.events.append(f"close {self._model.name}")

    def _answer(self, prompt: str, cancel: CancelToken, on_text: Callable[[str], None] | None) -> Completion:
        self._script.events.append(prompt)
        verb, _, rest = prompt.partition(" ")
        if verb == "signal":
            os.kill(os.getpid(), int(rest))
            time.sleep(10)
        if verb == "freeze":
            time.sleep(600)
        if verb == "fail":
            raise ValueError(rest)
        text = ""
        for piece in {"say": rest, "steps": range(int(rest)) if verb == "steps" else ""}.get(verb, ""):
            self._step(prompt, cancel)
            if verb == "say":
                text += piece
                if on_text:
                    on_text(piece)
            else:
                time.sleep(0.002)
        while verb == "wait" and not self._script.gates[rest].wait(0.001):
            self._step(prompt, cancel)
        counts = Statistics(steps=4, new_tokens=8, drafted_tokens=8, accepted_tokens=4, decode_seconds=0.5)
        text = text or {"wait": rest, "steps": "done"}.get(verb, "")
        return Completion(text, tuple(range(len(text))), FinishReason.END, counts)

    def _step(self, prompt: str, cancel: CancelToken) -> None:
        if cancel.cancelled:
            raise CancelledError("The request was cancelled.")
        self._script.steps[prompt] += 1
