"""Answers that the real model gave at places of our own sources, through the filters once more.

`python -m tests.benchmarks.record_cassettes` records them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.record_cassettes import CUT_OFF, FOLDER, SOURCES, site_between
from velospec_lsp.filters import apply_filters

CASSETTES = sorted(FOLDER.glob("*.json"))


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_the_filters_leave_what_they_left(path: Path) -> None:
    kept = read(path)
    for number, place in enumerate(kept["places"]):
        site = site_between(place["before"], place["behind"], kept["language"])
        left = apply_filters(place["written"], site, cut_off=place["finish"] in CUT_OFF)
        assert left == (place["shown"], place["emptied_by"]), number


def test_they_are_of_our_own_sources_and_of_many_kinds() -> None:
    cassettes = list(map(read, CASSETTES))
    assert {kept["source"]: kept["language"] for kept in cassettes} == SOURCES
    places = [place for kept in cassettes for place in kept["places"]]
    assert len(places) >= 60
    emptied = {place["emptied_by"] for place in places} - {""}
    cut = [place for place in places if place["shown"] not in ("", place["written"])]
    whole = [place for place in places if place["shown"] and place["shown"] == place["written"]]
    assert min(len(emptied), len(cut), len(whole)) >= 2
