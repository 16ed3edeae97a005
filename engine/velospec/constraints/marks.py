"""Control tokens that are named in the literal texts of a grammar, such as `[TOOL_CALLS]`.

A control token has no bytes: text never becomes one, nor does one show as text. Where a model writes its
calls with them, the grammar reaches them by id, and its answers show them by these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from velospec.backends.base import Vocabulary

_MARK = re.compile(r"<[^<>\s]+>|\[[A-Z_/]+\]")


def marks_in(texts: Iterable[str], vocabulary: Vocabulary) -> dict[str, int]:
    """The ids of the control tokens that `texts` name, by their names; end tokens are none of them."""
    hidden = vocabulary.control_ids - vocabulary.end_ids
    found = {}
    for name in {name for text in texts for name in _MARK.findall(text)}:
        ids = vocabulary.encode(name, special=True)
        if len(ids) == 1 and ids[0] in hidden:
            found[name] = ids[0]
    return found


def split_at_marks(text: str, marks: Mapping[str, int]) -> list[str | int]:
    """`text` as a sequence of plain texts and ids."""
    if not marks:
        return [text] if text else []
    pattern = re.compile("(" + "|".join(map(re.escape, sorted(marks, key=len, reverse=True))) + ")")
    return [marks.get(part, part) for part in pattern.split(text) if part]
