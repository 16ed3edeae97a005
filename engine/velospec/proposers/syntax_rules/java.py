"""Syntax rules of Java."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

JAVA = Language(
    name="java",
    rules=(
        Rule(r"^import java", ".util.", 0.8),
        Rule(
            r"^import [\w.]*(List|ArrayList|Map|HashMap|Set|HashSet|Arrays|Optional|Scanner|IOException)",
            ";\n",
            0.9,
        ),
        Rule(r"^(public |final |abstract )*(class|interface|enum) {name}", " {\n\t", 0.5),
        Rule(r"\bextends {name}", " {\n\t", 0.6),
        Rule(r"^public static void main", "(String[] args) {\n\t", 0.95),
        Rule(r"^public static void", " main(String[] args) {\n\t", 0.6),
        Rule(r"^@Override", "\npublic ", 0.95),
        Rule(r"^@Test", "\npublic void ", 0.8),
        Rule(r"^public String toString", "() {\n\treturn ", 0.95),
        Rule(r"^public boolean equals", "(Object o", 0.9),
        Rule(r"^public int hashCode", "() {\n\treturn ", 0.95),
        Rule(r"^(public|private|protected)[^\n;={}]*\)", " {\n\t", 0.97),
        Rule(r"^[^\n=]*[)\w] \{", "\n\t", 0.91),
        Rule(r"^\w+ (get|is)[A-Z]\w*", "() {\n\treturn ", 0.5),
        Rule(r"^public [^\n]* (get|is|size)[A-Z]*\w*", "() {\n\treturn ", 0.6),
        Rule(r"^(if|while|for|switch)", " (", 0.97),
        Rule(r"^\} (else)", " {\n\t", 0.6),
        Rule(r"^\} catch", " (", 0.95),
        Rule(r"^\} catch \({name}", " e) {\n\t", 0.9),
        Rule(r"^\} catch \({name} e\) \{", "\n\te.printStackTrace();\n", 0.5),
        Rule(r"^(try|else|do|finally)", " {\n\t", 0.8),
        Rule(r"^(\} else )?(if|while|for) \([^\n]*\)", " {\n\t", 0.74),
        Rule(r"^for \(int i", " = 0; i < ", 0.97),
        Rule(r"^for \(int i = 0; i < [^\n;]*;", " i++) {\n\t", 0.95),
        Rule(r"^for", " (int i = 0; i < ", 0.75),
        Rule(r"^throw", " new ", 0.95),
        Rule(r"\bnew {name}(Exception|Builder)", "(", 0.9),
        Rule(r"\bnew (ArrayList|HashMap|HashSet|LinkedList|ArrayDeque)", "<>();\n", 0.8),
        Rule(r"\b(List|Map|Set|Optional|ArrayList|HashMap|Queue|Deque)", "<", 0.8),
        Rule(r"\bMap<String", ", ", 0.9),
        Rule(r"^System", ".out.println(", 0.9),
        Rule(r"^this", ".", 0.95),
        Rule(r"\bthis", ".", 0.7),
        Rule(r"^this.{name} = {name}", ";\n", 0.6),
        Rule(r"^return (true|false|null|this|\d+)", ";\n", 0.9),
        Rule(r"^(break|continue)", ";\n", 0.56),
        Rule(r"\.(size|length|isEmpty|toString|hashCode|iterator)", "()", 0.7),
        Rule(r"\.(add|put|get|remove|contains|equals|append|println)", "(", 0.9),
        Rule(r"^private final [\w<>, ]+ {name}", ";\n", 0.57),
        Rule(r"[\w\")\]];", "\n", 0.48),
    ),
    lexis=Lexis(
        blocks=(('"""', '"""', True),), line_comments=("//",), block_comments=(("/*", "*/"),), joining="()[]"
    ),
)
