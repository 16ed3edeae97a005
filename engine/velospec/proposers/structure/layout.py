r"""Line ends and indentation, apart from where they stand: so many lines down, so many levels in or out.

Whitespace without a line end stands for itself. With one it is written as its line ends and the change of
level against the line before, `>` for a level in, `<` for a level out; indentation that is no whole number of
levels (the second line of a call, aligned with its bracket) stands for itself after `|`.
"""

from __future__ import annotations

from typing import NamedTuple

_UNITS = frozenset((b"\t", b"  ", b"   ", b"    ", b"        "))


class Layout(NamedTuple):
    """Where a line stands: its indentation, and one level of it as last seen."""

    indentation: bytes = b""
    unit: bytes = b"    "


def relative(lead: bytes, layout: Layout) -> tuple[bytes, Layout]:
    """The whitespace `lead` apart from the place where it stands, and the layout after it."""
    if b"\n" not in lead:
        return lead, layout
    lines = b"\n" * lead.count(b"\n")
    new = lead[lead.rfind(b"\n") + 1 :]
    old, unit = layout
    if new.startswith(old):
        step = new[len(old) :]
        levels, rest = divmod(len(step), len(unit))
        if unit * levels == step and not rest:
            return lines + b">" * levels, Layout(new, unit)
        if step in _UNITS:
            return lines + b">", Layout(new, step)
    elif old.startswith(new):
        step = old[len(new) :]
        levels, rest = divmod(len(step), len(unit))
        if unit * levels == step and not rest:
            return lines + b"<" * levels, Layout(new, unit)
    return lines + b"|" + new, Layout(new, unit)


def absolute(lead: bytes, layout: Layout) -> tuple[bytes, Layout]:
    """What `relative` was made from, in a place of `layout`, and the layout after it."""
    if not lead.startswith(b"\n"):
        return lead, layout
    lines = lead[: lead.rfind(b"\n") + 1]
    change = lead[len(lines) :]
    old, unit = layout
    if change.startswith(b"|"):
        new = change[1:]
    elif change.startswith(b"<"):
        new = old[: max(0, len(old) - len(unit) * len(change))]
    else:
        new = old + unit * len(change)
    return lines + new, Layout(new, unit)
