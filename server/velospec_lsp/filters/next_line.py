"""Lines that stand below the cursor already, written once more."""

from __future__ import annotations

from velospec_lsp.completion.site import Site

_TELLING = 10  # characters; a shorter line (`break;`, `});`) may well stand at two places


def drop_next_lines(text: str, site: Site) -> str:
    """`text` up to where it goes on with the next lines of the document; nothing if it begins with them.

    Its last lines count, and anywhere two lines or one that is not short: what follows there is a second
    version of the document. Lines are compared with their indentation, so a closing brace of an inner block
    stays.
    """
    below = [line.rstrip() for line in site.below if line.strip()]
    lines = text.rstrip().split("\n")
    if not below or lines == [""]:
        return text
    whole = [site.line_before + lines[0], *lines[1:]]
    written = [line.rstrip() for line in whole if line.strip()]
    if written == below[: len(written)]:
        return ""
    # The last line may have been cut off by the budget: a beginning of the next line is that line.
    if len(written) > 1 and written[:-1] == below[: len(written) - 1]:
        next_line = below[len(written) - 1] if len(below) >= len(written) else ""
        if next_line.startswith(written[-1]):
            return ""
    rejoined = _rejoins(whole, below)
    if rejoined is not None:
        return "\n".join(lines[:rejoined])
    for count in range(min(len(lines) - 1, len(below)), 0, -1):
        if [line.rstrip() for line in lines[-count:]] == below[:count]:
            return "\n".join(lines[:-count])
    return text


def _rejoins(written: list[str], below: list[str]) -> int | None:
    """Where `written` goes on as `below` begins, blank lines aside: two lines, or one that is not short."""
    filled = [(place, line.rstrip()) for place, line in enumerate(written) if line.strip()]
    wanted = 1 if len(below[0].strip()) >= _TELLING else 2
    if len(below) < wanted:
        return None
    for at, (place, _) in enumerate(filled):
        if [line for _, line in filled[at : at + wanted]] == below[:wanted]:
            return place
    return None
