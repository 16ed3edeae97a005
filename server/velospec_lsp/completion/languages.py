"""What the filters know of languages, by the ids that editors give them: strings, comments, blocks.

Plain data. An unknown language gets what most have in common, and nothing that would be wrong in prose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple


class Blocks(Enum):
    """What a block ends with."""

    BRACES = "braces"
    INDENT = "indent"  # a line that is indented less, and nothing else
    WORDS = "words"  # `end`, `fi`, `done`
    NONE = "none"  # indentation says nothing of blocks: prose, markup


class Span(NamedTuple):
    """A string or comment: brackets count for nothing between `opener` and `close`."""

    opener: str
    close: str  # empty: the end of the line
    lines: bool = False  # goes on over line ends
    escapes: bool = False  # a backslash takes the next character's meaning
    apart: bool = False  # begins only behind a blank, a bracket or at the start of a line


@dataclass(frozen=True, slots=True)
class Language:
    """The facts of one language."""

    blocks: Blocks = Blocks.BRACES
    comments: tuple[Span, ...] = ()
    strings: tuple[Span, ...] = ()
    characters: bool = (
        False  # an apostrophe quotes one character; alone it is something else, or digits' comma
    )
    regex: bool = False  # a slash where an operand is due begins a regular expression
    brackets: str = "()[]{}"
    signs: str = ""  # other single characters that are looked for
    closers: str = ""  # words that end or continue a block at the indentation of its first line

    @property
    def prose(self) -> bool:
        """Whether a text in it is prose or markup, in which quotes and brackets need not be balanced."""
        return not self.brackets


def _string(quote: str, *, lines: bool = False, escapes: bool = True, apart: bool = False) -> Span:
    return Span(quote, quote, lines, escapes, apart)


_HASH = Span("#", "")
_HASH_APART = Span("#", "", apart=True)  # `$#` and `${#x}` are no comments
_SLASHES = (Span("//", ""), Span("/*", "*/", lines=True))
_DASHES = Span("--", "")
_DOUBLE, _SINGLE, _BACKTICK = _string('"'), _string("'"), _string("`", lines=True)
_TRIPLE = (_string('"""', lines=True), _string("'''", lines=True))

_C = Language(comments=_SLASHES, strings=(_DOUBLE,), characters=True, closers="else case default")
_JAVA = replace(_C, strings=(_TRIPLE[0], _DOUBLE), closers="else catch finally case default")
_SCRIPT = Language(
    comments=_SLASHES,
    strings=(_DOUBLE, _SINGLE, _BACKTICK),
    regex=True,
    closers="else catch finally case default",
)
_STYLE = Language(comments=_SLASHES[1:], strings=(_DOUBLE, _SINGLE))
_SHELL = Language(
    Blocks.WORDS,
    comments=(_HASH_APART,),
    strings=(_string('"', lines=True), _string("'", lines=True, escapes=False)),
    brackets="[]{}",  # `pattern)` of a case closes nothing
    closers="fi done esac else elif then do",
)
_YAML = Language(
    Blocks.INDENT,
    comments=(_HASH_APART,),
    strings=(_string('"', apart=True), _string("'", escapes=False, apart=True)),
)
_PROSE = Language(Blocks.NONE, brackets="")
_MARKUP = Language(Blocks.NONE, comments=(Span("<!--", "-->", lines=True),), brackets="")
_PLAIN = Language(strings=(_DOUBLE,), closers="else end")

_LANGUAGES = {
    "python": Language(
        Blocks.INDENT,
        comments=(_HASH,),
        strings=(*_TRIPLE, _DOUBLE, _SINGLE),
        closers="else elif except finally case",
    ),
    "c cpp csharp objective-c objective-cpp cuda-cpp": _C,
    "java kotlin scala groovy dart swift": _JAVA,
    "go": replace(_C, strings=(_DOUBLE, _string("`", lines=True, escapes=False))),
    "rust zig": replace(_C, strings=(_string('"', lines=True),)),
    "javascript javascriptreact typescript typescriptreact": _SCRIPT,
    "json jsonc json5": Language(comments=_SLASHES, strings=(_DOUBLE,)),
    "php": replace(_SCRIPT, comments=(*_SLASHES, _HASH_APART), strings=(_DOUBLE, _SINGLE), regex=False),
    "css": _STYLE,
    "scss less stylus": replace(_STYLE, comments=_SLASHES),
    "ruby crystal": Language(
        Blocks.WORDS,
        comments=(_HASH_APART,),
        strings=(_DOUBLE, _SINGLE),
        regex=True,
        closers="end else elsif rescue ensure when in",
    ),
    "elixir": Language(
        Blocks.WORDS,
        comments=(_HASH_APART,),
        strings=(_TRIPLE[0], _DOUBLE),
        closers="end else rescue catch after",
    ),
    "lua": Language(
        Blocks.WORDS,
        comments=(Span("--[[", "]]", lines=True), _DASHES),
        strings=(Span("[[", "]]", lines=True), _DOUBLE, _SINGLE),
        closers="end else elseif until",
    ),
    "julia": Language(
        Blocks.WORDS,
        comments=(_HASH,),
        strings=(_TRIPLE[0], _DOUBLE),
        closers="end else elseif catch finally",
    ),
    "sql": Language(
        Blocks.NONE,
        comments=(_DASHES, _SLASHES[1]),
        strings=(_string("'", lines=True, escapes=False), _string('"', escapes=False)),
    ),
    "shellscript sh bash zsh fish": _SHELL,
    "perl r": Language(comments=(_HASH_APART,), strings=(_DOUBLE, _SINGLE), closers="else elsif"),
    "yaml dockercompose": _YAML,
    "toml ini properties dockerfile makefile cmake": Language(
        Blocks.NONE, comments=(_HASH_APART,), strings=(_DOUBLE,)
    ),
    "haskell elm purescript": Language(
        Blocks.INDENT, comments=(_DASHES,), strings=(_DOUBLE,), characters=True
    ),
    "html xml vue svelte handlebars django-html jinja-html astro": _MARKUP,
    "markdown mdx plaintext latex tex bibtex restructuredtext asciidoc git-commit diff log": _PROSE,
}
_BY_ID = {identity: language for ids, language in _LANGUAGES.items() for identity in ids.split()}


def language_of(identity: str) -> Language:
    """The facts of the language that an editor calls `identity`."""
    return _BY_ID.get(identity, _PLAIN)
