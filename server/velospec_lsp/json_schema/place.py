"""The cursor's place in a JSON document: the open objects and arrays, and what stands in them around it.

Knows the document's text and no schema.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from velospec_lsp.json_schema.syntax import (
    CLOSERS,
    START,
    WORD,
    Expect,
    State,
    advance,
    blank_comments,
    finished,
    inside_comment,
    steps,
    string_end,
    tokens,
    without_trailing_commas,
)

_RECENT = 64  # characters; more than any token of a model that could begin before the cursor


@dataclass(frozen=True, slots=True)
class Frame:
    """An object or array that is open at the cursor.

    `before` are its finished members (a dict or list), `key` the one whose value is open, in an object;
    `behind` the keys that follow the cursor, each with its value where that is a string. `shown` are the
    finished keys (or an empty string for each finished item) in the place's `recent` text.
    """

    before: dict[str, Any] | list[Any]
    key: str | None
    behind: dict[str, str | None]
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The text around the cursor, comments blanked, and what it means; `frames` from the outermost inwards.

    `rest` is how much of `suffix` belongs to the string that is open at the cursor. `recent` is the prefix's
    end, which begins in the innermost of the first `opened` frames: behind its bracket, or, if `elided`,
    behind the comma of a member. `known` is the document without what is unfinished at the cursor, its
    brackets closed; None where that is no JSON. `unclosed` tells whether brackets were missing for that.
    """

    prefix: str
    suffix: str
    state: State
    frames: tuple[Frame, ...]
    rest: int
    recent: str
    opened: int
    elided: bool
    known: str | None
    unclosed: bool

    @property
    def behind(self) -> str:
        """The suffix without the end of the cursor's string."""
        return self.suffix[self.rest :]

    @property
    def in_word(self) -> bool:
        """Whether the cursor stands inside a number or word."""
        return bool(self.state.open) and not self.state.in_string and WORD.match(self.suffix) is not None

    def root_string(self, key: str) -> str | None:
        """The string that the document's object has under `key`, on either side of the cursor."""
        if not self.frames or not isinstance(self.frames[0].before, dict):
            return None
        value = self.frames[0].before.get(key, self.frames[0].behind.get(key))
        return value if isinstance(value, str) else None


def place_of(before: str, after: str) -> Place | None:
    """The place between two texts; None where `before` is no beginning of JSON, or ends in a comment."""
    if inside_comment(before):
        return None
    prefix = blank_comments(before)
    state, read = advance(START, prefix)
    if read < len(prefix):
        return None
    # A blank behind the last number or word has ended it.
    if not prefix[-1:].strip():
        state = finished(state)
    rest = string_end(state, after) or 0
    suffix = after[:rest] + blank_comments(after[rest:])  # in a string, "//" begins no comment
    base, base_state = _closable(prefix)
    recent = _recent(prefix)
    frames = _frames(base + base_state.closers, state, _following(state, suffix[rest:]), recent.shown)
    if frames is None:
        return None
    known, unclosed = _known(base, base_state, suffix[rest:])
    text = prefix[recent.start :]
    return Place(
        prefix, suffix, state, frames, rest, text, recent.opened, recent.elided, known, unclosed=unclosed
    )


@dataclass(frozen=True, slots=True)
class _Recent:
    """Where the recent text starts, how many frames are open there, and what of them it shows."""

    start: int
    opened: int
    elided: bool
    shown: list[list[str]]


def _recent(prefix: str) -> _Recent:
    """The shortest end of `prefix` that is long enough and begins in brackets that are open at the cursor."""
    marks = [(0, START, False)]
    for index, state in steps(START, prefix):
        while len(marks[-1][1].stack) > len(state.stack):
            marks.pop()
        behind_comma = prefix[index - 1] == "," and not state.open
        behind_opener = not state.open and state.expect in (Expect.KEY_OR_END, Expect.VALUE_OR_END)
        if (behind_comma or behind_opener) and index <= len(prefix) - _RECENT:
            marks.append((index, state, behind_comma))
    start, state, elided = marks[-1]
    shown: list[list[str]] = [[] for _ in state.stack]
    last = state
    for index, following in steps(state, prefix[start:]):
        if len(following.stack) > len(last.stack):
            shown.append([])
        elif len(following.stack) < len(last.stack):
            shown.pop()
        if prefix[start + index - 1] == "," and not following.open:
            shown[-1].append(last.keys[-1])
        last = following
    if last.expect is Expect.COMMA_OR_END:
        shown[-1].append(last.keys[-1])
    return _Recent(start, len(state.stack), elided, shown)


def _closable(prefix: str) -> tuple[str, State]:
    """`prefix` up to where its brackets could last be closed, and the state there."""
    end, state = 0, START
    for index, at in steps(START, prefix):
        if at.closable:
            end, state = index, at
    return prefix[:end], state


def _frames(
    closed: str, state: State, behind: list[dict[str, str | None]], shown: list[list[str]]
) -> tuple[Frame, ...] | None:
    """The frames at `state`; `closed` is the text before the cursor, without what is unfinished, closed."""
    if not state.stack:
        return ()
    value = _load(closed)
    frames = []
    for level, raw in enumerate(state.keys):
        key = _string(raw) if raw else None
        innermost = level == len(state.keys) - 1
        if innermost and (state.expect is Expect.COMMA_OR_END or state.wants_key):
            key = None
        if isinstance(value, dict):
            inner = value.get(key) if key is not None else None
            before: dict[str, Any] | list[Any] = {name: it for name, it in value.items() if name != key}
        elif isinstance(value, list):
            inner = value[-1] if value else None
            before = value if innermost else value[:-1]
        else:
            return None
        keys = tuple(map(_string, shown[level]))
        frames.append(Frame(before, key, behind[level], keys))
        value = inner
    return tuple(frames)


def _following(state: State, suffix: str) -> list[dict[str, str | None]]:
    """The keys that `suffix` adds to each open bracket, as far as it can be read."""
    found: list[dict[str, str | None]] = [{} for _ in state.stack]
    level, deeper = len(state.stack) - 1, 0
    last, key = "", ""  # the last string, and the key whose value comes next
    for lexeme in tokens(suffix) if found else ():
        if lexeme in CLOSERS:
            deeper += 1
        elif lexeme in CLOSERS.values():
            level -= not deeper
            deeper = max(deeper - 1, 0)
            if level < 0:
                break
        elif deeper == 0 and lexeme == ":" and last:
            key = _string(last)
            found[level][key] = None
            last = ""
            continue
        elif deeper == 0 and lexeme.startswith('"'):
            if key:
                found[level][key] = _string(lexeme)
            last = lexeme
            key = ""
            continue
        last = key = ""
    return found


def _known(base: str, state: State, behind: str) -> tuple[str | None, bool]:
    """The document without the cursor's unfinished part, and whether brackets had to be closed."""
    stripped = behind.lstrip()
    joints = [(base, behind)]
    if state.expect is Expect.COMMA_OR_END:
        joints.append((base + ",", behind))
    elif stripped.startswith(","):
        joints.append((base, stripped[1:]))
    for before, after in joints:
        end, read = advance(advance(START, before)[0], after, strict=False)
        end = finished(end)
        if read == len(after) and end.closable:
            text = without_trailing_commas(before + after + end.closers)
            return text, bool(end.stack)
    return None, not behind.strip()


def _load(text: str) -> Any:
    try:
        return json.loads(without_trailing_commas(text))
    except ValueError:  # a number or string that only the letter of JSON forbids
        return None


def _string(raw: str) -> str:
    """What a string's token says; one that is no string of JSON says itself, without its quotes."""
    try:
        return str(json.loads(raw, strict=False))
    except ValueError:
        return raw.strip('"')
