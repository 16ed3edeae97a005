"""Tagged calls in llguidance's Lark notation.

Free text is a lexeme that ends, lazily, with the trigger; where the trigger is a control token, that is a
lexeme of its own, which no text can be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from velospec.constraints.marks import split_at_marks
from velospec.core.grammar import Tags


def tags_lark(tags: Tags, json_of: Callable[[str], str], marks: Mapping[str, int]) -> str:
    """The grammar; `json_of` writes the rule of a schema, `marks` are the control tokens by name."""

    def literal(text: str) -> str:
        return " ".join(map(_symbol, split_at_marks(text, marks)))

    numbers = range(len(tags.tags))
    lines = [f"arguments{number}: {json_of(tags.tags[number].schema)}" for number in numbers]
    calls = " | ".join(
        f"({_row(literal(tags.tags[number].begin), f'arguments{number}', literal(tags.tags[number].end))})"
        for number in numbers
    )
    lines.append(f"call: {calls}")
    more = f"({_row(literal(tags.separator), 'call')})*" if tags.parallel else ""
    if not tags.free_text:
        return _grammar(_row(literal(tags.opening), "call", more, literal(tags.closing)), lines)
    heads = [(tags.opening + tag.begin)[len(tags.trigger) :] for tag in tags.tags]
    firsts = " | ".join(
        f"({_row(literal(heads[number]), f'arguments{number}', literal(tags.tags[number].end))})"
        for number in numbers
    )
    lines += [f"first: {firsts}", r"TEXT: /(.|\n)*/", *_trigger(tags, marks)]
    if not tags.opening + tags.closing:
        more = ""  # calls that stand by themselves: text between them is free
    lines.append(f"block: {_row('trigger', 'first', more, literal(tags.closing))}")
    if tags.parallel:
        return _grammar("block+ TEXT" if tags.at_least_one else "block* TEXT", lines)
    return _grammar("block" if tags.at_least_one else "block | TEXT", lines)


def _trigger(tags: Tags, marks: Mapping[str, int]) -> list[str]:
    """Free text up to the trigger, and the trigger."""
    parts = split_at_marks(tags.trigger, marks)
    first = next((place for place, part in enumerate(parts) if isinstance(part, int)), None)
    if first is None:
        return [f"trigger[lazy]: TEXT {_symbol(tags.trigger)}"]
    return [f"trigger: TEXT {' '.join(map(_symbol, parts[first:]))}"]


def _symbol(part: str | int) -> str:
    return f"<[{part}]>" if isinstance(part, int) else json.dumps(part, ensure_ascii=False)


def _row(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _grammar(start: str, rules: list[str]) -> str:
    return "\n".join([f"start: {start}", *rules, ""])
