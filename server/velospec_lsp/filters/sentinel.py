"""Special tokens written out as text (`<|endoftext|>`, `<fim_middle>`): the completion ends there."""

from __future__ import annotations

import re

from velospec_lsp.completion.site import Site

_SENTINEL = re.compile(
    r"<[|\uff5c][\w\u2581 ]{2,40}[|\uff5c]>"
    r"|<(?:fim[_-](?:prefix|middle|suffix|pad)|file_sep|repo_name|reponame|endoftext|jupyter_\w{2,20}"
    r"|gh_stars|commit_(?:before|after|msg)|(?:start|end)_of_turn)>"
    r"|</?think>|\[/?INST\]|\[(?:PREFIX|MIDDLE|SUFFIX)\]"
    # These are words of usage texts as well, but not where they stick to code.
    r"|(?<![ \"'\[(])<(?:filename|EOT|PRE|SUF|MID)>"
)


def cut_at_sentinel(text: str, site: Site) -> str:
    """`text` up to the first sentinel that does not occur around the cursor too."""
    for found in _SENTINEL.finditer(text):
        if found[0] not in site.prefix and found[0] not in site.suffix:
            return text[: found.start()]
    return text
