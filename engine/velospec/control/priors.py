"""The weights that acceptance begins with, as shipped: `priors.json`, fitted by `scripts/fit_priors.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources

VERSION = 1
"""Of the weights' names and meaning; a file of another version is not used."""

NAME = "priors.json"


@cache
def shipped(*, structured: bool = False) -> Mapping[str, float]:
    """First weights by name, in log odds; names are those of `acceptance`.

    `structured`: those of answers under a grammar.
    """
    data = json.loads(resources.files(__package__).joinpath(NAME).read_text(encoding="utf-8"))
    if data["version"] != VERSION:
        return {}
    weights = data["structured" if structured else "weights"]
    return {name: float(value) for name, value in weights.items()}
