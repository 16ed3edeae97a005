"""What is judged of one offer at one place: right, near, repeated, unbalanced. Pure functions of texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from velospec_cli.benchmark.suites.quality_places import Place

_FIRST = re.compile(r"\s*(\w+|[^\w\s])")
_NEXT = 2  # lines above and below that count as neighbours
_TELLING = re.compile(r"\w\W*\w\W*\w\W*\w")  # `})` and `try:` stand at many places
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_PYTHON = re.compile(
    r"#[^\n]*"
    r"|(?P<long>\"\"\"|''')(?:\\.|(?!(?P=long)).)*(?:(?P=long)|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
    r"|[()\[\]{}]",
    re.DOTALL,
)
_SCRIPT = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|(?P<long>`)(?:\\.|[^`\\])*(?:`|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
    r"|[()\[\]{}]",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Change:
    """An offer laid over its document: `text` in place of some characters around the cursor."""

    before: str
    text: str
    after: str

    @property
    def begun(self) -> str:
        """What stands left of the text on its line."""
        return self.before[self.before.rfind("\n") + 1 :]

    @property
    def lines(self) -> list[str]:
        """The lines that the text writes, whole, as they stand then."""
        tail = self.after.partition("\n")[0]
        return [line.rstrip() for line in (self.begun + self.text + tail).split("\n")]


def is_right(change: Change, place: Place) -> bool:
    """Whether the offer's first line makes the line that stood there."""
    return change.lines[0] == _true_line(place)


def is_begun_right(text: str, place: Place) -> bool:
    """Whether the first word or sign of `text` is that of the author."""
    offered, true = _FIRST.match(text), _FIRST.match(place.truth)
    return offered is not None and true is not None and offered[0] == true[0]


def survival(change: Change, place: Place) -> float:
    """The share of the offer's characters, blanks aside, that stand in the same order in what was there."""
    lines = change.text.count("\n") + 1
    true = f"{place.truth}\n{place.following}".split("\n")
    offered, wanted = _dense(change.text), _dense("\n".join(true[: lines + _NEXT]))
    blocks = SequenceMatcher(None, offered, wanted, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / max(len(offered), 1)


def repeats(change: Change, place: Place) -> bool:
    """Whether the offer writes what stands beside it once more: a line above or below, or the line's rest.

    What the author has twice, too, does not count.
    """
    above = [line for line in change.before.split("\n")[:-1] if line.strip()][-1:]
    below = [line.rstrip() for line in change.after.split("\n")[1:] if line.strip()][:_NEXT]
    true = {line.rstrip() for line in _true_lines(place)}
    written = [line for line in change.lines if _TELLING.search(line) and line not in true]
    if any(line in below for line in written) or any(line in above for line in written[:1]):
        return True
    tail = change.after.partition("\n")[0].strip()
    return bool(_TELLING.search(tail)) and change.text.rstrip().endswith(tail)


def is_unbalanced(change: Change, place: Place) -> bool:
    """Whether in the line of an offer of one line a bracket or quote from it on has no partner."""
    if "\n" in change.text:
        return False
    pattern = _PYTHON if place.language == "python" else _SCRIPT
    ours = _has_loose(change.before, change.text + change.after, pattern)
    return ours and not _has_loose(place.before, place.truth + place.rest, pattern)


def _has_loose(before: str, behind: str, pattern: re.Pattern[str]) -> bool:
    """Whether something in the first line of `behind`, which follows `before`, has no partner in both."""
    end = len(before) + len(behind.partition("\n")[0])
    return any(len(before) <= at < end for at in _loose(before + behind, pattern))


def _loose(text: str, pattern: re.Pattern[str]) -> list[int]:
    """Where brackets without a partner stand, and the ends of strings that nothing ends on their line."""
    found: list[int] = []
    opened: list[tuple[str, int]] = []
    for match in pattern.finditer(text):
        sign = match[0]
        if sign in _CLOSERS:
            opened.append((_CLOSERS[sign], match.start()))
        elif len(sign) == 1 and sign in ")]}":
            if opened and opened[-1][0] == sign:
                opened.pop()
            else:
                found.append(match.start())
        elif sign[0] in "\"'" and match["long"] is None and (len(sign) < 2 or sign[-1] != sign[0]):
            found.append(match.end() - 1)
    return found + [at for _, at in opened]


def _true_line(place: Place) -> str:
    begun = place.before[place.before.rfind("\n") + 1 :]
    return (begun + (place.truth + place.rest).partition("\n")[0]).rstrip()


def _true_lines(place: Place) -> list[str]:
    return [_true_line(place), *place.truth.split("\n")[1:]]


def _dense(text: str) -> str:
    return "".join(text.split())
