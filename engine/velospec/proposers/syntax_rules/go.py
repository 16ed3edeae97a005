"""Syntax rules of Go."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

GO = Language(
    name="go",
    rules=(
        Rule(r"^package", " main\n", 0.5),
        Rule(r"^import", ' (\n\t"', 0.8),
        Rule(r"^(type|\}) {name} struct", " {\n\t", 0.97),
        Rule(r"^type {name} interface", " {\n\t", 0.95),
        Rule(r"^type {name}", " struct {\n\t", 0.94),
        Rule(r"^func \({name} \*?{name}\)", " ", 0.5),
        Rule(r"^func main", "() {\n\t", 0.95),
        Rule(r"^func Test{name}", "(t *testing.T) {\n\t", 0.9),
        Rule(
            r"^func (\([^\n()]*\) )?{name}\([^\n()]*\) (error|bool|int|string|\*{path}|{path})", " {\n\t", 0.7
        ),
        Rule(r"^func (\([^\n()]*\) )?{name}\([^\n()]*\) \([^\n()]*\)", " {\n\t", 0.97),
        Rule(r"^func (\([^\n()]*\) )?{name}\([^\n()]*\)", " {\n\t", 0.72),
        Rule(r"^(func|if|for|switch|type|\} else|select|\} else if)[^\n]*\{", "\n\t", 0.97),
        Rule(r"^if err", " != nil {\n\treturn ", 0.9),
        Rule(r"^if err := [^\n;]*;", " err != nil {\n\treturn ", 0.95),
        Rule(r"^if [^\n]* (!=|==) nil", " {\n\t", 0.95),
        Rule(r"^if [^\n]* (==|!=|<|>|<=|>=) (\d+|{path})", " {\n\t", 0.5),
        Rule(r"^\} else", " {\n\t", 0.7),
        Rule(r"^for _, {name}", " := range ", 0.95),
        Rule(r"^for {name}, {name}", " := range ", 0.9),
        Rule(r"^for i", " := 0; i < ", 0.8),
        Rule(r"^for i := 0; i < [^\n;]*;", " i++ {\n\t", 0.95),
        Rule(r"^for [^\n]* := range {path}", " {\n\t", 0.6),
        Rule(r"^{name}, err", " := ", 0.9),
        Rule(r"^{name}, ok", " := ", 0.9),
        Rule(r"^[^\n]*, err := [^\n]*\)", "\nif err != nil {\n\treturn ", 0.8),
        Rule(r"^err := [^\n]*\)", "\nif err != nil {\n\treturn ", 0.7),
        Rule(r"^return nil, err", "\n\b}\n", 0.8),
        Rule(r"^return (nil|err|true|false)", "\n\b}\n", 0.95),
        Rule(r"^defer {path}", "()\n", 0.4),
        Rule(r"\b(make|append|len|cap|panic|string|errors.New|fmt.Errorf|fmt.Println|fmt.Printf)", "(", 0.25),
        Rule(r"\b(fmt|errors|strings|os|json|http|time|sync|strconv|t)", ".", 0.89),
        Rule(r"\bmake\(chan {name}", ")\n", 0.5),
        Rule(r"\bmap", "[string]", 0.7),
        Rule(r"\bgo func", "() {\n\t", 0.9),
        Rule(r"^case [^\n]*:", "\n\t", 0.9),
        Rule(r"^default", ":\n\t", 0.76),
    ),
    lexis=Lexis(
        blocks=(("`", "`", False),), line_comments=("//",), block_comments=(("/*", "*/"),), joining="()[]"
    ),
    unit="\t",
)
