"""Lines and blocks of lines that a model writes again and again."""

from __future__ import annotations

from velospec_lsp.completion.site import Site

_TELLING = 10  # characters, some of them letters
_LONG = 60  # characters in all; less, in one or two lines, may well be there twice


def cut_repeated_lines(text: str, _site: Site) -> str:
    """`text` up to the first repetition of lines.

    One or two lines count three times in a row, more or longer ones twice, as does the last line. Blank lines
    do not count, and one that is not short must be among the others: closing brackets in a row are none.
    """
    lines = text.split("\n")
    filled = [(number, line.strip()) for number, line in enumerate(lines) if line.strip()]
    contents = [content for _, content in filled]
    for size in range(1, len(contents) // 2 + 1):
        for start in range(len(contents) - 2 * size + 1):
            if contents[start] != contents[start + size]:
                continue
            block = contents[start : start + size]
            times = 2 if size > 2 or (size == 2 and sum(map(len, block)) >= _LONG) else 3
            if contents[start : start + times * size] == block * times and any(map(_tells, block)):
                return "\n".join(lines[: filled[start + size - 1][0] + 1])
    if len(contents) > 1 and contents[-1] == contents[-2] and _tells(contents[-1]):
        return "\n".join(lines[: filled[-2][0] + 1])
    return text


def _tells(line: str) -> bool:
    return len(line) >= _TELLING and any(map(str.isalpha, line))
