"""How many real schemas each engine enforces, what it refuses and why, and whether it is ever wrong.

    python -m tests.benchmarks.schema_conformance [ENGINE] [EVERY]

ENGINE is llguidance (the default) or xgrammar; with EVERY, every so-manieth schema is tried.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter

from tests.support.grammar_vocabulary import GrammarVocabulary
from tests.support.schema_conformance import conformance
from tests.support.schema_engines import grammar_engine
from tests.support.schema_packages import PACKAGES, real_schemas

_INSTANCES = 3  # of each source, and twice as many spoilt ones
_REASON = re.compile(
    r'#\S*: "(\$?\w+)" is (?:not )?enforced|"[^"]*" is (not in this schema)|(malformed|too \w+)'
)


def main(engine: str = "llguidance", every: int = 1) -> None:
    """Print a table of all packages, and one of the reasons of refusals."""
    warnings.simplefilter("ignore")
    opened = grammar_engine(engine, GrammarVocabulary())
    reasons: Counter[str] = Counter()
    _say("| package | licence | schemas | enforced | refused | valid accepted | invalid refused | mistakes |")
    _say("|---|---|---|---|---|---|---|---|")
    for package in PACKAGES:
        counts: Counter[str] = Counter()
        for real in list(real_schemas(package))[::every]:
            found = conformance(real.schema, opened, count=_INSTANCES)
            counts["refused" if found.refusal else "enforced"] += 1
            counts["right"] += found.right
            counts["wrong"] += found.wrong
            counts["mistakes"] += len(found.mistakes)
            if found.refusal:
                reasons[_reason(found.refusal)] += 1
            for mistake in found.mistakes[:1]:
                sys.stderr.write(f"mistake in {real.name}: {mistake[:300]}\n")
        sums = [counts[key] for key in ("enforced", "refused", "right", "wrong", "mistakes")]
        name = f"{package.name} {package.version}"
        _say(f"| {name} | {package.licence} | {sum(sums[:2])} | {' | '.join(map(str, sums))} |")
    for reason, count in reasons.most_common():
        _say(f"{count:5d} {reason}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _reason(refusal: str) -> str:
    found = _REASON.search(refusal)
    return next(filter(None, found.groups())) if found else refusal[:100]


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
