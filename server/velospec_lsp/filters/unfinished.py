"""The last line of a text that a limit has cut off, often in the middle of a word."""

from __future__ import annotations

import re

from velospec_lsp.completion.site import Site

# Runs of what is neither blank nor ASCII punctuation: words of any script, whatever marks they carry.
_LAST_WORD = re.compile(r"[^\s!-/:-@\[-^`{-~]+\Z")
_DANGLING = re.compile(r"[\s.,:=+\-*/%&|<>!?@~^\\\"'`(\[{#$]+\Z")


def drop_unfinished(text: str, _site: Site) -> str:
    """The whole lines of `text`; of a lone line what stands before its last word and the signs before that.

    For texts that were cut off only. A word that is all there is stays: it is a beginning. Brackets that this
    leaves open are a matter of the filter after it.
    """
    lines, newline, _ = text.rpartition("\n")
    if newline and lines.strip():
        return lines
    return trim_dangling(_LAST_WORD.sub("", text)) or text


def trim_dangling(text: str) -> str:
    """`text` without signs at its end that ask for more: operators, opening brackets and quotes, a dot."""
    return _DANGLING.sub("", text)
