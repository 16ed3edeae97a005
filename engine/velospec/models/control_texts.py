"""Control tokens written out in the text of a message: text like other text, and no end of the message.

A template writes control tokens as text, so that its result is read with them; what a user wrote must not
be, or a source file that names such a token would speak in the place of the template. So each such name in a
message is parted by `BREAK`, where the prompt is cut before it becomes ids. A vocabulary that puts a space
before each text (SentencePiece) then reads one there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from velospec.core.request import BREAK
from velospec.models.gguf import CONTROL, token_texts, tokens_of


class ControlTexts:
    """The control tokens of one vocabulary."""

    def __init__(self, texts: set[str]) -> None:
        longest_first = sorted((text for text in texts if len(text) > 1), key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    @classmethod
    def of_file(cls, path: Path) -> ControlTexts:
        """Those of the GGUF file `path`. Raises ModelLoadError where it is damaged."""
        return cls(set(token_texts(path, tokens_of(path, CONTROL)).values()))

    def part(self, value: Any) -> Any:
        """`value`, a text or lists and maps of texts as JSON has them, with no control token in a text."""
        if isinstance(value, str):
            whole = value.replace(BREAK, "")
            return whole if self._names is None else self._names.sub(_part, whole)
        if isinstance(value, list):
            return [self.part(item) for item in value]
        if isinstance(value, dict):
            return {key: self.part(item) for key, item in value.items()}
        return value


def _part(name: re.Match[str]) -> str:
    return name[0][0] + BREAK + name[0][1:]
