"""Syntax rules of HTML."""

from __future__ import annotations

from velospec.proposers.syntax_rules.base import Language, Lexis, Rule

_ON_ONE_LINE = (
    *("a", "b", "em", "strong", "span", "p", "li", "td", "th", "h1", "h2", "h3", "h4", "title", "label"),
    *("button", "option", "script", "small", "code"),
)

HTML = Language(
    name="html",
    rules=(
        Rule(r"<!DOCTYPE", ' html>\n<html lang="en">\n<head>\n\t<meta charset="', 0.8),
        Rule(r"<!doctype", " html>\n<html", 0.8),
        Rule(r"<html", ' lang="', 0.8),
        Rule(r"^<head", ">\n\t", 0.9),
        Rule(r"<meta charset", '="UTF-8">\n', 0.46),
        Rule(r"<meta", ' name="', 0.95),
        Rule(r'<meta name=""', ' content="', 0.87),
        Rule(r"<link", ' rel="stylesheet" href="', 0.86),
        Rule(r'<link rel=""', ' href="', 0.68),
        Rule(r"^</head", ">\n<body>\n\t", 0.9),
        Rule(r"^</body", ">\n</html>", 0.95),
        Rule(r"^</html", ">", 0.98),
        Rule(r"<a", ' href="', 0.65),
        Rule(r"<img", ' src="', 0.29),
        Rule(r'<img src=""', ' alt="', 0.9),
        Rule(r"<div", ' class="', 0.94),
        Rule(r"<script", ' src="', 0.42),
        Rule(r'<script src=""', "></script>\n", 0.7),
        Rule(r"<label", ' for="', 0.96),
        Rule(r"<input", ' type="', 0.96),
        Rule(r'<input type=""', ' id="', 0.91),
        Rule(r'<input type="" id=""', ' name="', 0.96),
        Rule(r"<form", ' action="', 0.6),
        Rule(r'<form action=""', ' method="', 0.9),
        Rule(r"<button", ' type="', 0.22),
        Rule(r"^<(ul|ol|table|tr|thead|tbody|nav|header|footer|main|section|head|body)", ">\n\t", 0.46),
        Rule(r"^<(ul|ol|table|tr|thead|tbody|nav|header|footer|main|section)>", "\n\t<", 0.7),
        Rule(r"^<ul>\t?", "\n\t<li>", 0.51),
        *(Rule(rf"<{tag}( [^\n<>]*)?>[^\n<>]*<", f"/{tag}>\n", 0.8) for tag in _ON_ONE_LINE),
        *(Rule(rf"<{tag}( [^\n<>]*)?>[^\n<>]*</", f"{tag}>\n", 0.95) for tag in _ON_ONE_LINE),
        Rule(r"^<[^\n]*</\w+>", "\n", 0.29),
    ),
    lexis=Lexis(
        quotes="",
        blocks=(('="', '"', False), ("='", "'", False)),
        block_comments=(("<!--", "-->"),),
        joining="",
    ),
    unit="  ",
)
