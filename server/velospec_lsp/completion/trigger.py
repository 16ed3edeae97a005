"""When not to ask the model: places and moments at which a suggestion would be in the way.

Each rule is a function of the moment and says in one sentence why not, or nothing. A user who asks by hand is
answered in any case; what the privacy gate keeps from the model stays kept. Editors ask after each key, so a
rule that is too broad silences everything: Enter, a dot, an accepted item and the keys of a word go through.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile

from velospec_lsp.completion.history import Past, Stroke
from velospec_lsp.completion.scope import Scope
from velospec_lsp.completion.site import Query, Site
from velospec_lsp.completion.tail import is_inert
from velospec_lsp.privacy import uri_path

_SOON = 2.0  # seconds; what was done longer ago says nothing about what the user wants now
_CLOSED = re.compile(r"[\s)\]}]*(?:=>\s*[{(]?|(?:</[\w.:-]*>\s*)+)[\s)\]};,]*")
"""What editors and snippets put behind the cursor, too: the rest of an arrow function, closing tags."""

_REWRITE = 3  # deletions in a row from which the user rewrites, and may want a suggestion


@dataclass(frozen=True, slots=True)
class Moment:
    """A request, the text around it, and what was done before it."""

    query: Query
    site: Site
    past: Past = field(default_factory=Past)
    scope: Scope = Scope.CODE
    disabled_scopes: tuple[str, ...] = ()

    @property
    def recent(self) -> tuple[Stroke, ...]:
        """The last edits, the newest first; none if that was too long ago to matter."""
        return self.past.strokes[::-1] if self.past.age <= _SOON else ()


Rule = Callable[[Moment], str]
"""Why nothing is asked for, in one sentence; empty where the rule has nothing against it."""


def inside_word(moment: Moment) -> str:
    """A word goes on right of the cursor: what the user writes there only they know."""
    before, behind = moment.site.line_before[-1:], moment.site.tail[:1]
    return "The cursor is inside a word." if _in_word(before) and _in_word(behind) else ""


def text_follows(moment: Moment) -> str:
    """More than closers, or a comment, stands right of the cursor."""
    tail = moment.site.tail.lstrip()
    openers = tuple(span.opener for span in moment.site.facts.comments)
    comment = bool(openers) and tail.startswith(openers)
    free = comment or is_inert(tail) or _CLOSED.fullmatch(tail)
    return "" if free else "Text follows the cursor on its line."


def popup_differs(moment: Moment) -> str:
    """The popup's selected entry does not begin with what is typed: no editor shows what follows it."""
    selection, query = moment.query.selection, moment.query
    if selection is None:
        return ""
    typed = query.document.text.line(query.cursor.line)[selection.start.index : query.cursor.index]
    if selection.text.startswith(typed):
        return ""
    return "The selected entry of the popup does not begin with the text at the cursor."


def scope_disabled(moment: Moment) -> str:
    """The user wants nothing in comments or strings."""
    if moment.scope not in moment.disabled_scopes:
        return ""
    return f"The cursor is in a {moment.scope.value}, and the setting velospec.disabledScopes names it."


def several_cursors(moment: Moment) -> str:
    """The same was typed in several places at once; an offer could be taken at one of them only."""
    return "Several cursors are typing." if moment.recent and moment.recent[0].alike else ""


def fixing_typo(moment: Moment) -> str:
    """One or two characters were just deleted: the user corrects, and has the rest in mind.

    From the third on it is a rewrite. Deleted blanks are a change of indentation or of lines.
    """
    deleted = list(takewhile(_corrects, moment.recent))
    if not 0 < len(deleted) < _REWRITE:
        return ""
    return (
        "A character was just deleted; with the next key, or the third one deleted, there are offers again."
    )


def undone(moment: Moment) -> str:
    """The text is again what it was: undo or redo, which look back."""
    last = moment.recent[0] if moment.recent else None
    return "The last change was an undo or a redo." if last and last.back and not last.accepted else ""


def changed_elsewhere(moment: Moment) -> str:
    """Several places were changed at once, none of them at the cursor: by a formatter or a rename."""
    last = moment.recent[0] if moment.recent else None
    if last is None or len(last.ended) < 2 or moment.query.cursor.line in last.ended:
        return ""
    return "The text was changed in several places, and not at the cursor."


def read_only(moment: Moment) -> str:
    """The file cannot be written, and nothing was typed into it: it is being read."""
    path = uri_path(moment.query.document.uri)
    if moment.past.strokes or path is None or os.access(path, os.W_OK) or not os.access(path, os.F_OK):
        return ""
    return "The file is read-only."


RULES: tuple[Rule, ...] = (
    inside_word,
    text_follows,
    scope_disabled,
    several_cursors,
    fixing_typo,
    undone,
    changed_elsewhere,
    read_only,
)
"""Those of taste, in the order in which they are asked."""


def why_not(moment: Moment) -> str:
    """Why nothing is to be asked for, in one sentence; empty where nothing is against it."""
    rules = (popup_differs,) if moment.query.manual else (popup_differs, *RULES)
    return next(filter(None, (rule(moment) for rule in rules)), "")


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _corrects(stroke: Stroke) -> bool:
    return stroke.deletes and stroke.one_key and not stroke.blank
