"""Syntax rules of SQL, key words in capitals or not."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

_UPPER = (
    Rule(r"\bCREATE", " TABLE ", 0.8),
    Rule(r"\bCREATE TABLE IF", " NOT EXISTS ", 0.98),
    Rule(r"\bCREATE (TABLE|TABLE IF NOT EXISTS) {path}", " (\n\t", 0.8),
    Rule(r"\bCREATE (UNIQUE )?INDEX {name}", " ON ", 0.9),
    Rule(r"\bDROP TABLE", " IF EXISTS ", 0.8),
    Rule(r"\bINSERT", " INTO ", 0.98),
    Rule(r"\bINSERT INTO {path}", " (", 0.8),
    Rule(r"\bINSERT INTO {path} ?\([^()]*\)", " VALUES (", 0.7),
    Rule(r"\bDELETE", " FROM ", 0.95),
    Rule(r"\bUPDATE {path}", " SET ", 0.8),
    Rule(r"\bSELECT \*", " FROM ", 0.9),
    Rule(r"\bCOUNT", "(*)", 0.8),
    Rule(r"\bGROUP", " BY ", 0.98),
    Rule(r"\bORDER", " BY ", 0.13),
    Rule(r"\bPARTITION", " BY ", 0.98),
    Rule(r"\b(INNER|LEFT|RIGHT|OUTER|CROSS|FULL)", " JOIN ", 0.8),
    Rule(r"\bLEFT OUTER", " JOIN ", 0.95),
    Rule(r"\bJOIN {path} {name}", " ON ", 0.8),
    Rule(r"\bJOIN {path}", " ON ", 0.6),
    Rule(r"\bPRIMARY", " KEY", 0.98),
    Rule(r"\bFOREIGN", " KEY (", 0.95),
    Rule(r"\bFOREIGN KEY \({name}\)", " REFERENCES ", 0.95),
    Rule(r"\bREFERENCES {path}", "(id)", 0.7),
    Rule(r"\bIS", " NOT NULL", 0.5),
    Rule(r"\bNOT", " NULL", 0.97),
    Rule(r"\bNOT NULL", ",\n", 0.97),
    Rule(r"\bPRIMARY KEY", ",\n", 0.76),
    Rule(r"\bDEFAULT CURRENT", "_TIMESTAMP", 0.97),
    Rule(r"\bON DELETE", " CASCADE", 0.8),
    Rule(r"\bVARCHAR", "(", 0.95),
    Rule(r"\bVARCHAR\(\d+\)", " NOT NULL", 0.6),
    Rule(r"\bDECIMAL", "(10, 2)", 0.7),
    Rule(r"\bBETWEEN {path}", " AND ", 0.8),
    Rule(r"\bCASE", " WHEN ", 0.9),
    Rule(r"\bUNION", " ALL\n", 0.5),
    Rule(r"\bALTER", " TABLE ", 0.95),
    Rule(r"\bALTER TABLE {path}", " ADD ", 0.7),
)


def _lower(rule: Rule) -> Rule:
    """The rule with its key words in lower case, escapes and abbreviations as they are."""
    return Rule(rule.left.lower(), rule.text.lower(), rule.prior)


SQL = Language(
    name="sql",
    rules=(*_UPPER, *map(_lower, _UPPER)),
    lexis=Lexis(line_comments=("--",), block_comments=(("/*", "*/"),), joining=""),
)
