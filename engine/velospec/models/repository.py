"""How pieces of other files stand in a prompt: each model family's own way, or as comments.

They stand in front of all else where the family has a way of its own, so that neither typing nor a cursor
that goes elsewhere in the file has them read again; what stands behind a new one is. Families that were
trained on single files get them as a block of comments above the text before the cursor.

The ways are those that the makers describe: Qwen2.5-Coder's README (repository-level completion), the papers
on StarCoder (2023) and StarCoder2 (2024, section 5), Mistral's client for Codestral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from velospec.core.request import Chunk
from velospec.models.templates import TokenId, fill, parse_texts, pieces

_PROJECT = "project"  # stands for the repository's name, which the model need not know
_SLASHES = "java js jsx mjs cjs ts tsx mts cts go rs c h cc cpp cxx hpp hh hxx cs kt kts swift scala dart php"
_DASHES = "sql lua hs elm ada"
_COMMENTS = {
    **dict.fromkeys(_SLASHES.split(), "//"),
    **dict.fromkeys(_DASHES.split(), "--"),
    **dict.fromkeys(("el", "lisp", "clj", "scm"), ";;"),
    **dict.fromkeys(("tex", "erl", "m"), "%"),
}


@dataclass(frozen=True)
class Surroundings:
    """What `Repository.place` found room for: ids in front of the prompt, and above the prefix."""

    front: list[int]
    above: list[int]


NOTHING = Surroundings([], [])


@dataclass(frozen=True)
class Repository:
    """One family's way. The parts are those of `templates.parse_texts`; `{path}`, `{name}`, `{text}` in them.

    `opening` stands before the first chunk, `file` in front of the file that is edited, `title` above its
    text; none of these without a chunk. `in_front` tells where the chunks go; without it, above the text.
    """

    chunk: tuple[int | str, ...] = ()
    opening: tuple[int | str, ...] = ()
    file: tuple[int | str, ...] = ()
    title: tuple[int | str, ...] = ()
    in_front: bool = True

    def place(
        self, chunks: Sequence[Chunk], path: str, room: int, encode: Callable[[str], list[int]]
    ) -> Surroundings:
        """Those of `chunks` that fit into `room` ids behind the ones before them; nothing if none does.

        A further one at the end so leaves those before it where they are.
        """
        own = {"path": path or "untitled", "name": PurePath(path).name or "untitled"}
        opening, file, title = (fill(part, own, encode) for part in (self.opening, self.file, self.title))
        left = room - len(opening) - len(file) - len(title)
        placed: list[int] = []
        for chunk in chunks:
            ids = self._ids(chunk, path, encode)
            if len(ids) <= left:
                left -= len(ids)
                placed += ids
        if not placed:
            return NOTHING
        body = [*opening, *placed]
        return Surroundings([*body, *file], title) if self.in_front else Surroundings(file, [*body, *title])

    def _ids(self, chunk: Chunk, path: str, encode: Callable[[str], list[int]]) -> list[int]:
        if not self.chunk:
            return encode(as_comment(chunk, path))
        shown = chunk.path or "untitled"
        values = {"path": shown, "name": PurePath(shown).name, "text": chunk.text.rstrip("\n")}
        return fill(self.chunk, values, encode)


AS_COMMENTS = Repository(in_front=False)

_TEMPLATES: dict[str, tuple[dict[str, str], ...]] = {
    "qwen": (
        {
            "opening": f"<|repo_name|>{_PROJECT}\n",
            "chunk": "<|file_sep|>{path}\n{text}\n",
            "file": "<|file_sep|>{path}\n",
        },
    ),
    "starcoder": (
        {
            "opening": f"<repo_name>{_PROJECT}",
            "chunk": "<file_sep>{path}\n{text}\n",
            "file": "<file_sep>",
            "title": "{path}\n",
        },
        {
            "opening": f"<reponame>{_PROJECT}",
            "chunk": "<filename>{path}\n{text}\n",
            "file": "<filename>{path}\n",
        },
    ),
    "codestral": ({"chunk": "+++++ {path}\n{text}\n", "title": "+++++ {path}\n"},),
}
"""By family: what may be its way, the first whose sentinels the vocabulary has."""
_ABOVE = frozenset({"codestral"})  # what stands in front there is the text after the cursor


def repository_of(family: str, token_id: TokenId, header: str = "") -> Repository:
    """The way of `family` in a vocabulary; as comments where it has none.

    `header` is what names the file in a model of our own: its chunks are named so, too.
    """
    if header:
        return Repository(parse_texts(header + "{text}\n", token_id))
    for templates in _TEMPLATES.get(family, ()):
        if all(_known(template, token_id) for template in templates.values()):
            parts = {name: parse_texts(template, token_id) for name, template in templates.items()}
            return Repository(**parts, in_front=family not in _ABOVE)
    return AS_COMMENTS


def as_comment(chunk: Chunk, path: str) -> str:
    """`chunk` as a block of line comments in the language of the file `path`, its own path first."""
    mark = _COMMENTS.get(PurePath(path).suffix[1:].lower(), "#")
    lines: Iterable[str] = chunk.text.rstrip("\n").split("\n")
    if chunk.path:
        lines = (chunk.path, *lines)
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


def _known(template: str, token_id: TokenId) -> bool:
    sentinels = (piece for piece in pieces(template) if piece.startswith("<"))
    return all(token_id(sentinel) is not None for sentinel in sentinels)
