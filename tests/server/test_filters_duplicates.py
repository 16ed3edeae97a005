"""Filters that cut what the document has already, above the cursor, behind it and below it."""

from __future__ import annotations

import pytest

from tests.support.sites import site_at
from velospec_lsp.filters.above import drop_lines_above
from velospec_lsp.filters.next_line import drop_next_lines
from velospec_lsp.filters.tail_overlap import cut_tail_overlap


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("print(^)", "x)", "x)"),
        ("print(^)", "f(x)", "f(x)"),
        ("print(^)", ")", ""),
        ('print("^") ', '")', ""),
        ("print(^)", ")\nx = 1", ")\nx = 1"),
        ("print(^))", "x)", "x"),
        ("print(^)  ", "x)", "x"),
        ('print("^")', 'hello (there")', 'hello (there")'),
        ('print("^")', "hello", "hello"),
        ("f(^, y)", "x, y)", "x"),
        ("f(^, y)", "x)", "x"),
        ("x = ^ + 1", "y + 1", "y"),
        ("x = ^ + 1", "y\nz", "y"),
        ("if ^ == 1:", "x == 1:", "x"),
        ("x = ^", "f(y)", "f(y)"),
        ("for x in ^:", "range(3):", "range(3):"),
        ("d = {^}", "'a': {}}", "'a': {}}"),
        ("d = {^}", "'a': {}", "'a': {}"),
        ("f(^ * z)", "x) + g(y", "x) + g(y"),
        ("x = f'{g(^)}'", "y)}'", "y)}'"),
        ("x = f'{g(^)}'", "y)", "y"),
        ("s = 'it^'", 's "fine"\'', 's "fine"\''),
    ],
)
def test_tail_overlap(code: str, text: str, left: str) -> None:
    assert cut_tail_overlap(text, site_at(code)) == left


@pytest.mark.parametrize(
    ("code", "language", "text", "left"),
    [
        ("f::<^>(x)", "rust", "'a, T>(x)", "'a, T"),
        ("f(^)", "rust", "&'a x)", "&'a x)"),
        ("f(^)", "c", "')')", "')')"),
        ("He said (^)", "markdown", "and didn't)", "and didn't)"),
        ("if (^) {", "javascript", "x) {\n  y();\n}", "x) {\n  y();\n}"),
        ("f(^);", "javascript", "x).then(y);", "x).then(y);"),
        ("f(^);", "javascript", "x)", "x"),
        ("f(`a^`)", "javascript", "b`)", "b`)"),
    ],
)
def test_tail_overlap_elsewhere(code: str, language: str, text: str, left: str) -> None:
    assert cut_tail_overlap(text, site_at(code, language)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("a = 1\n^\nb = 2\n", "b = 2", ""),
        ("a = 1\n^\n\n\nb = 2\nc = 3\n", "b = 2\nc = 3", ""),
        ("a = 1\n^\nb = 2\nc = 3\n", "b = 2\nc =", ""),
        ("a = 1\n^\nb = 2\nc = 3\n", "x = 5\nb = 2\nc = 3", "x = 5"),
        ("f() {\n  if (x) {^\n}\n", "\n    y();\n  }", "\n    y();\n  }"),
        ("f() {\n  if (x) {^\n}\n", "\n    y();\n  }\n}", "\n    y();\n  }"),
        ("a = 1\n^\nb = 2\nc = 3\n", "b = 2\nc = 3\nd = 4", ""),
        ("^\n\nclass Store:\n    x = 1\n", "class Store:\n    y = 2", ""),
        ("f(^\n  for (const x of y) {\n  }\n", "z);\n\n  for (const x of y) {\n    g(x);", "z);\n"),
        ("f(^\n    break;\n", "x);\n    break;\n    g();", "x);\n    break;\n    g();"),
        ("f(^\n  a = 1;\n\n  b = 2;\n}\n", "x) {\n  a = 1;\n  b = 2;\n  c = 3;", "x) {"),
        ("f(^\n  a = 1;\n  b = 2;\n}\n", "x) {\n  a = 1;\n  c = 3;", "x) {\n  a = 1;\n  c = 3;"),
        ("a = 1\n^\nb = 2\n", "b = 23", "b = 23"),
        ("a = ^\nb = 2\n", "b = 2", "b = 2"),
        ("a = 1\nb^\nb = 2\n", " = 2", ""),
        ("x^", "yz", "yz"),
        ("x^\n\n", "yz\n", "yz\n"),
        ("^\n    total = compute(a, b)\n", "total = compute(a,  b);", ""),
        ('^\nname = "first",\n', "name = 'first'", ""),
        ("^\nb = total(2)\n", "a = 1\n\nb = total(2)", "a = 1\n"),
        ("    ^\n    a = 1\n    total(a, b)\n", "total(a, b)", ""),
        ("    ^\nexcept KeyError:\n    total = all_of\n", "total = all_of", ""),
        ("    ^\n    if b:\n    return None\n", "return None", "return None"),
        ("  ^\nif b:\n  return total(first, b)\n", "return total(first, b)", "return total(first, b)"),
        ("  ^\n  b = 2\n  return total(first, b)\n", "return total(first, b)", ""),
        ("^\nthe rest.\n\nArgs:\n    a: the first", "or not.\n\nArgs:\n    a: the first", "or not.\n"),
        ("^\na()\n} else if (compute(b)) {\n", "} else if (compute(b)) {", ""),
        ("@property^\n@property\ndef g(self): ...", "\ndef f(self):", "\ndef f(self):"),
        ("^\n@staticmethod\ndef g(): ...", "@staticmethod\ndef f():", "@staticmethod\ndef f():"),
        ("^\n# ----------------\n# Next\n", "# ----------------\n# First", "# ----------------\n# First"),
        ("    0x000000,\n^\n    0x000000,\n    0x000000,\n", "    0x000000,", "    0x000000,"),
        ("    ^\n    return None\n\nx = 1", "if c:\n    return None\nx = 2", "if c:\n    return None\nx = 2"),
    ],
)
def test_next_line(code: str, text: str, left: str) -> None:
    assert drop_next_lines(text, site_at(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("a = first(1)\n^", "a = first(1)", ""),
        ("a = first(1)\nb = 2\n^", "a = first(1)\nb = 2\nc = 3", ""),
        ("a = first(1)\na = ^", "first(1)", ""),
        ("a = first(1)\nb = ^", "first(1)", "first(1)"),
        ("  a = first(1)\n^", "a = first(1)", "a = first(1)"),
        ("  }\n^", "  }", "  }"),
        ("b = 2\n^", "b = 2", "b = 2"),
        ("[0, 1, 0, 1],\n[0, 1, 0, 1],\n^", "[0, 1, 0, 1],", "[0, 1, 0, 1],"),
        ("def compute(^", "def compute(x):", "x):"),
        ("return self.^", "return self.x", "x"),
        ("255U, 255U, ^", "255U, 255U, 255U, 255U", "255U, 255U, 255U, 255U"),
        ("str(^", "str(x))", "str(x))"),
    ],
)
def test_lines_above(code: str, text: str, left: str) -> None:
    assert drop_lines_above(text, site_at(code)) == left


def test_lines_of_prose_may_come_again() -> None:
    text = "- [ ] to be done"
    assert drop_lines_above(text, site_at("- [ ] to be done\n^", "markdown")) == text
