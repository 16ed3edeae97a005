"""What lexemes the languages are made of: strings, comments, operators, keywords; plain data.

Says nothing of how a text is followed (`lexing`), and nothing of what may be drafted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple


class StringRule(NamedTuple):
    """One kind of string.

    `opener` is a regular expression; in `close`, `%` stands for what the group `mark` of the opener matched.
    `hole` opens an embedded expression, which ends at its `}`; doubled it stands for itself.
    """

    opener: str
    close: str
    escapes: bool = True
    lines: bool = False  # goes on over line ends
    hole: str = ""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lexemes of one language."""

    strings: tuple[StringRule, ...]
    line_comments: tuple[str, ...] = ()
    block_comments: tuple[tuple[str, str], ...] = ()
    nested_comments: bool = False
    operators: tuple[str, ...] = ()
    name: str = r"[A-Za-z_\x80-\xff][\w\x80-\xff]{0,199}"
    extra: str = ""  # a regular expression of further literals, tried before strings
    regex: bool = False  # a slash where an operand is due begins a regular expression
    unfinished: str = ""  # a regular expression of what `extra` or an opener may match in full later


_C_OPERATORS = (
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "::",
)  # fmt: skip
_SLASHES = (("/*", "*/"),)
_QUOTES = (StringRule('"', '"'), StringRule("'", "'"))

_PLAIN_MARKS = r"(?:[rR][bB]?|[bB][rR]?|[uU])?"
_HOLE_MARKS = r"(?:[fFtT][rR]?|[rR][fFtT])"
_PYTHON = Lexicon(
    strings=tuple(
        StringRule(marks + quote, quote, lines=len(quote) > 1, hole=hole)
        for marks, hole in ((_HOLE_MARKS, "{"), (_PLAIN_MARKS, ""))
        for quote in ('"""', "'''", '"', "'")
    ),
    line_comments=("#",),
    operators=("**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=",
               "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", ":="),
    unfinished=r"[a-zA-Z]{0,2}(?:''?|\"\"?)",
)  # fmt: skip
_JAVASCRIPT = Lexicon(
    strings=(*_QUOTES, StringRule("`", "`", lines=True, hole="${")),
    line_comments=("//", "#!"),
    block_comments=_SLASHES,
    operators=(
        "===",
        "!==",
        "**=",
        ">>>=",
        ">>>",
        "&&=",
        "||=",
        "??=",
        "=>",
        "?.",
        "??",
        "**",
        *_C_OPERATORS,
    ),
    name=r"[#@]?[A-Za-z_$\x80-\xff][\w$\x80-\xff]{0,199}",
    unfinished="[#@]",
    regex=True,
)
_C = Lexicon(
    strings=(StringRule(r'(?:u8|[uUL])?"', '"'), StringRule(r"(?:u8|[uUL])?'", "'")),
    line_comments=("//",),
    block_comments=_SLASHES,
    operators=_C_OPERATORS,
    extra=r"[0-9](?:'?[0-9A-Fa-f])*'[0-9A-Fa-f]+\w*",
    unfinished=r"[0-9][\w.']*'",
)
_CPP = Lexicon(
    strings=(StringRule(r'(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(', ')%"', escapes=False, lines=True),
             *_C.strings),
    line_comments=("//",),
    block_comments=_SLASHES,
    operators=("<=>", "->*", *_C_OPERATORS),
    extra=_C.extra,
    unfinished=r"""(?:u8|[uUL])?R"[^()\\\s]{0,16}|[0-9][\w.']*'""",
)  # fmt: skip
_JAVA = Lexicon(
    strings=(StringRule('"""', '"""', lines=True), *_QUOTES),
    line_comments=("//",),
    block_comments=_SLASHES,
    operators=(">>>=", ">>>", *_C_OPERATORS),
    name=r"@?[A-Za-z_$\x80-\xff][\w$\x80-\xff]{0,199}",
    unfinished=r'""?|@',
)
_GO = Lexicon(
    strings=(*_QUOTES, StringRule("`", "`", escapes=False, lines=True)),
    line_comments=("//",),
    block_comments=_SLASHES,
    operators=("<<=", ">>=", "&^=", "...", ":=", "<-", "&^", *_C_OPERATORS),
)
_RUST = Lexicon(
    strings=(StringRule(r'[bc]?r(?P<mark>#*)"', '"%', escapes=False, lines=True),
             StringRule('[bc]?"', '"', lines=True)),
    line_comments=("//",),
    block_comments=_SLASHES,
    nested_comments=True,
    operators=("..=", "=>", "..", *_C_OPERATORS),
    extra=r"b?'(?:\\u\{[0-9a-fA-F]*\}|\\x..|\\.|[^\\'\n\x80-\xff]|[\x80-\xff]{2,4})'|'[A-Za-z_]\w*",
    unfinished=r"[bc]?r#{0,8}|b?'(?:\\.?[^']{0,10}|[^\\'\n\x80-\xff]|[\x80-\xff]{1,4})?",
)  # fmt: skip
_JSON = Lexicon(strings=(StringRule('"', '"'),), line_comments=("//",), block_comments=_SLASHES)
_SQL = Lexicon(
    strings=tuple(StringRule(quote, quote, escapes=False, lines=True) for quote in "'\"`"),
    line_comments=("--",),
    block_comments=_SLASHES,
    operators=("<=", ">=", "<>", "!=", "||", "::", ":="),
)
_PLAIN = Lexicon(strings=_QUOTES, operators=_C_OPERATORS)

_LEXICONS = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _CPP,
    "sql": _SQL,
    "json": _JSON,
}

KEYWORDS = frozenset(
    b"""
    False None True and as assert async await break class continue def del elif else except finally for
    from global if import in is lambda match case nonlocal not or pass raise return try while with yield
    self cls super let var const function new this typeof instanceof void null undefined true false
    export default extends implements interface enum type switch do throw catch of delete static public
    private protected readonly abstract final package func go defer chan map range struct select
    fallthrough goto nil fn pub mut impl trait use mod crate ref move where loop dyn unsafe Self int
    char float double long short unsigned signed bool boolean auto register volatile extern inline
    sizeof typedef union namespace template typename using virtual override operator friend constexpr
    nullptr throws synchronized str bytes list dict set tuple object string number any never usize isize
    i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 size_t String Some Ok Err SELECT FROM WHERE INSERT INTO VALUES
    UPDATE SET DELETE CREATE TABLE PRIMARY KEY NOT NULL DEFAULT REFERENCES JOIN LEFT INNER ON GROUP BY
    ORDER HAVING AS AND OR INTEGER TEXT VARCHAR INDEX UNIQUE FOREIGN LIMIT len print enumerate
    isinstance zip sorted sum min max abs all open
    """.split()
)
"""Words that motifs and drafts treat as part of the language, of all languages together."""


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of `language`; of an unknown one, what most have in common."""
    return _LEXICONS.get(language, _PLAIN)
