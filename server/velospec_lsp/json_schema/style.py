"""The document's own layout for what is inserted: its indentation, and no blanks where nobody writes any."""

from __future__ import annotations

import re

from velospec_lsp.json_schema.place import Place
from velospec_lsp.json_schema.syntax import CLOSERS, START, State, advance, steps

_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"?|\s+(?=[,:])|[ \t]{2,}(?=\S)|[ \t\r]+(?=\n)|\r', re.DOTALL)


def in_style(text: str, place: Place) -> str:
    """`text` with its new lines indented as the document's are, by the depth of their brackets.

    They are left as they are where the cursor's line does not follow that rule itself.
    """
    text = _tidy(text, place)
    line = place.prefix.rpartition("\n")[2]
    indent = line[: len(line) - len(line.lstrip())]
    unit = _unit(place)
    if "\n" not in text or indent != unit * _depth(place.prefix.removesuffix(line), line):
        return text
    depths = [(0, place.state), *steps(place.state, text)]
    first, *rest = text.split("\n")
    made, at = [first], len(first)
    for raw in rest:
        content = raw.lstrip(" \t")
        state = next(state for index, state in reversed(depths) if index <= at)
        depth = len(state.stack) - (content[:1] in CLOSERS.values())
        made.append(unit * depth + content if content else "")
        at += 1 + len(raw)
    return "\n".join(made)


def _tidy(text: str, place: Place) -> str:
    """`text` without blanks before commas, colons and line ends, and with one where there are several."""
    string = place.state.in_string
    opened = '"' if string else ""

    def part(found: re.Match[str]) -> str:
        blank = found[0]
        if blank.startswith('"'):
            return blank
        inside_line = blank.strip(" \t") == "" and found.end() < len(opened + text)
        if inside_line and (opened + text)[found.end()] not in ",:\n":
            begins_line = found.start() == 0 or (opened + text)[found.start() - 1] == "\n"
            return blank if begins_line else " "
        return ""

    tidy = _PARTS.sub(part, opened + text).removeprefix(opened)
    blank_before = not string and place.prefix[-1:] in (" ", "\t")
    return tidy.lstrip(" \t") if blank_before and tidy.lstrip(" \t")[:1] != "\n" else tidy


def _unit(place: Place) -> str:
    """What one level of brackets is indented by; two spaces where the document does not show it."""
    found = _INDENTED.search(place.prefix) or _INDENTED.search(place.suffix)
    return found[1] if found else "  "


def _depth(before: str, line: str) -> int:
    """How deep `line` lies, behind `before`: one bracket less where it begins by closing one."""
    state: State = advance(START, before)[0]
    return len(state.stack) - (line.lstrip()[:1] in CLOSERS.values())
