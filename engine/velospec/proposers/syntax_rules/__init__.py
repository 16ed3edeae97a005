"""Syntax rules: which text follows which in a language, as data, and what turns the data into automata.

`language` gives the rules of one language, `domains.detect` tells the language of a text. A language's rules
are read when they are first asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from velospec.proposers.syntax_rules.base import Language

_MODULES = {
    "python": "python",
    "javascript": "javascript",
    "typescript": "javascript",
    "go": "go",
    "rust": "rust",
    "java": "java",
    "c": "c_family",
    "cpp": "c_family",
    "sql": "sql",
    "html": "markup",
    "json": "data",
}
LANGUAGES = tuple(_MODULES)
"""The languages that have rules. Their order is part of a draft's evidence: add new ones at the end."""


def language(name: str) -> Language | None:
    """The language called `name`; None where there are no rules for it."""
    return read(name) if name in _MODULES else None


@cache
def read(name: str) -> Language:
    """The language called `name`, one of LANGUAGES."""
    found: Language = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name.upper())
    return found
