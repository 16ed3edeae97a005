"""Nothing is switched off without its code and its reason, and every module says what it is for."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT, all_python_files, relative

# A waiver is good with a code, and some words after it.
NOQA = re.compile(r"#\s*noqa(?P<rest>.*)", re.IGNORECASE)
NOQA_GOOD = re.compile(r":\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*\W+\w+")
IGNORE = re.compile(r"#\s*type:\s*ignore(?P<rest>.*)")
IGNORE_GOOD = re.compile(r"\[[a-z-]+(,\s*[a-z-]+)*\]\W+\w+")


def comments(file: Path) -> Iterator[tuple[int, str]]:
    with tokenize.open(file) as source:
        for token in tokenize.generate_tokens(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def unexplained(comment: str) -> bool:
    noqa, ignore = NOQA.search(comment), IGNORE.search(comment)
    if noqa:
        return not NOQA_GOOD.match(noqa["rest"])
    return bool(ignore and not IGNORE_GOOD.match(ignore["rest"]))


@pytest.mark.parametrize(
    ("comment", "bad"),
    [
        ("# noqa", True),
        ("# noqa: S110", True),
        ("# noqa: S110 - closing twice is harmless", False),
        ("# noqa: S110, BLE001 - closing twice is harmless", False),
        ("# type: ignore", True),
        ("# type: ignore[misc]", True),
        ("# type: ignore[misc]  # the library types it as Any", False),
        ("# an ordinary comment", False),
    ],
)
def test_the_rule_tells_explained_from_unexplained(comment: str, bad: bool) -> None:
    assert unexplained(comment) is bad


def test_every_waiver_in_the_code_has_a_code_and_a_reason() -> None:
    found = [
        f"{relative(file)}:{line}: {comment}"
        for file in all_python_files()
        for line, comment in comments(file)
        if unexplained(comment)
    ]
    assert found == []


def test_no_file_is_waived_as_a_whole() -> None:
    waiver = re.compile(r"#\s*(ruff:\s*noqa|mypy:\s*ignore|flake8:)")
    found = [
        relative(file)
        for file in all_python_files()
        for _, comment in comments(file)
        if waiver.search(comment)
    ]
    assert found == []


def test_every_rule_that_is_off_in_the_project_file_has_a_reason() -> None:
    rule = re.compile(r'^\s*"(?P<code>[A-Z]+\d*)",(?P<rest>.*)$')
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    rules = [match for line in lines if (match := rule.match(line))]
    assert rules, "the list of rules was not found: mend this test"
    assert [match["code"] for match in rules if not re.match(r"\s+# \w+", match["rest"])] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        relative(file)
        for file in all_python_files()
        if file.parent.name != "tests" and not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []
