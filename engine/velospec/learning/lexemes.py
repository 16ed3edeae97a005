"""Cuts code into lexemes: the units that rules are mined in, whatever tokenizer a model has.

A lexeme is an identifier, a number or a single sign, each with the one space before it, or a stretch of
whitespace without the space that belongs to what follows. Tokenizers of language models part text at most of
these places too, so that what is mined in lexemes can be told in the tokens of any of them.
"""

from __future__ import annotations

import re

_LEXEME = re.compile(r" ?[^\W\d]\w*| ?\d+| ?[^\w\s]|\s+(?!\S)|\s+")


def split(text: str) -> list[str]:
    """The lexemes of `text`, which joined give it back."""
    return _LEXEME.findall(text)
