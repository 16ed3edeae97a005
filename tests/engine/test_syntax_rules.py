"""Each language's rules by example: a text, and what is drafted after it letter by letter."""

from __future__ import annotations

from collections import deque

import pytest

from tests.support.syntax import continuation
from velospec.proposers.syntax_fsm import RULES_PER_LANGUAGE, rule_name
from velospec.proposers.syntax_rules import LANGUAGES, language, read
from velospec.proposers.syntax_rules.base import INDENTED
from velospec.proposers.syntax_rules.machine import Machine, expand
from velospec.proposers.syntax_rules.pattern import Automaton

PYTHON = {
    "else": ":\n    ",
    "    try:": "\n        ",
    "finally": ":\n    ",
    "    if x > limit[1:2]:": "\n        ",
    "while a < b:": "\n    ",
    "with lock:": "\n    ",
    "async with session:": "\n    ",
    "match command:": "\n    ",
    "def f():": '\n    """',
    "def f(a: int, b: str = 'x') -> None:": '\n    """',
    "class A:": '\n    """',
    "class A(B, C):": '\n    """',
    "class A(Base": '):\n    """',
    "while True": ":\n    ",
    "if not done": ":\n    ",
    "elif a in b": ":\n    ",
    "if a is None": ":\n    ",
    "if a is not None": ":\n    ",
    "if a % 2 == 0": ":\n    ",
    "if isinstance(a, int)": ":\n    ",
    "for i in range(10)": ":\n    ",
    "for i, x in enumerate(items)": ":\n    ",
    "for k, v in pairs.items()": ":\n    ",
    "raise ValueError": '("',
    "    raise": ' ValueError("',
    "except KeyError": ":\n    ",
    "except (KeyError, OSError)": " as e:\n    ",
    "except KeyError as error": ":\n    ",
    "with open": "(",
    "with open(path)": " as ",
    "with open(path) as file": ":\n    ",
    "    with self": ".assertRaises(",
    "with pytest": ".raises(",
    "async": " def ",
    "from a.b": " import ",
    "from __future__": " import annotations\n",
    "import sys": "\n",
    "import numpy": " as np\n",
    "import pandas": " as pd\n",
    "import matplotlib.pyplot": " as plt\n",
    "if __": 'name__ == "__main__":\n    main()\n',
    "for x": " in ",
    "for a, b": " in ",
    "y = [x for x": " in ",
    "for i in": " range(",
    "n = len": "(",
    "for i in range(len": "(",
    "names.append": "(",
    "s = s.strip": "()",
    "for v in table.values": "():\n    ",
    "isinstance(a": ", ",
    "f = lambda x, y": ": ",
    "x is": " not None",
    "x is not": " None",
    "if a not": " in ",
    "    self": ".",
    "return self": ".",
    "return f": '"',
    "    super": "().__init__(",
    "np": ".",
    "p = os.path": ".",
    "log = logging.getLogger": "(__name__)\n",
    "parser = argparse": ".ArgumentParser(",
    "args = parser": ".parse_args()\n",
    "    def go": "(self):\n        ",
    "    def __init": "__(self, ",
    "    def __repr": '__(self):\n        return f"',
    "    def __len": "__(self):\n        return self.",
    "    def __eq": "__(self, other):\n        return ",
    "    def __getitem": "__(self, index):\n        return self.",
    "    def __contains": "__(self, item):\n        return item in self.",
    "    def __enter": "__(self):\n        return self\n    ",
    "    def __exit": "__(self, exc_type, exc_value, traceback):\n        self.",
    "    @classmethod": "\n    def ",
    "    @classmethod\n    def make": "(cls, ",
    "    @staticmethod": "\n    def ",
    "    @property": "\n    def ",
    "    @property\n    def size": "(self):\n        return self.",
    "    @size.setter": "\n    def ",
    "    @size.setter\n    def size": "(self, value):\n        ",
    "@dataclass(frozen=True)": "\nclass ",
    "@pytest.fixture": "\ndef ",
    "def main": "():\n    ",
    "def f(a: int)": " -> ",
    "def f(a) -> None": ':\n    """',
    "names: List": "[",
    'class A:\n    """Doc."""': "\n\n    def __init__(self, ",
    'def f():\n    """Doc."""': "\n    ",
}
OTHERS = {
    "javascript": {
        "} else": " {\n  ",
        "try": " {\n  ",
        "} catch": " (error) {\n  ",
        "if (a)": " {\n  ",
        "if": " (",
        "function f(a, b)": " {\n  ",
        "for (let i": " = 0; i < ",
        "for (let i = 0; i < a.length": "; i++) {\n  ",
        "items.map((x) =": "> {\n  ",
        "this": ".",
        "console.log": "(",
        "module.exports": " = ",
        "import { a, b }": ' from "',
        "const a": " = ",
        "  return true": ";\n  ",
        "throw": " new Error(",
        "new Promise(": "(resolve, reject) => {\n  ",
        "constructor": "(",
    },
    "typescript": {
        "export interface A": " {\n  ",
        "f(): void": " {\n  ",
        "type A": " = ",
        "async f(): Promise": "<",
        "const a": " = ",
    },
    "go": {
        "import": ' (\n\t"',
        "type A struct": " {\n\t",
        "func main": "() {\n\t",
        "func TestA": "(t *testing.T) {\n\t",
        "func (s *A) F() error": " {\n\t",
        "\tif err": " != nil {\n\t\treturn ",
        "for _, x": " := range ",
        "for i := 0; i < n;": " i++ {\n\t",
        "\ta, err := f()": "\n\tif err != nil {\n\t\treturn ",
        "func f() {\n\tif a {\n\t\treturn nil, err": "\n\t}\n\t",
        "x := make": "(",
    },
    "rust": {
        "pub struct A": " {\n    ",
        "#[derive": "(Debug",
        "#[cfg": "(test)]\nmod tests {\n    use super::*;\n    ",
        "fn main": "() {\n    ",
        "pub fn new": "(",
        "for x": " in ",
        "if let Some(x)": " = ",
        "    None": " => ",
        "println": '!("',
        "let mut n": " = ",
        "use std": "::",
        "    let s = String::": "new(",
    },
    "java": {
        "public class A": " {\n    ",
        "public static void main": "(String[] args) {\n    ",
        "    @Override": "\n    public ",
        "for (int i": " = 0; i < ",
        "throw": " new ",
        "List<String> a = new ArrayList": "<>();\n",
        "System": ".out.println(",
        "    this": ".",
        "    return true": ";\n    ",
    },
    "c": {
        "#include": " <",
        "for (int i": " = 0; i < ",
        "while": " (",
        "p = malloc": "(sizeof(",
        "    printf": '("',
        "if (p == NULL": ") {\n    ",
        "    return 0;": "\n}\n",
        "    break": ";\n    ",
    },
    "cpp": {
        "public": ":\n    ",
        "using namespace": " std;\n",
        "std": "::",
        "std::vector": "<",
        "a = static_cast": "<",
        "items.push_back": "(",
        "#include": " <",
    },
    "sql": {
        "CREATE": " TABLE ",
        "create table if": " not exists ",
        "INSERT": " INTO ",
        "insert into users": " (",
        "SELECT *": " FROM ",
        "select a from b group": " by ",
        "FOREIGN": " KEY (",
        "DELETE": " FROM ",
    },
    "html": {
        "<!DOCTYPE": ' html>\n<html lang="',
        "<meta charset": '="',
        "  <title>News<": "/title>\n  ",
        "<li>One</": "li>\n",
        "<img": ' src="',
        '<img src="a.png"': ' alt="',
        '<a href="x" class="y">go<': "/a>\n",
        "</body": ">\n</html>",
    },
    "json": {
        '{"a"': ": ",
        '  "a": {': '\n    "',
        '  "a": 1,': '\n  "',
        '[\n  {"a": 1},': '\n  {"',
    },
}
EXAMPLES = [
    (name, text, expected)
    for name, examples in {"python": PYTHON, **OTHERS}.items()
    for text, expected in examples.items()
]


@pytest.mark.parametrize(("name", "text", "expected"), EXAMPLES)
def test_the_rule_writes_what_follows(name: str, text: str, expected: str) -> None:
    draft = continuation(name, text)
    # A draft ends before whitespace that merges with the next word, or goes on with another rule.
    assert draft.startswith(expected) or draft == expected.rstrip(" ")


def test_python_has_its_fifty_transitions_and_each_language_a_first_set() -> None:
    assert len(set(read("python").rules)) >= 50
    assert {name: len(read(name).rules) >= 12 for name in LANGUAGES} == dict.fromkeys(LANGUAGES, True)
    assert len(PYTHON) >= 50


def test_unknown_languages_have_no_rules() -> None:
    assert language("") is None
    assert language("cobol") is None


@pytest.mark.parametrize("name", LANGUAGES)
def test_no_rule_is_written_twice(name: str) -> None:
    rules = [(rule.left, rule.text) for rule in read(name).rules]
    assert sorted(rules) == sorted(set(rules))


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_rule_can_apply(name: str) -> None:
    """A shortest text that a rule's pattern allows brings the machine to that rule."""
    machine = Machine(read(name))
    dead = []
    for number, rule in enumerate(read(name).rules):
        effect = machine.walk(Machine.START, shortest(rule.left))
        if not any(match[0] == number for match in machine.matches(effect.state)):
            dead.append(rule_name(LANGUAGES.index(name) * RULES_PER_LANGUAGE + number))
    assert dead == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python", "x = 'for i"),
        ("python", "# for i"),
        ("python", '"""Text.\n\nfor i'),
        ("javascript", "// if"),
        ("javascript", "/* a\nif"),
        ("javascript", "`a\nif"),
        ("go", "`a\nif err"),
        ("rust", 'let s = "a\nfor x'),
        ("c", '"while'),
        ("sql", "-- INSERT"),
        ("sql", "SELECT 'GROUP"),
        ("html", "<!-- <a"),
        ("html", '<p title="<a'),
        ("json", '{"a'),
    ],
)
def test_nothing_is_drafted_inside_strings_and_comments(name: str, text: str) -> None:
    assert continuation(name, text) == ""


def shortest(left: str) -> bytes:
    """A shortest text whose end the pattern matches, as it stands in a file."""
    automaton = Automaton()
    automaton.add(0, expand(left), [(ord("x"), 1)])
    queue = deque([(position, b"") for position in sorted(automaton._first)])
    seen = set()
    while queue:
        position, before = queue.popleft()
        if position in seen:
            continue
        seen.add(position)
        text = before + bytes((min(automaton._symbols[position], key=readable),))
        if position in automaton._matches:
            return text.replace(bytes((INDENTED,)), b"    ")
        queue.extend((following, text) for following in sorted(automaton._follow[position]))
    raise AssertionError(left)


def readable(byte: int) -> tuple[bool, int]:
    """Letters first, then the rest; spaces last, since they are not seen at the start of a line."""
    return not chr(byte).isalpha(), byte if byte > 32 or byte in {INDENTED, 10} else 256 + byte
