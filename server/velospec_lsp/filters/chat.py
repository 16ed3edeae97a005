"""What a chat model says around code: a Markdown fence, and sentences before and behind it."""

from __future__ import annotations

import re

from velospec_lsp.completion.site import Site

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$\n?", re.MULTILINE)
_SENTENCE = re.compile(
    r"^(?:Here(?:'s| is| are)|Sure|Certainly|Of course|I(?:'m|'ll| am| will| have| can)"
    r"|(?:The|This) (?:following|above|code|function|completed?|missing)|To (?:complete|fix)|You can"
    r"|Note that|(?:In this|As an?) \w+|Explanation:|Output:|Answer:)(?=[ ,!.:\n])[^\n(){}\[\]=;]*$",
    re.MULTILINE,
)


def strip_chat(text: str, site: Site) -> str:
    """The code in `text`: what stands in its first fence, up to where a sentence begins.

    In prose, and in strings and comments, sentences and fences are what is wanted.
    """
    if site.facts.prose or site.before.inside is not None:
        return text
    sentence = _SENTENCE.search(text)
    fence = _FENCE.search(text)
    if fence is not None and (not text[: fence.start()].strip() or _begins_with(text, sentence)):
        text = text[fence.end() :]
        fence = _FENCE.search(text)
        sentence = _SENTENCE.search(text)
    if fence is not None:
        text = text[: fence.start()].rstrip("\n")
    if sentence is not None:
        text = text[: sentence.start()].rstrip("\n")
    return text


def _begins_with(text: str, sentence: re.Match[str] | None) -> bool:
    return sentence is not None and not text[: sentence.start()].strip()
