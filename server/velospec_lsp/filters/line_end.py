"""A line that ends in the same few words again and again: the model is in a loop."""

from __future__ import annotations

from velospec_lsp.completion.site import Site

_SHORT, _LONG, _LONGEST = 3, 10, 80  # characters of what is repeated


def cut_repeated_end(text: str, _site: Site) -> str:
    """`text` up to the first line whose end repeats itself, with the first of the repetitions.

    Three characters and more count five times in a row, ten and more three times, the last one whole or not.
    Runs without a letter stay: rulers, rows of zeros.
    """
    at = 0
    for line in text.split("\n"):
        for period in range(_SHORT, min(_LONGEST, len(line) // 2) + 1):
            needed = period * (2 if period >= _LONG else 4)
            if line[-1] != line[-1 - period] or needed + period > len(line):
                continue
            if line[-needed:] == line[-needed - period : -period] and any(map(str.isalpha, line[-period:])):
                return text[: at + len(line) - _repeated(line, period)]
        at += len(line) + 1
    return text


def _repeated(line: str, period: int) -> int:
    """How many characters at the end of `line` equal those `period` before them."""
    count = 0
    while count + period < len(line) and line[-1 - count] == line[-1 - count - period]:
        count += 1
    return count
