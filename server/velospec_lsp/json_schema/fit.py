"""How much of what a model wrote can be inserted at a place in a JSON document.

Of all the places where it may be cut, the last counts at which the text behind the cursor goes on: with a
comma added where one is needed, and with the brackets closed that the insertion itself has opened. The
document is then JSON, and breaks its schema nowhere that it did not before. Where brackets were missing
before, they may still be missing, as long as what is there can grow into something right.
"""

from __future__ import annotations

from collections.abc import Iterator

from velospec_lsp.json_schema.checks import Checks
from velospec_lsp.json_schema.place import Place
from velospec_lsp.json_schema.syntax import (
    CLOSERS,
    WORD,
    Expect,
    State,
    advance,
    finished,
    steps,
    tokens,
    without_trailing_commas,
)

_MOST_LOOKS = 12  # whole documents that are checked for one completion


def fit(text: str, place: Place, checks: Checks, *, cut_off: bool = False) -> str:
    """The part of `text` to insert at `place`; empty where nothing fits.

    `cut_off` tells that the model was stopped, so that a number or word at the end may be half of one.
    """
    if _begins_line_with_comma(text, place):
        return ""
    growing, looks = "", 0
    for item, end, read in _candidates(text, place, cut_off=cut_off):
        if read < len(place.suffix) or not end.closable or looks >= _MOST_LOOKS:
            continue
        document = without_trailing_commas(place.prefix + item + place.suffix + end.closers)
        if not end.stack:
            looks += 1
            if checks.complete(document, place.known):
                return item
        elif place.unclosed and not growing:
            looks += 1
            growing = item if checks.growing(document, place.known) else ""
    return growing or ("" if place.known is not None or place.unclosed else _broken(text, place))


def _begins_line_with_comma(text: str, place: Place) -> bool:
    """Whether the comma that is missing behind the last line would come at the beginning of the next one."""
    return text.lstrip().startswith(",") and not place.prefix.rpartition("\n")[2].strip()


def _candidates(text: str, place: Place, *, cut_off: bool) -> Iterator[tuple[str, State, int]]:
    """Insertions, the longest first, each with the state at the document's end, and how far that is read."""
    for index, state in reversed(list(_cuts(text, place))):
        if cut_off and index == len(text) and state.open and not state.in_string:
            continue
        for item, behind in _variants(text[:index], state, place):
            if not _joins(behind, place.suffix):
                continue
            end, read = advance(behind, place.suffix)
            yield item, finished(end), read


def _cuts(text: str, place: Place) -> Iterator[tuple[int, State]]:
    """Where `text` may be cut: behind its tokens, and before the quotes that end its strings."""
    last = place.state
    closed_behind = place.known is not None and not place.unclosed
    within = bool(place.rest) and (not last.in_key or place.behind.lstrip().startswith(":"))
    for index, state in steps(place.state, text, strict=True) if text else ():
        if index > 0 and text[index - 1] == '"' and not state.open:
            if place.rest and index > 1:
                yield index - 1, State(last.stack, last.keys, last.expect, '"')
            if within:
                return
        if closed_behind and len(state.stack) < len(place.state.stack):
            return
        if index > 0 and bool(place.rest) == state.in_string:
            yield index, state
        last = state


def _variants(item: str, state: State, place: Place) -> Iterator[tuple[str, State]]:
    """`item` as it is, and with what it has opened closed; a comma behind it where the suffix needs one."""
    yield _with_comma(item, state, place)
    deeper = len(state.stack) - len(place.state.stack)
    if deeper > 0 and finished(state).closable and not place.unclosed:
        closers = _closing(item, deeper, place)
        behind, _ = advance(state, closers, strict=True)
        yield _with_comma(item + closers, behind, place)


def _with_comma(item: str, state: State, place: Place) -> tuple[str, State]:
    following = place.suffix.lstrip()[:1]
    state = state if WORD.match(place.suffix) else finished(state)
    if state.expect is not Expect.COMMA_OR_END or state.open or following in ("", ",", "}", "]", ":"):
        return item, state
    behind, _ = advance(state, ",", strict=True)
    return item + ("," if not place.suffix[:1].strip() else ", "), behind


def _closing(item: str, count: int, place: Place) -> str:
    """The brackets that close what `item` has opened, on lines of their own where it opened them so."""
    text = place.prefix.rpartition("\n")[2] + item
    opened: list[tuple[str, str]] = []  # each open bracket's other one, with what stands before it
    at = 0
    for token in tokens(text):
        at = text.index(token, at) + len(token)
        if token in CLOSERS:
            line = text[:at].rpartition("\n")[2]
            indent = line[: len(line) - len(line.lstrip())]
            breaks = text[at:].lstrip(" \t").startswith("\n")
            opened.append((CLOSERS[token], f"\n{indent}" if breaks else ""))
        elif token in CLOSERS.values() and opened:
            opened.pop()
    return "".join(before + closer for closer, before in reversed(opened[-count:]))


def _joins(state: State, suffix: str) -> bool:
    """Whether what comes next may come without a comma too much."""
    following = suffix.lstrip()[:1]
    if following in CLOSERS.values() and not state.in_string:
        return finished(state).closable
    return True


def _broken(text: str, place: Place) -> str:
    """For a document that is no JSON elsewhere: the longest insertion after which most of it can be read."""
    best, most = "", len(place.suffix) - len(place.suffix.lstrip())
    for item, _, read in _candidates(text, place, cut_off=True):
        if read > most:
            best, most = item, read
    return best
