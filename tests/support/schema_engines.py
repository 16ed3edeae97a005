"""The engines for grammars, by name; a test of one that is not installed is skipped."""

from __future__ import annotations

from functools import cache

import pytest

from velospec.backends.base import Vocabulary
from velospec.constraints.matcher import Engine

ENGINES = ("llguidance", "xgrammar")


@cache
def grammar_engine(name: str, vocabulary: Vocabulary) -> Engine:
    """The engine `name` for `vocabulary`."""
    if name == "llguidance":
        from velospec.constraints.llguidance import LlguidanceEngine  # noqa: PLC0415 - each in its own tests

        return LlguidanceEngine(vocabulary)
    pytest.importorskip("xgrammar", reason="xgrammar comes with the extra `torch`")
    from velospec.constraints.xgrammar import XgrammarEngine  # noqa: PLC0415 - as above

    return XgrammarEngine(vocabulary)
