"""Syntax rules of JavaScript and, on top of them, TypeScript."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

_LEXIS = Lexis(
    blocks=(("`", "`", True),), line_comments=("//",), block_comments=(("/*", "*/"),), joining="()[]"
)

_RULES = (
    Rule(r"^(\} )?else", " {\n\t", 0.82),
    Rule(r"^try", " {\n\t", 0.93),
    Rule(r"^\} (catch|finally)", " (error) {\n\t", 0.73),
    Rule(r"^(\} else )?(if|while|for) \([^\n]*\)", " {\n\t", 0.74),
    Rule(r"^(if|while|for|switch|function|class|async function|export [^\n]*) [^\n]*\{", "\n\t", 0.73),
    Rule(r"^(\w+|async \w+|static \w+|get \w+|set \w+)\([^\n]*\) \{", "\n\t", 0.95),
    Rule(r"=> \{", "\n\t", 0.48),
    Rule(r"\([^\n()]*\) =", "> {\n\t", 0.58),
    Rule(r"^(export )?(default )?(async )?function {name}\([^\n()]*\)", " {\n\t", 0.83),
    Rule(r"^(export )?(default )?class {name}( extends {path})?", " {\n\t", 0.49),
    Rule(r"^for \(let i", " = 0; i < ", 0.9),
    Rule(r"^for \(let i = 0; i < {path};", " i++) {\n\t", 0.9),
    Rule(r"^for \(let i = 0; i < {path}.length", "; i++) {\n\t", 0.9),
    Rule(r"^for", " (let i = 0; i < ", 0.49),
    Rule(r"^(if|while|switch|for|catch)", " (", 0.97),
    Rule(r"\b(this|console|Math|Object|JSON|document|window|module|Array)", ".", 0.84),
    Rule(r"\bconsole.log", "(", 0.95),
    Rule(r"\bmodule.exports", " = ", 0.24),
    Rule(r"\btypeof {path}", " === ", 0.43),
    Rule(r"\.(map|filter|forEach|push|reduce|find|includes|split|join|slice|then|catch)", "(", 0.57),
    Rule(r"^const {name} = require", '("', 0.3),
    Rule(r"^import \{ [^\n{}]* \}", ' from "', 0.54),
    Rule(r"^import \* as {name}", ' from "', 0.9),
    Rule(r"^(const|let|var) {name}", " = ", 0.48),
    Rule(r"^return (true|false|null|this|undefined)", ";\n", 0.22),
    Rule(r"^(break|continue)", ";\n", 0.56),
    Rule(r"\bnew (Map|Set|Error|Promise|Date)", "(", 0.26),
    Rule(r"\bnew Promise\(", "(resolve, reject) => {\n\t", 0.97),
    Rule(r"^throw", " new Error(", 0.49),
    Rule(r"\bthrow new {name}Error", "(", 0.8),
    Rule(r"^constructor", "(", 0.94),
    Rule(r"^super", "(", 0.8),
    Rule(r"^[^\n]*[\w)\]]\)", ";\n", 0.37),
    Rule(r"[^\n]\);", "\n", 0.41),
    Rule(r"[\w\"'\])];", "\n", 0.45),
    Rule(r"^\},?", "\n", 0.28),
)

_TYPED = (
    Rule(r"^(export )?interface {name}( extends {path})?", " {\n\t", 0.35),
    Rule(r"^(export )?type {name}", " = ", 0.8),
    Rule(r"^(export )?enum {name}", " {\n\t", 0.8),
    Rule(r"\): (void|string|number|boolean)", " {\n\t", 0.89),
    Rule(r"\bPromise", "<", 0.6),
    Rule(r"\bimplements {name}", " {\n\t", 0.7),
    Rule(r"\breadonly {name}", ": ", 0.56),
)

JAVASCRIPT = Language("javascript", _RULES, _LEXIS, unit="  ")
TYPESCRIPT = Language("typescript", (*_TYPED, *_RULES), _LEXIS, unit="  ")
