"""Cursors in real source files, for `velospec benchmark quality`: where they stand, and what stood there.

The files are those of the standard library and of installed libraries. Nothing of them is kept: a place has
a name by which it is found again in the same version of the library. Which lines are taken is drawn by a
generator seeded with the file's name.

At a `word` the rest of the line is taken out and the cursor stands behind the border of a word in the line's
first half: a user has begun a line of a finished file. The other kinds are

- `border`: as `word`, but anywhere in the line;
- `start`: all of a line but its indentation is taken out;
- `closed`: as `word`, with the brackets closed behind the cursor that are open before it, as editors do;
- `block`: as `word`, and the rest of the block is taken out too;
- `prose`: as `word`, in a line that is only comment or documentation;
- `end`: behind a finished line, nothing is taken out;
- `empty`: in an empty line between two of a block, nothing is taken out.
"""

from __future__ import annotations

import io
import random
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice

KINDS = ("word", "border", "start", "closed", "block", "prose", "end", "empty")

_ABOVE, _BELOW = 30, 10  # lines that the file has at least before and after the cursor's
_SHORTEST = 12  # characters of a line; a shorter one says little
_LONGEST = 200
_MOST_BLOCK = 12  # lines that are taken out of a block
_BORDER = re.compile(r"\b")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: `name` is `library/path`, `text` has LF line ends."""

    name: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """A cursor. `before` and `after` are all of the document, `truth` what its author wrote between them.

    `closers` are those at the beginning of `after` that an editor has put there, `following` is what stands
    below the cursor's line in the author's file.
    """

    name: str  # library/path:line:column, from 1
    kind: str
    language: str
    before: str
    after: str
    truth: str
    following: str
    closers: str = ""

    @property
    def library(self) -> str:
        return self.name.partition("/")[0]

    @property
    def rest(self) -> str:
        """What follows the truth in the author's file."""
        return self.after[len(self.closers) :]


def places(files: Sequence[SourceFile], counts: Mapping[str, int], per_file: int = 3) -> list[Place]:
    """`counts` places of each kind, or what there is; at most `per_file` of a kind in one file."""
    chosen: list[Place] = []
    order = list(files)
    generator_of("files").shuffle(order)
    lines_of_code = cache(_code_lines)
    for kind, count in counts.items():
        found = (place for file in order for place in _drawn(file, lines_of_code(file), kind, per_file))
        chosen += islice(found, count)
    return chosen


def generator_of(name: str) -> random.Random:
    """A generator that gives the same for the same name."""
    return random.Random(name)  # noqa: S311 - chooses lines, guards nothing


def _drawn(file: SourceFile, code: frozenset[int], kind: str, count: int) -> Iterator[Place]:
    """Places in `file`. Those of the kinds in `_SAME_LINES` are in the same lines where they can be."""
    lines = file.text.split("\n")
    numbers = [number for number in range(_ABOVE, len(lines) - _BELOW) if len(lines[number]) <= _LONGEST]
    generator_of(f"{file.name} {'word' if kind in _SAME_LINES else kind}").shuffle(numbers)
    made = (_MAKERS[kind](file, lines, code, number) for number in numbers)
    return islice(filter(None, made), count)


_SAME_LINES = ("word", "border", "start", "closed")
_PYTHON_CODE = (tokenize.NAME, tokenize.OP, tokenize.NUMBER)


def _code_lines(file: SourceFile) -> frozenset[int]:
    """The numbers, from 0, of the lines that are not only comment, documentation or text of a long string."""
    if file.language != "python":
        lines = enumerate(file.text.split("\n"))
        return frozenset(number for number, line in lines if not line.strip().startswith(("//", "/*", "*")))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(file.text).readline))
    except (tokenize.TokenError, SyntaxError):
        return frozenset()
    return frozenset(token.start[0] - 1 for token in tokens if token.type in _PYTHON_CODE)


def _border(line: str, name: str, *, anywhere: bool) -> int | None:
    """A column behind the border of a word in the text of `line`, in its first half unless `anywhere`."""
    indent = len(line) - len(line.lstrip())
    text = line.rstrip()
    if len(text) - indent < _SHORTEST:
        return None
    last = len(text) - 1 if anywhere else indent + (len(text) - indent) // 2
    columns = [match.start() for match in _BORDER.finditer(text) if indent < match.start() <= last]
    return generator_of(name).choice(columns) if columns else None


def _word(
    file: SourceFile, lines: list[str], code: frozenset[int], number: int, kind: str = "word"
) -> Place | None:
    prose = kind == "prose"
    line = lines[number]
    if (number in code) == prose or (prose and not line.strip()[:1].isalnum() and "#" not in line[:40]):
        return None
    column = _border(line, f"{file.name}:{number}", anywhere=kind == "border")
    if column is None:
        return None
    if kind == "start":
        column = len(line) - len(line.lstrip())
    end = _block_end(lines, number) if kind == "block" else number
    tail = _closers(line[:column]) if kind == "closed" else ""
    if kind == "closed" and not tail:
        return None
    return _made(file, lines, kind, (number, column), end=end, tail=tail)


def _end(file: SourceFile, lines: list[str], code: frozenset[int], number: int) -> Place | None:
    if number not in code or not lines[number].strip():
        return None
    return _made(file, lines, "end", (number, len(lines[number])))


def _empty(file: SourceFile, lines: list[str], code: frozenset[int], number: int) -> Place | None:
    around = (number - 1, number + 1)
    if lines[number].strip() or not all(line in code and lines[line][:1] in (" ", "\t") for line in around):
        return None
    return _made(file, lines, "empty", (number, len(lines[number])))


def _made(
    file: SourceFile,
    lines: list[str],
    kind: str,
    cursor: tuple[int, int],
    *,
    end: int | None = None,
    tail: str = "",
) -> Place:
    """The place at `cursor`, with what stood from there to the end of the line `end` taken out.

    That is the cursor's own line if None is given; `tail` stands behind the cursor instead.
    """
    number, column = cursor
    end = number if end is None else end
    taken = "\n".join([lines[number][column:], *lines[number + 1 : end + 1]])
    return Place(
        name=f"{file.name}:{number + 1}:{column + 1}",
        kind=kind,
        language=file.language,
        before="\n".join([*lines[:number], lines[number][:column]]),
        after=tail + "".join("\n" + line for line in lines[end + 1 :]),
        truth=taken,
        following="\n".join(lines[number + 1 : number + 1 + _MOST_BLOCK]),
        closers=tail,
    )


def _block_end(lines: list[str], number: int) -> int:
    """The last line of the block that the line stands in, as far as it is taken out."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    end = number
    for at in range(number + 1, min(number + _MOST_BLOCK, len(lines))):
        line = lines[at]
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        end = at if line.strip() else end
    return end


def _closers(text: str) -> str:
    """The closers of the brackets that `text` leaves open, the innermost first."""
    found: list[str] = []
    for char in text:
        if char in _CLOSERS:
            found.append(_CLOSERS[char])
        elif found and char == found[-1]:
            found.pop()
    return "".join(reversed(found))


_MAKERS: dict[str, Callable[[SourceFile, list[str], frozenset[int], int], Place | None]] = {
    "word": _word,
    "border": partial(_word, kind="border"),
    "start": partial(_word, kind="start"),
    "closed": partial(_word, kind="closed"),
    "block": partial(_word, kind="block"),
    "prose": partial(_word, kind="prose"),
    "end": _end,
    "empty": _empty,
}
