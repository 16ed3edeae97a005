"""Lines that stand below the cursor already, written once more."""

from __future__ import annotations

from velospec_lsp.completion.site import Site


def drop_next_lines(text: str, site: Site) -> str:
    """`text` without its last lines where they are the next lines of the document; nothing if all are.

    Lines are compared with their indentation, so a closing brace of an inner block stays.
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
    for count in range(min(len(lines) - 1, len(below)), 0, -1):
        if [line.rstrip() for line in lines[-count:]] == below[:count]:
            return "\n".join(lines[:-count])
    return text
