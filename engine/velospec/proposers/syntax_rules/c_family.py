"""Syntax rules of C and, on top of them, C++."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

_LEXIS = Lexis(line_comments=("//",), block_comments=(("/*", "*/"),), joining="()[]")

_RULES = (
    Rule(r"^#include", " <", 0.56),
    Rule(r"^#include <{name}", ".h>\n", 0.53),
    Rule(r"^#ifndef {name}", "\n#define ", 0.48),
    Rule(r"^int main", "(", 0.95),
    Rule(r"^int main\([^\n]*\)", "\n{\n\t", 0.5),
    Rule(r"^(if|while|for|switch)", " (", 0.97),
    Rule(r"^for \(int i", " = 0; i < ", 0.97),
    Rule(r"^for \(([^\n;]* )?i = 0; i < [^\n;]*;", " i++)", 0.79),
    Rule(r"^for", " (int i = 0; i < ", 0.75),
    Rule(r"^(\} else )?(if|while|for|switch) \([^\n]*\)", " {\n\t", 0.84),
    Rule(r"^(\} )?else", " {\n\t", 0.79),
    Rule(r"^do", " {\n\t", 0.9),
    Rule(r"^[^\n=]*[)\w] \{", "\n\t", 0.91),
    Rule(r"^\{", "\n\t", 0.42),
    Rule(r"^typedef (struct|enum|union)", " {\n\t", 0.7),
    Rule(r"\b(sizeof|malloc|free|printf|strlen|memcpy|calloc|fprintf|strcmp|realloc)", "(", 0.81),
    Rule(r"\b(printf)\(", '"', 0.9),
    Rule(r"\bfprintf\(", 'stderr, "', 0.89),
    Rule(r"\bmalloc\(", "sizeof(", 0.6),
    Rule(r"^if \({path} == NULL", ") {\n\t", 0.96),
    Rule(r"^return (1|-1|true|false|nullptr)", ";\n", 0.53),
    Rule(r"^return (0|NULL)", ";\n\b}\n", 0.8),
    Rule(r"^(break|continue)", ";\n", 0.56),
    Rule(r"^case [^\n:]*:", "\n\t", 0.36),
    Rule(r"^default", ":\n\t", 0.76),
    Rule(r"[\w\")\]];", "\n", 0.48),
)

_PLUS_PLUS = (
    Rule(r"^(public|private|protected)", ":\n\t", 0.9),
    Rule(r"^using namespace", " std;\n", 0.9),
    Rule(r"\bstd", "::", 0.97),
    Rule(r"\bstd::(vector|map|set|unordered_map|unique_ptr|shared_ptr|pair|optional)", "<", 0.96),
    Rule(r"\bstd::cout", " << ", 0.9),
    Rule(r"<< std", "::endl;\n", 0.8),
    Rule(r"<< std::endl", ";\n", 0.95),
    Rule(r"^template", " <typename T>\n", 0.67),
    Rule(r"^for \((const )?auto ?& ?{name}", " : ", 0.8),
    Rule(r"^class {name}", " {\n", 0.6),
    Rule(r"^class {name} \{", "\npublic:\n\t", 0.7),
    Rule(r"^namespace {name}", " {\n", 0.7),
    Rule(r"\.(size|begin|end|empty|length|back|front|pop_back|clear|c_str)", "()", 0.47),
    Rule(r"\.(push_back|insert|emplace_back|find|at)", "(", 0.58),
    Rule(r"\b(static_cast|dynamic_cast|reinterpret_cast|const_cast|make_unique|make_shared)", "<", 0.97),
    Rule(r"^[^\n]*\) const", " {\n\t", 0.8),
    Rule(r"^throw", " std::", 0.84),
)

C = Language("c", _RULES, _LEXIS)
CPP = Language("cpp", (*_PLUS_PLUS, *_RULES), _LEXIS)
