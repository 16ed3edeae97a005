"""Prompt templates: texts in which sentinels such as `<fim_prefix>` and names in braces stand.

A sentinel becomes the id of its one token; what a name stands for is put in when a prompt is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

TokenId = Callable[[str], int | None]
"""The id of a text that is one token of a vocabulary; None for others."""

_PIECE = re.compile(r"(\{\w+\}|▁?<[^<>\s]+>|\[[A-Z_]+\])")
_NAME = re.compile(r"\{(\w+)\}")


def pieces(template: str) -> list[str]:
    """A template cut at its sentinels and names; what stands between them is a piece too."""
    return [piece for piece in _PIECE.split(template) if piece]


def parse_parts(template: str, token_id: TokenId, names: frozenset[str]) -> tuple[int | str, ...] | None:
    """The ids and names of a template that has nothing else; None where it has, or the vocabulary lacks one.

    Names that are not in `names` count as something else.
    """
    parts: list[int | str] = []
    for piece in pieces(template):
        part = piece[1:-1] if piece.startswith("{") else token_id(piece)
        if part is None or (isinstance(part, str) and part not in names):
            return None
        parts.append(part)
    return tuple(parts)


def parse_texts(template: str, token_id: TokenId) -> tuple[int | str, ...]:
    """The ids of a template's sentinels, and the texts between them with their names still in braces.

    What looks like a sentinel and is none in this vocabulary stays text.
    """
    parts: list[int | str] = []
    text = ""
    for piece in pieces(template):
        token = token_id(piece) if _PIECE.fullmatch(piece) and not piece.startswith("{") else None
        if token is None:
            text += piece
        else:
            parts += [text, token] if text else [token]
            text = ""
    return (*parts, text) if text else tuple(parts)


def fill(
    parts: Sequence[int | str], values: Mapping[str, str], encode: Callable[[str], list[int]]
) -> list[int]:
    """The ids of what `parse_texts` gave, each name replaced by its value."""
    ids: list[int] = []
    for part in parts:
        if isinstance(part, int):
            ids.append(part)
        else:
            ids += encode(_NAME.sub(lambda name: values[name[1]], part))
    return ids
