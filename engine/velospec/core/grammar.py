"""What an answer has to look like: a grammar as plain data, as callers name it and the wire carries it.

What a grammar means for token ids is the business of `constraints`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from velospec.core.checks import choice, require, require_all


class GrammarKind(StrEnum):
    """The notation of a grammar's source."""

    JSON = "json"  # any one JSON value; without a source
    JSON_SCHEMA = "json_schema"  # a JSON Schema as JSON text
    EBNF = "ebnf"  # llama.cpp's notation (GBNF), the rule `root` being the whole
    REGEX = "regex"  # a regular expression (ECMA 262) for the whole text
    TAGS = "tags"  # `Grammar.tags`: text with calls in it


class Whitespace(StrEnum):
    """The whitespace between the parts of JSON.

    The two fixed forms leave the model no choice, so that no token is spent on one and none can run away.
    """

    SPACED = "spaced"  # one space behind a colon and a comma, as Python's json.dumps writes
    COMPACT = "compact"  # none
    FLEXIBLE = "flexible"  # any, in runs of at most `LONGEST_WHITESPACE` characters: for text of others


LONGEST_WHITESPACE = 100


@dataclass(frozen=True, slots=True)
class Tag:
    """One kind of call: a literal text, a JSON value that obeys `schema`, a literal text."""

    begin: str
    schema: str  # JSON Schema as JSON text
    end: str

    def __post_init__(self) -> None:
        for name in ("begin", "schema", "end"):
            require(f"Tag.{name}", getattr(self, name), str, "Give it as text; of a schema, its JSON.")


@dataclass(frozen=True, slots=True)
class Tags:
    """Text with tagged calls in it.

    Calls come in blocks: `opening`, a call, more calls with `separator` before each, `closing`. Where
    `free_text`, a block begins as soon as `trigger` was written, which `opening` and every tag's `begin`
    together begin with, and text may stand before, between and after blocks; else one block is the answer.
    Where not `parallel`, the answer ends behind its first call. Control tokens of the model that are named in
    the literal texts, such as `[TOOL_CALLS]`, stand for themselves.
    """

    tags: tuple[Tag, ...]
    trigger: str
    free_text: bool = True
    at_least_one: bool = False
    parallel: bool = True  # more than one call
    separator: str = ""
    opening: str = ""
    closing: str = ""

    def __post_init__(self) -> None:
        require_all("Tags.tags", self.tags, Tag, "Write Tag(begin, schema, end) for each kind of call.")
        object.__setattr__(self, "tags", tuple(self.tags))

    @property
    def literals(self) -> tuple[str, ...]:
        """Every literal text."""
        around = (self.trigger, self.separator, self.opening, self.closing)
        return (*around, *(text for tag in self.tags for text in (tag.begin, tag.end)))


@dataclass(frozen=True, slots=True)
class Grammar:
    """What the text of an answer must obey; an end token is allowed where it may be complete.

    `after` is what stands before the answer already and belongs to the text that the grammar is for, such as
    the beginning of a file that is to be completed. A `part` may also end wherever the model by itself
    would: what is written is then the beginning of a text that obeys, which others go on with.

    Raises SettingsError for a field of the wrong type, or a kind or whitespace that there is not.
    """

    kind: GrammarKind
    source: str = ""
    whitespace: Whitespace = Whitespace.SPACED
    after: str = ""
    tags: Tags | None = None  # of the kind TAGS
    part: bool = False
    weaken: bool = False  # of JSON_SCHEMA: leave out what cannot be enforced; whoever asks checks the answer

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", choice("Grammar.kind", self.kind, GrammarKind))
        object.__setattr__(self, "whitespace", choice("Grammar.whitespace", self.whitespace, Whitespace))
        dumped = (
            " Of a JSON Schema as a dict: json.dumps(schema)." if self.kind is GrammarKind.JSON_SCHEMA else ""
        )
        require("Grammar.source", self.source, str, f"Give it as text.{dumped}")
        require("Grammar.after", self.after, str, "Give it as text.")
        if self.tags is not None:
            require("Grammar.tags", self.tags, Tags, "Write Grammar(GrammarKind.TAGS, tags=Tags(…)).")
