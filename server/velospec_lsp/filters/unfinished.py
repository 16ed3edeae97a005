"""The last line of a text that a limit has cut off, often in the middle of a word."""

from __future__ import annotations

import re

from velospec_lsp.completion.outline import outline
from velospec_lsp.completion.site import Site

# Runs of what is neither blank nor ASCII punctuation: words of any script, whatever marks they carry.
_LAST_WORD = re.compile(r"[^\s!-/:-@\[-^`{-~]+\Z")
_DANGLING = re.compile(r"[\s.,:=+\-*/%&|<>!?@~^\\(\[{#$]+\Z")
_BEGINS = re.compile(r"\s*@|.*[:{(\[=\\]\s*\Z")
_LEADS_ON = re.compile(r"(?:\A|\s)(?:and|or|not|in|is|if|else|for|await|new|as|from)\Z")


def drop_unfinished(text: str, site: Site) -> str:
    """The whole statements of `text`, for texts that were cut off.

    Of several lines the last one goes, and before it what only leads to it: the head of a block, a call or a
    string that is not closed; but a call or string that is all there is stays. Of a lone line there stays
    what stands before its last word and the signs before that; a word that is all there is stays, it is a
    beginning. Brackets that this leaves open are a matter of the filter after it.
    """
    lines = text.split("\n")[:-1]
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        if text.endswith((",", ":", ";")):
            return text
        return trim_dangling(_LAST_WORD.sub("", text)) or text
    whole = _whole(lines, site)
    if whole > first:
        del lines[whole:]
    while len(lines) > first + 1 and (not lines[-1].strip() or _BEGINS.match(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def trim_dangling(text: str) -> str:
    """`text` without what asks for more at its end: operators, opening brackets, a dot."""
    while (shorter := _LEADS_ON.sub("", _DANGLING.sub("", text))) != text:
        text = shorter
    return text


def _whole(lines: list[str], site: Site) -> int:
    """How many of `lines` come before the one with the first call or string that is not closed in them."""
    if site.facts.prose:
        return len(lines)
    text = "\n".join(lines)
    found = outline(text + "\n", site.facts, site.before.inside)
    ends = [bracket.at for bracket in found.opened if bracket.closer != "}"][:1]
    if found.inside is not None and found.inside_at:
        ends.append(found.inside_at)
    return text.count("\n", 0, min(ends)) if ends else len(lines)
