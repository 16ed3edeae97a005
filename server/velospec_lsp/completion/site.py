r"""The place where a completion goes: the text around the cursor, as the model and the filters see it.

All strings here have \n as their only line end. How much text is taken is bounded by characters; the model's
own limit in tokens is the engine's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from velospec_lsp.completion.languages import Language, language_of
from velospec_lsp.completion.outline import Outline, outline, outline_before
from velospec_lsp.documents import Document
from velospec_lsp.encoding import content_length
from velospec_lsp.text import Place, Text, to_lf

_LINE_STRIDE = 64
_CHAR_STRIDE = 2048
_ABOVE = 200  # lines in which one that is not blank is looked for
_BELOW = 24  # lines that the filters compare with
BEHIND = 2048  # characters of the suffix in which brackets are counted


@dataclass(frozen=True, slots=True)
class Selection:
    """The entry that is selected in the editor's popup: `text` would replace `start`..`end`."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """One request: a snapshot, the cursor in it, and how it came about."""

    document: Document
    cursor: Place
    manual: bool = False
    selection: Selection | None = None


@dataclass(frozen=True)
class Site:
    """The text around the place where the model goes on.

    `line_before` and `tail` are the cursor's line left and right of that place; `below` the lines after it,
    `above` the nearest line before it that is not blank.
    """

    prefix: str
    suffix: str
    line_before: str
    tail: str
    below: tuple[str, ...]
    above: str
    language: str = ""  # the client's id of the document's language
    from_start: bool = True  # `prefix` begins where the document does

    @cached_property
    def facts(self) -> Language:
        """What the filters know of the document's language."""
        return language_of(self.language)

    @cached_property
    def before(self) -> Outline:
        """The brackets that are open at the cursor, and the string or comment it is in."""
        return outline_before(self.prefix, self.facts, from_start=self.from_start)

    @cached_property
    def behind(self) -> Outline:
        """The brackets that the text after the cursor closes and has not opened."""
        return outline(self.suffix[:BEHIND], self.facts, self.before.inside)


def site_of(query: Query, prefix_chars: int, suffix_chars: int) -> Site | None:
    """The site of `query`; None where the popup's selection and the text cannot be brought together.

    With a selection the model goes on behind the selected text, as if it had been accepted.
    """
    text, cursor, selection = query.document.text, query.cursor, query.selection
    if selection is None:
        before, behind = cursor, cursor
    else:
        if not _on_line(selection, cursor):
            return None
        before, behind = selection.start, max(cursor, selection.end)
    line = text.line(cursor.line)
    selected = selection.text if selection else ""
    line_before = line[: before.index] + selected
    prefix = _window_before(query.document, before, prefix_chars) + selected
    below = to_lf(text.lines(behind.line + 1, behind.line + 1 + _BELOW)).split("\n")
    return Site(
        prefix=prefix,
        suffix=_window_after(query.document, behind, suffix_chars),
        line_before=line_before.rpartition("\n")[2],
        tail=line[behind.index : content_length(line)],
        below=tuple(below[:_BELOW]),
        above=_nearest_above(text, before),
        language=query.document.language,
        from_start=prefix.count("\n") >= before.line,
    )


def around(query: Query) -> tuple[str, str]:
    """All of the text before and after the place of `query`, as if its selection had been accepted."""
    text, selection = query.document.text, query.selection
    before = query.cursor if selection is None else selection.start
    behind = query.cursor if selection is None else max(query.cursor, selection.end)
    selected = selection.text if selection else ""
    head = [*text.lines(0, before.line), text.line(before.line)[: before.index]]
    tail = [text.line(behind.line)[behind.index :], *text.lines(behind.line + 1)]
    return to_lf(head) + selected, to_lf(tail)


def _on_line(selection: Selection, cursor: Place) -> bool:
    one_line = selection.start.line == selection.end.line == cursor.line
    return one_line and selection.start.index <= cursor.index


def _nearest_above(text: Text, place: Place) -> str:
    lines = islice(text.lines_backwards(place.line), _ABOVE)
    return next((line.rstrip() for line in lines if line.strip()), "")


def _window_before(document: Document, place: Place, limit: int) -> str:
    """The text before `place`, cells before it included, at most `limit` characters of it.

    Its start moves in strides only. A start that moved with each key would change the beginning of every
    prompt, and nothing of the last one's work could be used again.
    """
    text = document.text
    lines = [text.line(place.line)[: place.index]]
    length = len(lines[0])
    start = cursor_line = place.line + len(document.before)
    kept, kept_at = 1, start
    for line in chain(text.lines_backwards(place.line), reversed(document.before)):
        length += len(line)
        if length > limit:
            break
        lines.append(line)
        start -= 1
        if start % _LINE_STRIDE == 0:
            kept, kept_at = len(lines), start
    else:
        kept, kept_at = len(lines), 0
    if kept_at == cursor_line and start < cursor_line:
        kept = len(lines)  # one stride of lines does not fit: the nearest lines are better than none
    window = to_lf(reversed(lines[:kept]))
    if len(window) <= limit:
        return window
    over = len(window) - limit
    return window[min(-(-over // _CHAR_STRIDE) * _CHAR_STRIDE, len(window) - 1) :]


def _window_after(document: Document, place: Place, limit: int) -> str:
    """The text after `place`, cells behind it included, at most `limit` characters.

    Typing before it does not change it.
    """
    parts: list[str] = []
    length = 0
    line = document.text.line(place.line)[place.index :]
    rest = chain(document.text.lines(place.line + 1), ("\n",) if document.after else (), document.after)
    while length < limit:
        parts.append(to_lf([line]))
        length += len(parts[-1])
        following = next(rest, None)
        if following is None:
            break
        line = following
    return "".join(parts)[:limit]
