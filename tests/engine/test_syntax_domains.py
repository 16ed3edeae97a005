"""The language of a text, by its file's name or by what it contains."""

from __future__ import annotations

from pathlib import Path

import pytest

from velospec.proposers.syntax_rules import LANGUAGES
from velospec.proposers.syntax_rules.domains import GENERIC, detect

SNIPPETS = Path(__file__).parent.parent / "support" / "snippets"


def snippets() -> list[tuple[str, str]]:
    """Each snippet with its language; a line of equals signs parts those of one file."""
    found = []
    for file in sorted(SNIPPETS.glob("*.txt")):
        name = "" if file.stem == "generic" else file.stem
        found += [(name, text.rstrip("\n")) for text in file.read_text(encoding="utf-8").split("\n====\n")]
    return found


def test_two_hundred_snippets_are_told_apart_by_their_content() -> None:
    every = snippets()
    assert len(every) >= 200
    assert {name for name, _ in every} == {*LANGUAGES, GENERIC}
    wrong = [(name, detect("", text), text) for name, text in every if detect("", text) != name]
    assert wrong == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.py", "python"),
        ("a.pyi", "python"),
        ("src/a.test.tsx", "typescript"),
        ("a.mjs", "javascript"),
        ("C:\\work\\a.go", "go"),
        ("lib.rs", "rust"),
        ("Main.java", "java"),
        ("a.c", "c"),
        ("a.HPP", "cpp"),
        ("schema.sql", "sql"),
        ("index.html", "html"),
        ("package.json", "json"),
        ("notes.txt", GENERIC),
        ("style.css", GENERIC),
    ],
)
def test_the_name_of_a_file_decides(path: str, expected: str) -> None:
    """Whatever is in it, be it another language's."""
    assert detect(path, "SELECT * FROM people;") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("namespace a {\nclass B;\n}", "cpp"), ("struct a;\nvoid f(struct a *a);", "c"), ("", "c")],
)
def test_a_header_is_c_or_cpp_by_its_content(text: str, expected: str) -> None:
    assert detect("include/a.h", text) == expected


@pytest.mark.parametrize("path", ["", "script", "bin/tool"])
def test_a_file_without_an_ending_is_told_by_its_first_line_or_content(path: str) -> None:
    assert detect(path, "#!/usr/bin/env python3\n") == "python"
    assert detect(path, "#!/usr/bin/env node\nfoo") == "javascript"
    assert detect(path, "func main() {\n\tx := 1\n}\n") == "go"
    assert detect(path, "") == GENERIC


def test_much_prose_that_mentions_code_is_still_prose() -> None:
    prose = "We await the return of the typeof people who said undefined things.\n" * 60
    assert detect("", prose) == GENERIC


def test_only_the_ends_of_a_long_text_are_looked_at() -> None:
    code = "import os\n\n\ndef f(x):\n    for y in x:\n        print(y)\n"
    assert detect("", "words and words\n" * 2000 + code * 200) == "python"
    assert detect("", "words and words\n" * 1000 + code * 200 + "words and words\n" * 1000) == GENERIC
