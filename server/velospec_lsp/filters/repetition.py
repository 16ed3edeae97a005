"""Lines and blocks of lines that a model writes again and again."""

from __future__ import annotations

from velospec_lsp.completion.site import Site

_TELLING = 10  # characters, some of them letters
_SMALL = 2  # lines: so few may well be there twice


def cut_repeated_lines(text: str, _site: Site) -> str:
    """`text` up to the first repetition: one or two lines three times in a row, or more lines twice.

    Lines that are blank do not count, and one that is not short must be among them: closing brackets in a row
    are no repetition.
    """
    lines = text.split("\n")
    filled = [(number, line.strip()) for number, line in enumerate(lines) if line.strip()]
    contents = [content for _, content in filled]
    for size in range(1, len(contents) // 2 + 1):
        times = 3 if size <= _SMALL else 2
        for start in range(len(contents) - times * size + 1):
            if contents[start] != contents[start + size]:
                continue
            block = contents[start : start + size]
            if contents[start : start + times * size] == block * times and any(map(_tells, block)):
                return "\n".join(lines[: filled[start + size - 1][0] + 1])
    return text


def _tells(line: str) -> bool:
    return len(line) >= _TELLING and any(map(str.isalpha, line))
