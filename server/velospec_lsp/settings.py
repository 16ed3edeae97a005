"""Settings: what a client sends (options, all optional) made into complete, checked values.

A field that is wrong keeps its default and yields one problem that names the field, the value and what is
allowed; the other fields count. Adding a field to `Settings` and a rule to `_RULES` is all a setting needs.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from velospec_lsp.gitignore import well_formed

SECTION = "velospec"
"""Name of the section in a client's configuration."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """An entry of `jsonSchemas`: which documents have the schema in the file `path`.

    Those that the .gitignore patterns `file_match` cover, and those whose `$schema` is `url`.
    """

    path: str
    file_match: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Complete settings. docs/settings.md describes each; the names there are those here in camelCase."""

    enabled: bool = True
    model: str = ""
    completion: str = "auto"
    multiline: bool | tuple[str, ...] = True
    max_lines: int = 12
    max_tokens: int = 96
    min_confidence: int = 20
    budget_ms: int = 1500
    manual_budget_ms: int = 5000
    prefix_chars: int = 4000
    suffix_chars: int = 1600
    speculate: bool = True
    offer_model: bool = True
    learn: bool = True
    disabled_languages: tuple[str, ...] = ()
    disabled_scopes: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file_kb: int = 1024
    json_schemas: tuple[JsonSchema, ...] = ()

    def several_lines(self, language: str) -> bool:
        """Whether a completion in documents of that language may have more than one line."""
        return self.multiline if isinstance(self.multiline, bool) else language in self.multiline


@dataclass(frozen=True, slots=True)
class Rule:
    """What a field takes: `parse` returns the value, or None where the raw value is not allowed."""

    allowed: str
    parse: Callable[[Any], Any]


def _flag() -> Rule:
    return Rule("true or false", lambda raw: raw if isinstance(raw, bool) else None)


def _number(low: int, high: int) -> Rule:
    def parse(raw: Any) -> int | None:
        # JSON has one number type, and some clients (Lua) send whole numbers as floats.
        number = isinstance(raw, int | float) and not isinstance(raw, bool)
        whole = number and float(raw).is_integer()
        return int(raw) if whole and low <= raw <= high else None

    return Rule(f"a whole number from {low} to {high}", parse)


def _choice(*names: str) -> Rule:
    return Rule(
        " or ".join(f'"{name}"' for name in names),
        lambda raw: raw if isinstance(raw, str) and raw in names else None,
    )


def _names() -> Rule:
    def parse(raw: Any) -> tuple[str, ...] | None:
        # An empty table of Lua arrives as an empty object.
        if raw == {}:
            return ()
        right = isinstance(raw, list) and all(isinstance(item, str) and item for item in raw)
        return tuple(raw) if right else None

    return Rule("a list of strings", parse)


def _names_of(*allowed: str) -> Rule:
    names = _names()

    def parse(raw: Any) -> tuple[str, ...] | None:
        value: tuple[str, ...] | None = names.parse(raw)
        return value if value is not None and set(value) <= set(allowed) else None

    return Rule("a list of " + ", ".join(f'"{name}"' for name in allowed), parse)


def _flag_or_names() -> Rule:
    flag, names = _flag(), _names()

    def parse(raw: Any) -> bool | tuple[str, ...] | None:
        value: bool | tuple[str, ...] | None = flag.parse(raw) if isinstance(raw, bool) else names.parse(raw)
        return value

    return Rule("true, false or a list of language ids", parse)


def _patterns() -> Rule:
    names = _names()

    def parse(raw: Any) -> tuple[str, ...] | None:
        value: tuple[str, ...] | None = names.parse(raw)
        return value if value is not None and all(map(well_formed, value)) else None

    return Rule("a list of .gitignore patterns", parse)


def _json_schemas() -> Rule:
    patterns = _patterns()

    def entry(raw: Any) -> JsonSchema | None:
        if not isinstance(raw, dict) or not raw.keys() <= {"fileMatch", "path", "url"}:
            return None
        path, url, match = raw.get("path"), raw.get("url", ""), patterns.parse(raw.get("fileMatch", []))
        if not isinstance(path, str) or not isinstance(url, str) or match is None:
            return None
        return JsonSchema(path, match, url) if path and (match or url) else None

    def parse(raw: Any) -> tuple[JsonSchema, ...] | None:
        entries = [entry(item) for item in raw] if isinstance(raw, list) else [None] if raw != {} else []
        return None if None in entries else tuple(filter(None, entries))

    return Rule(
        'a list of objects with "path" and "fileMatch" (.gitignore patterns), "url" or both',
        parse,
    )


_RULES: dict[str, Rule] = {
    "enabled": _flag(),
    "model": Rule(
        "the name of an installed model, or an empty string",
        lambda raw: raw if isinstance(raw, str) else None,
    ),
    "completion": _choice("auto", "always", "never"),
    "multiline": _flag_or_names(),
    "max_lines": _number(1, 100),
    "max_tokens": _number(1, 1024),
    "min_confidence": _number(0, 100),
    "budget_ms": _number(50, 60_000),
    "manual_budget_ms": _number(50, 60_000),
    "prefix_chars": _number(100, 100_000),
    "suffix_chars": _number(0, 100_000),
    "speculate": _flag(),
    "offer_model": _flag(),
    "learn": _flag(),
    "disabled_languages": _names(),
    "disabled_scopes": _names_of("comment", "string"),
    "exclude": _patterns(),
    "max_file_kb": _number(1, 1024),  # settings can only exclude more than the default does
    "json_schemas": _json_schemas(),
}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


_FIELDS = {_camel(field.name): field.name for field in fields(Settings)}


def parse_settings(options: Any, base: Settings | None = None) -> tuple[Settings, list[str]]:
    """`base` (the defaults if None) with `options` laid over it, and the problems, one sentence each.

    `options` is what a client sent: an object by setting name, or null. An object whose only key is the
    section's name is taken as that section, since some clients send it so.
    """
    settings = base or Settings()
    if options is None or options == []:  # an empty table of Lua may arrive as an empty list
        return settings, []
    if not isinstance(options, dict):
        return settings, [f"The settings are {_shown(options)}, but must be an object."]
    if set(options) == {SECTION}:
        return parse_settings(options[SECTION], base)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, raw in options.items():
        name = _FIELDS.get(key)
        if name is None:
            problems.append(_unknown(key))
        elif raw is not None:  # null means: not set
            value = _RULES[name].parse(raw)
            if value is None:
                default = _shown(getattr(settings, name))
                problems.append(
                    f"Setting {SECTION}.{key} is {_shown(raw)}, but must be {_RULES[name].allowed}; "
                    f"{default} is used."
                )
            else:
                values[name] = value
    return replace(settings, **values), problems


def _unknown(key: str) -> str:
    close = difflib.get_close_matches(key, _FIELDS, n=1)
    hint = f" Did you mean {SECTION}.{close[0]}?" if close else f" Known are {', '.join(_FIELDS)}."
    return f"There is no setting {SECTION}.{key[:60]}.{hint}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else text[:57] + "..."
