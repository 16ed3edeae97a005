"""Infill prompts: each model family's own order and sentinels around the text before and after the cursor.

The format comes from the model's GGUF metadata, where it is declared, else from the sentinels in its
vocabulary. Suffix-first order is taken where the model was trained on it: the prefix then stands last, so
that every typed character appends to the prompt and the KV cache of the rest is reused.

The prompt's window is stable under typing. The suffix window starts at the cursor and ends at a line's end.
The start of the prefix window is a multiple of a quarter of the window's length, moved to the next line
start; it stays where it is until so much has been typed, then jumps. An edge that moved with each key would
change every id after it.

Pieces of other files stand where the model's family has them; see `repository`. What is not known here: which
pieces those are, and how the prompt is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from velospec.backends.base import Vocabulary
from velospec.core.errors import ContextError, InfillError
from velospec.core.request import Chunk
from velospec.models.gguf import GgufHead, find_tokens
from velospec.models.gguf_file import Scalar
from velospec.models.plain_text import PlainText
from velospec.models.repository import AS_COMMENTS, Repository, repository_of
from velospec.models.templates import TokenId, fill, parse_parts, parse_texts, pieces

TEMPLATE = "velospec.infill.template"
HEADER = "velospec.infill.header"
SUFFIX_CHARACTERS = "velospec.infill.suffix_characters"
PREFIX_CHARACTERS = "velospec.infill.prefix_characters"

_FAMILIES = {
    "qwen": "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
    "starcoder": "<fim_prefix><fim_suffix>{suffix}<fim_middle>{prefix}",
    "refact": "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
    "santacoder": "<fim-prefix><fim-suffix>{suffix}<fim-middle>{prefix}",
    "deepseek": "<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>",  # noqa: RUF001  (its own letters)
    "codellama": "▁<PRE>▁<SUF>{suffix}▁<MID>{prefix}",
    "codestral": "[SUFFIX]{suffix}[PREFIX]{prefix}",
}
"""Templates by family, in the order of trial. Those that end in `{prefix}` are suffix first."""

_DECLARED = (
    ("tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id"),
    ("tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id"),
    ("tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id"),
)
_NAMES = frozenset({"prefix", "suffix", "header"})
_SUFFIX_CHARACTERS = 1500
_HEADER_SHARE = 4  # of a prompt: at most its fourth part
_CONTEXT_SHARE = 0.45  # of the room, before the file's own text; docs/context.md says why
_STEPS = 4  # in which what a short prefix leaves is given to other files
_FEWEST_PER_TOKEN = 2  # characters of dense code
_CHARACTERS_PER_TOKEN = 3  # of code, cautiously; a window that is too long all the same is cut by tokens
_ABLE = "Models that can: {names}. Install one: velospec model install smollm2-135m-fim"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is to continue: `ids`, and the bytes that its first new tokens must begin with."""

    ids: tuple[int, ...]
    heal: bytes


@dataclass(frozen=True)
class InfillFormat:
    """One model's infill format, its sentinels looked up in one vocabulary.

    `parts` are the ids of sentinels and the names of what stands between: `prefix`, `suffix`, `header`.
    """

    begin: tuple[int, ...]  # the id that begins every text, where the tokenizer wants one
    parts: tuple[int | str, ...]
    header: tuple[int | str, ...]  # names the file; `{name}` in its texts; left out where there is no path
    suffix_characters: int
    prefix_characters: int | None
    plain: PlainText
    repository: Repository = AS_COMMENTS

    @classmethod
    def for_model(
        cls, metadata: Mapping[str, Scalar], vocabulary: Vocabulary, override: str | None = None
    ) -> InfillFormat:
        """The format that `metadata` and `vocabulary` tell, or `override` names (a family or a template).

        Raises InfillError where there is none.
        """

        def token_id(text: str) -> int | None:
            ids = vocabulary.encode(text, special=True)
            return ids[0] if len(ids) == 1 else None

        found = _find_parts(metadata, token_id, override)
        if found is None:
            raise no_infill(str(metadata.get("general.name", "This model")))
        family, parts = found
        begin = _begin_of_text(metadata)
        prefix = metadata.get(PREFIX_CHARACTERS)
        header = "" if override is not None else str(metadata.get(HEADER, ""))
        return cls(
            begin=() if begin is None else (begin,),
            parts=parts,
            header=parse_texts(header, token_id),
            suffix_characters=int(metadata.get(SUFFIX_CHARACTERS, _SUFFIX_CHARACTERS)),
            prefix_characters=int(prefix) if prefix is not None else None,
            plain=PlainText(vocabulary, _sentinels_in(token_id)),
            repository=repository_of(family, token_id, header),
        )

    @property
    def suffix_first(self) -> bool:
        """Whether typing appends to the prompt."""
        return self.parts[-1] == "prefix"

    def build(
        self, prefix: str, suffix: str, path: str, limit: int, *, context: Sequence[Chunk] = ()
    ) -> Prompt:
        """The prompt at a cursor between `prefix` and `suffix`, of at most `limit` ids.

        `path` may be empty. The bytes of the prefix's ids and `heal` together are exactly the end of
        `prefix`. Raises ContextError where `limit` leaves no room.
        """
        header = self._header_ids(path) if "header" in self.parts else []
        if len(header) > limit // _HEADER_SHARE:
            header = []  # a very long name would take the place of the text
        room = limit - len(self.begin) - len(self.parts) - len(header)
        if room < 16:
            raise ContextError(
                f"{limit} tokens are too few for an infill prompt.", "Give the model a larger context."
            )
        most = self._context_room(len(prefix), len(suffix), room)
        around = self.repository.place(context, path, most, self.plain.encode)
        room -= len(around.front) + len(around.above)
        suffix_ids = self._suffix_ids(suffix, room)
        prefix_ids = self._prefix_ids(prefix, room - len(suffix_ids))
        back, heal = self.plain.take_back(prefix_ids)
        texts = {
            "header": header,
            "suffix": suffix_ids,
            "prefix": [*around.above, *prefix_ids[: len(prefix_ids) - back]],
        }
        ids = [*self.begin, *around.front]
        for part in self.parts:
            ids += texts[part] if isinstance(part, str) else [part]
        return Prompt(tuple(ids), heal)

    def _header_ids(self, path: str) -> list[int]:
        name = PurePath(path).name
        return fill(self.header, {"name": name}, self.plain.encode) if name else []

    def _context_room(self, before: int, after: int, room: int) -> int:
        """How many of `room` ids other files may take: a share, or what `before` and `after` will not need.

        Changes only when much has been typed: where it changed with each key, so would the prompt's head.
        """
        step = max(1, room // _STEPS)
        needed = (before + min(after, self.suffix_characters)) // _FEWEST_PER_TOKEN + step
        return max(int(room * _CONTEXT_SHARE), room - -(-needed // step) * step)

    def _suffix_ids(self, suffix: str, room: int) -> list[int]:
        """The text after the cursor, cut at the end of a line.

        At most half of the room where it is read once for a place, a third where each key has it read anew.
        """
        most = room // (2 if self.suffix_first else 3)
        characters = min(self.suffix_characters, most * _CHARACTERS_PER_TOKEN)
        window = suffix[:characters]
        if len(window) < len(suffix):
            end = window.rfind("\n") + 1
            window = window[:end] if end > characters // 2 else window
        return self.plain.encode(window)[:most]

    def _prefix_ids(self, prefix: str, room: int) -> list[int]:
        """The text before the cursor, from a window start that typing does not move but once in a while."""
        characters = room * _CHARACTERS_PER_TOKEN
        if self.prefix_characters is not None:
            characters = min(characters, self.prefix_characters)
        stride = max(1, characters // 4)
        edge = max(0, -(-(len(prefix) - characters) // stride) * stride)
        while True:
            ids = self.plain.encode(prefix[_line_start(prefix, edge, stride) :])
            if len(ids) <= room:
                return ids
            if edge + stride >= len(prefix):
                break
            edge += stride  # more tokens than expected of so many characters
        # So dense that not even one stride fits: drop from the front, again in large steps.
        step = max(1, room // 4)
        return ids[-(-(len(ids) - room) // step) * step :]


def knows_infill(head: GgufHead) -> bool:
    """Whether the model of `head` can infill, judged without loading it."""
    templates = [*_FAMILIES.values(), str(head.scalars.get(TEMPLATE, ""))]
    found = find_tokens(head.path, {piece for template in templates for piece in pieces(template)})
    return _find_parts(head.scalars, found.get, None) is not None


def no_infill(name: str) -> InfillError:
    """The error for a model that cannot complete between two texts."""
    from velospec.models.catalogue import catalogue  # noqa: PLC0415 - needed in this error only

    able = ", ".join(entry.name for entry in catalogue().values() if "completion" in entry.roles)
    return InfillError(
        f"{name} knows no infill format, so it cannot complete at a cursor.", _ABLE.format(names=able)
    )


def _line_start(text: str, edge: int, stride: int) -> int:
    """The first line start within half a stride after `edge`; `edge` itself where there is none, or at 0."""
    line = text.find("\n", edge, edge + stride // 2) + 1 if edge else 0
    return line or edge


def _find_parts(
    metadata: Mapping[str, Scalar], token_id: TokenId, override: str | None
) -> tuple[str, tuple[int | str, ...]] | None:
    """The family and the template's parts: as overridden, declared, told by sentinels or llama.cpp's keys."""
    if override is not None:
        parts = _parse(_FAMILIES.get(override, override), token_id)
        return None if parts is None else (override, parts)
    if TEMPLATE in metadata:
        parts = _parse(str(metadata[TEMPLATE]), token_id)
        return None if parts is None else ("", parts)
    for family, template in _FAMILIES.items():
        if family == "starcoder" and not _knows_suffix_first(metadata):
            continue
        if parts := _parse(template, token_id):
            return family, parts
    declared = [next((metadata[key] for key in keys if key in metadata), None) for keys in _DECLARED]
    if None in declared:
        return None
    before, after, middle = (int(str(token)) for token in declared)
    return "", (before, "prefix", after, "suffix", middle)


def _knows_suffix_first(metadata: Mapping[str, Scalar]) -> bool:
    """Whether a model with StarCoder's sentinels was trained on both orders: StarCoder and Granite were."""
    told = ("general.architecture", "general.name", "general.basename", "tokenizer.ggml.pre")
    words = " ".join(str(metadata.get(key, "")) for key in told).lower()
    return "starcoder" in words or "granite" in words


def _parse(template: str, token_id: TokenId) -> tuple[int | str, ...] | None:
    """A template's parts, or None where the vocabulary lacks a sentinel or the template lacks a text."""
    parts = parse_parts(template, token_id, _NAMES)
    return parts if parts is not None and {"prefix", "suffix"} <= set(parts) else None


def _begin_of_text(metadata: Mapping[str, Scalar]) -> int | None:
    """The id that begins every text, where the tokenizer wants one (SentencePiece does unless it says no)."""
    default = metadata.get("tokenizer.ggml.model") == "llama"
    wanted = str(metadata.get("tokenizer.ggml.add_bos_token", default)).lower() == "true"
    begin = metadata.get("tokenizer.ggml.bos_token_id")
    return int(begin) if wanted and begin is not None else None


def _sentinels_in(token_id: TokenId) -> dict[int, str]:
    """All sentinels of all families that this vocabulary has as single tokens."""
    texts = {piece for template in _FAMILIES.values() for piece in pieces(template)}
    own = {"<issue_comment>", "<issue_start>", "<filename>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"}
    found = {text: token_id(text) for text in (texts | own) if not text.startswith("{")}
    return {token: text for text, token in found.items() if token is not None}
