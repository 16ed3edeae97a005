"""The quiet gate: how likely the first line of a text is what the user is about to write.

A logistic model over what the text shows of itself: how likely its tokens and its end were to the model, how
long it is, where the cursor stands. It is fitted on lines of code whose authors wrote what was right
(scripts/fit_quiet.py; `quiet.json` has the weights and their origin). How often the user wants what is shown
in a language shifts it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from velospec.core.request import Completion
from velospec_lsp.completion.offer import Silence
from velospec_lsp.completion.site import Site
from velospec_lsp.completion.work import Work

_UNLIKELY = -12.0  # a logarithm below this says no more than this
_NEAR = 200  # characters below the cursor in which a line that is there already is looked for
_HABIT = 0.5  # how much of the user's habit counts: what is read and passed over may have been right
EVEN = 0.5
"""The share of offers taken that says nothing."""

FEATURES = (
    *("total", "mean", "second_least", "first", "ended", "whole", "cut", "tokens", "lines"),
    *("length", "typed", "at_start", "comment", "below"),
)
"""Names of what `measure` finds."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The logarithm of the odds is `bias` and the sum of the features, each by its weight."""

    bias: float
    weights: dict[str, float]

    def confidence(self, features: dict[str, float], wanted: float = EVEN) -> float:
        """How likely the line is right, 0 to 1; `wanted` is the share of offers that the user takes."""
        odds = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        wanted = min(max(wanted, 0.01), 0.99)
        return 1 / (1 + math.exp(-(odds + _HABIT * math.log(wanted / (1 - wanted)))))


def weigh(work: Work, wanted: float = EVEN) -> Silence | None:
    """Silence where the text of `work` is less likely right than the settings ask for.

    What the user asks for by hand is shown in any case. So is JSON that a schema guides: the schema rules out
    what is wrong, and the probabilities, which do not know it, say little.
    """
    if work.query.manual or work.guidance is not None or not work.answer.log_probs:
        return None
    confidence = shipped().confidence(measure(work.answer, work.text, work.site), wanted)
    work.confidence = confidence
    asked = work.settings.min_confidence
    work.trace.notes["quiet"] = f"confidence {100 * confidence:.0f} of 100, {asked} asked for"
    if 100 * confidence >= asked:
        return None
    return Silence(
        f"The model is not sure enough: {100 * confidence:.0f} % (velospec.minConfidence asks for {asked} %)."
    )


@cache
def shipped() -> Weights:
    """The weights that come with the package."""
    data = json.loads(files(__package__).joinpath("quiet.json").read_text("utf-8"))
    return Weights(data["bias"], data["weights"])


def measure(completion: Completion, text: str, site: Site) -> dict[str, float]:
    """The features of `text`, which is part of `completion` and is to be shown at `site`."""
    return {**_likelihood(completion, text), **_wording(text.partition("\n")[0], site)}


def _likelihood(completion: Completion, text: str) -> dict[str, float]:
    """What the tokens of the first line tell. Logarithms are natural ones."""
    line = text.partition("\n")[0]
    begin = max(completion.text.find(text), 0)
    end = begin + len(line)
    spans = list(zip(pairwise((0, *completion.ends)), completion.log_probs, strict=True))
    inside = [log for (start, stop), log in spans if stop > begin and start < end]
    behind = [log for (start, _), log in spans if start >= end] or [completion.end_log_prob]
    whole = not completion.text[end:].partition("\n")[0].strip()  # no filter has cut the line
    logs = [max(log, _UNLIKELY) for log in inside or [completion.end_log_prob]]
    ended = max(behind[0], _UNLIKELY) if whole else 0.0
    return {
        "total": sum(logs),
        "mean": sum(logs) / len(logs),
        "second_least": [*sorted(logs), 0.0][1],
        "first": logs[0],
        "ended": ended,
        "whole": math.exp(sum(logs) + ended),
        "cut": float(not whole),
        "tokens": math.log1p(len(logs)),
        "lines": float("\n" in text),
    }


def _wording(line: str, site: Site) -> dict[str, float]:
    """What the line and the place tell."""
    begun = site.line_before.strip()
    return {
        "length": math.log1p(len(line)),
        "typed": math.log1p(len(begun)),
        "at_start": float(not begun),
        "comment": float(begun.startswith(tuple(span.opener for span in site.facts.comments) or "\0")),
        "below": float(bool(line.strip()) and line.strip() in site.suffix[:_NEAR]),
    }
