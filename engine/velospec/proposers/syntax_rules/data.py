"""Syntax rules of JSON."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

JSON = Language(
    name="json",
    rules=(
        Rule(r'[{,^]""', ": ", 0.9),
        Rule(r'[{,] ?""', ": ", 0.9),
        Rule(r'^""', ": ", 0.8),
        Rule(r'^"":', " ", 0.8),
        Rule(r'^"": (""|true|false|null|\d+)', ',\n"', 0.88),
        Rule(r'^"": (""|true|false|null|\d+),', '\n"', 0.97),
        Rule(r'^"": \{', '\n\t"', 0.93),
        Rule(r'^"": \[', '\n\t{\n\t"', 0.82),
        Rule(r"^\{", '\n\t"', 0.95),
        Rule(r"^\[", '\n\t{\n\t"', 0.6),
        Rule(r"^[}\]],", '\n"', 0.93),
        Rule(r'[^\n]\{"": ("[^\n]*"|\w+),', ' "', 0.97),
        Rule(r"^\{[^\n]*\},", '\n{"', 0.97),
        Rule(r'^"": (""|true|false|null|\d+)\n?', "\n\b}", 0.45),
    ),
    lexis=Lexis(quotes='"', joining=""),
    unit="  ",
)
