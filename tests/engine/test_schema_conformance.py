"""Schemas of real use: each compiles or is refused by name, and no instance is taken for what it is not.

`python -m tests.benchmarks.schema_conformance` has the figures of all of them.
"""

from __future__ import annotations

from itertools import islice

import pytest

from tests.support.grammar_vocabulary import GrammarVocabulary
from tests.support.schema_conformance import conformance
from tests.support.schema_engines import ENGINES, grammar_engine
from tests.support.schema_packages import PACKAGES, Package, real_schemas

VOCABULARY = GrammarVocabulary()
SAMPLE = 12  # schemas of a sample, of the smaller ones


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sample_conforms(engine: str) -> None:
    compiled = 0
    for real in islice(real_schemas(PACKAGES[0]), 0, 120, 120 // SAMPLE):
        found = conformance(real.schema, grammar_engine(engine, VOCABULARY), count=2)
        assert not found.mistakes, real.name
        assert "#" in found.refusal or (found.right and not found.refusal), real.name
        compiled += not found.refusal
    assert compiled > SAMPLE // 2


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_all_conform(package: Package, engine: str) -> None:
    mistakes = {}
    for real in real_schemas(package):
        found = conformance(real.schema, grammar_engine(engine, VOCABULARY), count=3)
        if found.mistakes:
            mistakes[real.name] = found.mistakes[:2]
    assert not mistakes
