"""Lines that stand below the cursor already, written once more."""

from __future__ import annotations

import re

from velospec_lsp.completion.outline import indentation
from velospec_lsp.completion.site import Site

_TELLING = 10  # characters; a shorter line (`break;`, `});`) may well stand at two places
_OPENS_BLOCK = ("{", ":", "(", "[", " do", " then")
# Short lines that end blocks stand at many places.
_COMMON = re.compile(r"\s*(?:\W*|(?:return|break|continue|pass|raise|throw|end|else|\} else)\b.{0,12})")
_ENDS_BLOCK = re.compile(r"\s*(?:return|raise|throw)\b")
_LOOSE = re.compile(r"[\s,;]+$|\s+")
_QUOTES = str.maketrans("'`", '""')


def drop_next_lines(text: str, site: Site) -> str:
    """`text` up to where it goes on with the next lines of the document; nothing if it begins with them.

    It begins with them where its first line is the next one: blanks, the kind of quotes and a comma at the
    end do not tell two lines apart, unless they are short. Further on, two lines count, one that is not short
    and opens a block, or the next line but one: what follows there is a second version of the document. At
    the end any counts. These are compared with their indentation, so a closing brace of an inner block stays.
    """
    below = [line.rstrip() for line in site.below if line.strip()]
    lines = text.rstrip().split("\n")
    if not below or lines == [""] or below[:2] == [site.above] * 2:
        return text  # among equal rows of a table one more may be right
    whole = [site.line_before + lines[0], *lines[1:]]
    filled = [(number, line.rstrip()) for number, line in enumerate(whole) if line.strip()]
    if lines[0].strip() == "" and site.line_before.strip():
        filled = filled[1:]  # the user's own line
    written = [line for _, line in filled]
    if written and (_begins(written, below) or (_tells(below[0]) and _loose(written[0]) == _loose(below[0]))):
        return "\n".join(lines[: filled[0][0]])
    passages = _passages(below)
    for at, (number, line) in enumerate(filled):
        if _skips_to(line, below) or any(written[at : at + len(each)] == each for each in passages):
            return "\n".join(lines[:number])
    for count in range(min(len(filled) - 1, len(below)), 0, -1):
        if written[-count:] == below[:count]:
            return "\n".join(lines[: filled[-count][0]])
    return text


def _begins(written: list[str], below: list[str]) -> bool:
    """Whether all that is written are the next lines; its last line may be the start of one."""
    count = len(written) - 1
    if len(below) <= count or written[:count] != below[:count]:
        return False
    return written[-1] == below[count] or (count > 0 and below[count].startswith(written[-1]))


def _passages(below: list[str]) -> list[list[str]]:
    """What of the next lines is no chance where it is written again, from the next line or the one after."""
    head = 1 if _tells(below[0]) and below[0].endswith(_OPENS_BLOCK) else 2
    found = [below[:head], below[1:3]]
    return [
        each
        for each, size in zip(found, (head, 2), strict=True)
        if len(each) == size and not all(map(_COMMON.fullmatch, each))
    ]


def _skips_to(line: str, below: list[str]) -> bool:
    """Whether `line` is the next line but one, and no common one: the model has skipped a line.

    Two blocks may end with the same statement.
    """
    if len(below) < 2 or line != below[1] or not _tells(line) or _COMMON.fullmatch(line):
        return False
    return indentation(below[0]) >= indentation(line) or _ENDS_BLOCK.match(line) is None


def _tells(line: str) -> bool:
    """Whether a second `line` is a repetition: no short one, no ruler, no decorator."""
    content = line.strip()
    return len(content) >= _TELLING and content[0] != "@" and sum(map(str.isalnum, content)) >= _TELLING // 2


def _loose(line: str) -> str:
    return _LOOSE.sub(" ", line).strip().translate(_QUOTES)
