"""Tells the language of a text: by the file's name where it has one, else by what the text contains.

Each language has marks, patterns that its texts contain and others seldom do; the language whose marks weigh
most wins, unless they weigh little or another's weigh nearly as much: then the text is generic. Looks at the
start and the end of a text only, once per request.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePath

GENERIC = ""
"""The domain of texts in no language that has rules."""

_EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c",
    "cpp": "cpp cc cxx hpp hh hxx h++ c++ ipp inl",
    "sql": "sql ddl",
    "html": "html htm xhtml",
    "json": "json jsonc geojson webmanifest ipynb",
}
_BY_EXTENSION = {"." + ending: name for name, endings in _EXTENSIONS.items() for ending in endings.split()}
_INTERPRETERS = (("python", "python"), ("node", "javascript"), ("deno", "typescript"), ("bun", "typescript"))
_LOOKED_AT = 2000  # characters at the start, and as many at the end
_LEAST = 2.0
_MOST_PER_MARK = 3  # occurrences that count
_LINES, _STEP, _STEPS = 10, 0.4, 10  # a longer text has to show more: a step more every so many lines
_LEAD = 1.25  # how much more the best must weigh than the next

_MARKS: dict[str, tuple[tuple[float, str], ...]] = {
    "python": (
        (3, r"^\s*(?:async )?def \w+\(.*(?:\)(?: ?-> ?[^:]+)?:|,)\s*(?:#.*)?$"),
        (3, r"^\s*class \w+(?:\([\w., =\[\]]*\))?:\s*$"),
        (1.5, r"\w=(?:True|False|None)\b|^\s*[a-z_][\w.]* = [a-z_][\w.]*\([^;{]*\)$"),
        (3, r"^from [\w.]+ import [\w*(]"),
        (1.5, r"^import [\w.]+(?: as \w+)?(?:, [\w.]+)*\s*$"),
        (2, r"^\s*(?:elif .+|except(?: [\w.()\[\], ]+)?(?: as \w+)?|try|finally|else):\s*$"),
        (2, r"^\s*(?:if|for|while|with) [^{};]+:\s*$"),
        (2, r"^\s*@(?:property|staticmethod|classmethod|dataclass|pytest\.\w+)"),
        (1.5, r"\bself\.\w+|__\w+__"),
        (1, r"^\s*[a-z_][\w.]*\([^;{}]*\)$"),
        (1, r"^\s*(?:print\(.*\)|raise \w+(?:\(|$)|return (?:None|True|False)$)"),
        (1.5, r"\bfor \w+(?:, \w+)* in [^{;]+[\])]|\blambda \w+(?:, \w+)*:|\bnot in\b|\bis not None\b"),
        (1, r"^\w+(?:: [\w\[\], .|]+)? = (?:\[|\{|\w+\(|[\"'f\d])[^;]*$"),
    ),
    "javascript": (
        (2, r"^\s*(?:const|let|var) (?:\w+|[\[{].*[\]}]) ?= ?"),
        (2, r"\bfunction ?\*? ?\w*\([^)]*\) ?\{"),
        (2, r"=> ?[{(\w\[]"),
        (2, r"^\s*(?:export (?:default|const|function|class|async)|module\.exports)\b"),
        (2, r"^\s*import .* from ['\"]"),
        (2, r"\brequire\(['\"]"),
        (2, r"[!=]==|\bconsole\.\w+\(|\bdocument\.\w+|\bJSON\.|\bnew Promise\("),
        (1, r"\b(?:await|async|this\.\w+|undefined|typeof)\b"),
        (3, r"^\s*constructor\("),
        (2, r"^\s*(?:export (?:default )?)?class \w+(?: extends [\w.]+)? \{\s*$"),
        (1, r"\$\{\w"),
    ),
    "typescript": (
        (3, r"^\s*(?:export )?interface \w+(?:<[^>]*>)?(?: extends [\w, ]+)? \{"),
        (3, r"^\s*(?:export )?type \w+(?:<[^>]*>)? ="),
        (2.5, r"[\w)\]?]: ?(?:string|number|boolean|void|any|unknown|never)\b(?:\[\])?"),
        (2.5, r"\b(?:private|public|protected) (?:readonly )?\w+[:(]|\breadonly \w+:"),
        (2, r"\): ?(?:Promise<|\w+(?:\[\]|<[^>]+>)? ?(?:\{|=>))"),
        (2, r"\bas (?:const|string|number|unknown|any)\b|\bkeyof\b|\bRecord<|\bPartial<"),
        (1, r"\bimplements \w+"),
        (2, r"^\s*(?:export )?(?:declare |const )?enum \w+ \{|^\s*declare "),
        (2, r"^\s*import type "),
        (2, r"^\s*(?:const|let) \w+: ?[\w<>\[\]|{]"),
        (2.5, r"\bfunction \w+<\w|\b(?:Map|Set|Array|Promise|Record)<(?:string|number|boolean|void)\b"),
        (2.5, r"^\s*[A-Z]\w* = (?:\"[^\"]*\"|'[^']*'|\d+),$"),
    ),
    "go": (
        (4, r"^package \w+\s*$"),
        (4, r"^func (?:\(\w+ \*?\w+(?:\[\w+\])?\) )?\w*(?:\[[^\]]*\])?\(.*\{?\s*$"),
        (2.5, r"\w+(?:, \w+)? := "),
        (3, r"\bif err != nil\b|\bfmt\.\w+\(|\berrors\.(?:New|Is|As)\("),
        (3, r"^type \w+ (?:struct|interface|func|map)\b"),
        (2, r"\bchan \w+|<-\s?\w+|\bgo func\(|\bdefer \w+|\bmap\[\w+\]"),
        (3, r"^import \(\s*$|^import \"[\w/.]+\"\s*$"),
        (2, r"\bfor (?:\w+, )?\w+ := range\b|`json:\""),
        (1.5, r"\[\]\w+\{|\bnil\b"),
    ),
    "rust": (
        (3, r"^\s*(?:pub(?:\(\w+\))? )?(?:async |unsafe |const )?fn \w+(?:<[^>]*>)?\("),
        (3, r"^\s*impl(?:<[^>]*>)? [\w:<>', ]+"),
        (2.5, r"\blet mut \w+|\bif let (?:Some|Ok|Err)\(|\bwhile let\b"),
        (3, r"^\s*#!?\[\w+"),
        (2.5, r"^\s*(?:pub )?(?:use|mod) [\w:]+(?:::\{[^}]*\}|::\*)?;|\bcrate::|\bstd::\w+::\{"),
        (5, r"^\s*(?:pub )?use (?:std|crate|super|self)\b"),
        (2.5, r"\b(?:Some|Ok|Err)\(\w*\) => |\bNone => |\b_ => |\bmove \||\(\|[\w, &]*\| "),
        (2.5, r"\b\w+!\(|&mut \w|&self\b|&'\w+ |&str\b"),
        (2, r"\) -> (?:Self|Option<|Result<|&|bool|u\d+|i\d+|usize|String|Vec<)"),
        (2, r"^\s*(?:pub )?(?:enum|struct|trait) \w+(?:<[^>]*>)? \{|\bmatch [\w.&]+ \{"),
        (1.5, r"\.unwrap\(\)|\bSome\(|\bVec<|: (?:u8|u32|u64|i32|i64|usize|f64|f32)\b|\.iter\(\)"),
        (1.5, r"\blet \w+(?:: [^=]+)? = .*;\s*$"),
    ),
    "java": (
        (3, r"^\s*(?:public|private|protected)(?: static)?(?: final)? [\w<>\[\], ]+ \w+ ?(?:\(|=|;)"),
        (2, r"^\s*public (?:final |abstract )?class \w+"),
        (2, r"^\s*(?:public |final |abstract )*(?:class|interface|record|enum) \w+.*\{"),
        (3, r"^\s*for \((?:final )?[A-Z]\w*(?:<[^>]*>)?(?:\[\])* \w+ : "),
        (2, r"\bassert(?:Equals|True|False|Throws|NotNull)\(|\bCollectors\.|\.stream\(\)"),
        (4, r"^import (?:static )?(?:java|javax|org|com)\.[\w.*]+;"),
        (4, r"^package [\w.]+;"),
        (3, r"\bSystem\.out\.|\bpublic static void main\b"),
        (3, r"^\s*@(?:Override|Test|Autowired|Service|Entity|Nullable)\b"),
        (2, r"\bnew \w+<>\(|\b(?:List|Map|Set|Optional|ArrayList)<[A-Z?]"),
        (2, r"^\s*(?:String|int|boolean|double|long|final \w+) \w+ = .*;\s*$"),
        (2, r"\bthrows \w+|\bthrow new \w+\(|\bcatch \(\w+ \w+\)"),
        (1, r"\.(?:equals|length|size|isEmpty|stream)\(\)"),
    ),
    "c": (
        (3, r"^\s*#\s*include\s*[<\"](?:[\w/]+\.h)[>\"]"),
        (2, r"^\s*#\s*(?:define|ifndef|ifdef|endif|if defined|undef)\b"),
        (
            2.5,
            (
                r"^(?:static |extern |inline |const |unsigned )*"
                r"(?:int|void|char|double|size_t|float|long|struct \w+) \*{0,2}\w+\([^;{]*\)?\s*[{;,]?\s*$"
            ),
        ),
        (2.5, r"\b(?:printf|malloc|free|sizeof|strlen|memcpy|fprintf|calloc|strcmp)\s?\("),
        (2.5, r"\w->\w|\bNULL\b|\bstruct \w+ \*|\btypedef (?:struct|enum|union|int|unsigned)"),
        (
            2,
            r"^\s*(?:const )?(?:int|char|float|double|\w+_t) \*{0,2}\w+(?:\[\w*\])*(?: = [^=]+)?[;,]",
        ),
        (2, r"\bfor \((?:size_t|unsigned|i =|int \w+ = \w+; .*\+\+)|\(void\)"),
        (2, r"^\s*struct \w+ \{"),
    ),
    "cpp": (
        (3, r"\bstd::\w+|^using namespace \w+;"),
        (4, r"^\s*#\s*include\s*<(?:iostream|vector|string|map|memory|algorithm|functional)>"),
        (3, r"^\s*template\s*<"),
        (3, r"^\s*(?:public|private|protected):\s*$|^\s*class \w+(?: final)? ?: ?public \w+"),
        (3, r"^namespace \w+|^[\w<>:*& ]*\b\w+::~?\w+\([^)]*\)(?: const)?(?: \{)?$"),
        (3, r"\b(?:nullptr|constexpr|static_cast<|dynamic_cast<|noexcept|virtual|override;)"),
        (2, r"\b(?:cout|cin|endl)\b|\bauto&? \w+ [=:]|const auto&"),
        (2, r"\bvector<|\bconst \w+& \w+|\bunique_ptr<"),
    ),
    "sql": (
        (
            4,
            r"(?i)^\s*(?:select|insert into|delete from|create (?:or replace )?(?:table|index|view))\b",
        ),
        (3, r"(?i)^\s*(?:update \w+(?: \w+)? set\b|update \w+$|alter table\b|drop table\b|with \w+ as \()"),
        (1.5, r"^\s*(?:FROM|WHERE|JOIN|LEFT JOIN|INNER JOIN|HAVING|VALUES|SET)\b [\w(]"),
        (1.5, r"^\s*(?:from \w+(?: \w+)?;?$|where \w+ [=<>]|(?:left |inner )?join \w+)"),
        (2, r"(?i)\b(?:primary key|not null|varchar\(|foreign key|references \w+|group by|order by)\b"),
        (2, r"(?i)^\s*(?:begin|commit|rollback|grant \w+ on|explain|truncate table)\b.*;?\s*$"),
    ),
    "html": (
        (5, r"(?i)<!doctype html|<html\b"),
        (
            2,
            r"(?i)^\s*</?(?:div|p|ul|ol|li|span|a|head|body|table|tr|t[dh]|form|input|nav|h\d)\b[^;{}]*>",
        ),
        (2, r"(?i)<(?:meta|link|script|img|title|button|label|select|option|main|footer|article)\b[^;{}]*>"),
        (1, r"(?i)</\w+>\s*$"),
    ),
    "json": (
        (2.5, r"^\s*\"[\w$ .@/-]+\" ?: ?(?:[\[{]|\"[^\"]*\",?|-?\d[\d.eE+-]*,?|true,?|false,?|null,?)\s*$"),
        (3, r"\A\s*[\[{]\s*(?:\"[\w$ .@/-]+\" ?:|\{\s*\"|\Z)"),
        (0.5, r"^\s*[}\]],?\s*$"),
    ),
}
_BUILDS_ON = {"typescript": "javascript", "cpp": "c"}  # texts of the one carry the marks of the other as well


def detect(path: str, text: str) -> str:
    """The language of a file called `path` (may be empty) that holds `text`, or GENERIC.

    A name that ends in something else than a known ending is believed to be of no known language.
    """
    name = PurePath(path).name.lower()
    ending = PurePath(name).suffix
    if ending in _BY_EXTENSION:
        return _BY_EXTENSION[ending]
    if ending == ".h":
        return "cpp" if _weigh("cpp", text) >= _LEAST else "c"
    if ending and path:
        return GENERIC
    return _by_interpreter(text) or _by_content(text)


def _by_interpreter(text: str) -> str:
    first = text[:80].partition("\n")[0]
    if not first.startswith("#!"):
        return ""
    return next((name for interpreter, name in _INTERPRETERS if interpreter in first), "")


def _by_content(text: str) -> str:
    if len(text) > 2 * _LOOKED_AT:
        text = text[:_LOOKED_AT] + "\n" + text[-_LOOKED_AT:]
    weights = {name: _weigh(name, text) for name in _MARKS}
    for name, base in _BUILDS_ON.items():
        if weights[name] >= _LEAST:
            weights[name] += weights[base]
            weights[base] = 0.0
    best, second = sorted(weights, key=weights.__getitem__, reverse=True)[:2]
    least = _LEAST + min(text.count("\n") // _LINES, _STEPS) * _STEP
    sure = weights[best] >= max(least, _LEAD * weights[second])
    return best if sure else GENERIC


@cache
def _compiled(name: str) -> tuple[tuple[float, re.Pattern[str]], ...]:
    return tuple((weight, re.compile(mark, re.MULTILINE)) for weight, mark in _MARKS[name])


def _weigh(name: str, text: str) -> float:
    """The weight of the marks of `name` in `text`; a mark counts a few times at most, and less each time."""
    total = 0.0
    for weight, mark in _compiled(name):
        for count, _found in zip(range(_MOST_PER_MARK), mark.finditer(text), strict=False):
            total += weight / (count + 1)
    return total
