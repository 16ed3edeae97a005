"""Tagged calls in EBNF, as xgrammar reads it.

Free text up to a trigger is spelled out as the automaton of Knuth, Morris and Pratt: one rule for each
beginning of the trigger that the text may end with. So a call begins with the first trigger there is, and
text behind the last call has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from velospec.constraints.ebnf import literal, other_than, prefixed, symbols
from velospec.constraints.marks import split_at_marks
from velospec.constraints.schema_ebnf import SHARED
from velospec.core.grammar import Tags

_ANYTHING = other_than("")


def tags_ebnf(tags: Tags, json_of: Callable[[str], str], marks: Mapping[str, int]) -> str:
    """The grammar; `json_of` writes the grammar of a schema, `marks` are the control tokens by name."""

    def text(*parts: str) -> str:
        return " ".join(symbols(split_at_marks(part, marks)) for part in parts)

    schemas = (
        prefixed(json_of(tag.schema), f"arguments{number}-", SHARED) for number, tag in enumerate(tags.tags)
    )
    rules = list(dict.fromkeys(rule for schema in schemas for rule in schema.splitlines()))

    def calls(cut: int = 0) -> str:
        """The calls as alternatives, less the first `cut` characters of the opening and each `begin`."""
        heads = [((tags.opening if cut else "") + tag.begin)[cut:] for tag in tags.tags]
        return " | ".join(
            f"{text(head)} arguments{number}-root {text(tag.end)}"
            for number, (head, tag) in enumerate(zip(heads, tags.tags, strict=True))
        )

    more = f"({text(tags.separator)} call)*" if tags.parallel else ""
    rules.append(f"call ::= {calls()}")
    if not tags.free_text:
        rules.append(f"root ::= {text(tags.opening)} call {more} {text(tags.closing)}")
        return "\n".join(rules)
    if not tags.opening + tags.closing:
        more = ""  # calls that stand by themselves: text between them is free
    rules.append(f"first ::= {calls(len(tags.trigger))}")
    rules.append(f"block ::= first {more} {text(tags.closing)}")
    then = "block text0" if tags.parallel else "block"
    rules += _until(tags.trigger, marks, "text", then, may_end=True)
    rules += _until(tags.trigger, marks, "lead", then, may_end=False)
    rules.append(f"root ::= {'lead' if tags.at_least_one else 'text'}0")
    return "\n".join(rules)


def _until(trigger: str, marks: Mapping[str, int], name: str, then: str, *, may_end: bool) -> list[str]:
    """Rules, the first of them `name`0, for text up to the first trigger, and what follows on it.

    Where the trigger names a control token, which no text can be, what stands before that is free text.
    """
    end = ['""'] if may_end else []
    parts = split_at_marks(trigger, marks)
    first = next((place for place, part in enumerate(parts) if isinstance(part, int)), None)
    if first is not None:
        options = [*end, f"{_ANYTHING} {name}0", f"{symbols(parts[first:])} {then}"]
        return [f"{name}0 ::= {' | '.join(options)}"]
    rules = []
    for known in range(len(trigger)):
        options, moving = list(end), ""
        for char in dict.fromkeys(trigger):
            now = _overlap(trigger, trigger[:known] + char)
            if now:
                moving += char
                options.append(f"{literal(char)} {then if now == len(trigger) else f'{name}{now}'}")
        options.append(f"{other_than(moving)} {name}0")
        rules.append(f"{name}{known} ::= {' | '.join(options)}")
    return rules


def _overlap(trigger: str, text: str) -> int:
    """The length of the longest beginning of `trigger` that `text` ends with."""
    return next(
        length for length in range(len(text), -1, -1) if trigger[:length] == text[len(text) - length :]
    )
