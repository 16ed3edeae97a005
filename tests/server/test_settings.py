"""Settings: every field is checked by itself, and each problem says what is allowed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from velospec_lsp.settings import _FIELDS, JsonSchema, Settings, parse_settings

ENTRIES = 'a list of objects with "path" and "fileMatch" (.gitignore patterns), "url" or both'


@pytest.mark.parametrize("options", [None, {}, [], {"velospec": {}}, {"velospec": None}, {"enabled": None}])
def test_nothing_sent_means_the_defaults(options: Any) -> None:
    assert parse_settings(options) == (Settings(), [])


def test_good_values_of_every_field() -> None:
    options = {
        "enabled": False,
        "model": "qwen",
        "completion": "always",
        "multiline": False,
        "maxLines": 4.0,
        "maxTokens": 8,
        "minConfidence": 60,
        "budgetMs": 900,
        "manualBudgetMs": 9000,
        "prefixChars": 500,
        "suffixChars": 0,
        "speculate": False,
        "offerModel": False,
        "learn": False,
        "disabledLanguages": ["text"],
        "disabledScopes": ["comment", "string"],
        "exclude": ["*.gen.py", "!x"],
        "maxFileKb": 10,
        "jsonSchemas": [
            {"path": "a.json", "fileMatch": ["b.json"]},
            {"path": "c.json", "url": "https://d"},
        ],
    }
    settings, problems = parse_settings(options)
    assert problems == []
    assert settings == Settings(
        enabled=False,
        model="qwen",
        completion="always",
        multiline=False,
        max_lines=4,
        max_tokens=8,
        min_confidence=60,
        budget_ms=900,
        manual_budget_ms=9000,
        prefix_chars=500,
        suffix_chars=0,
        speculate=False,
        offer_model=False,
        learn=False,
        disabled_languages=("text",),
        disabled_scopes=("comment", "string"),
        exclude=("*.gen.py", "!x"),
        max_file_kb=10,
        json_schemas=(JsonSchema("a.json", ("b.json",)), JsonSchema("c.json", (), "https://d")),
    )
    assert set(options) == set(_FIELDS), "a new setting belongs in this test"
    assert all(getattr(settings, field.name) != getattr(Settings(), field.name) for field in fields(Settings))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("enabled", 1, "is 1, but must be true or false; true is used."),
        ("maxLines", True, "is true, but must be a whole number from 1 to 100; 12 is used."),
        ("maxLines", 2.5, "is 2.5, but must be a whole number from 1 to 100; 12 is used."),
        ("maxLines", 0, "is 0, but must be a whole number from 1 to 100; 12 is used."),
        ("maxLines", float("inf"), "is inf, but must be a whole number from 1 to 100; 12 is used."),
        ("maxFileKb", 9999, "is 9999, but must be a whole number from 1 to 1024; 1024 is used."),
        ("completion", "yes", 'is "yes", but must be "auto" or "always" or "never"; "auto" is used.'),
        ("model", 5, 'is 5, but must be the name of an installed model, or an empty string; "" is used.'),
        ("exclude", "*.py", 'is "*.py", but must be a list of .gitignore patterns; [] is used.'),
        ("exclude", ["!"], "is ['!'], but must be a list of .gitignore patterns; [] is used."),
        *(
            ("jsonSchemas", wrong, f"is {wrong}, but must be {ENTRIES}; [] is used.")
            for wrong in ([{}], [{"path": "a"}], [{"url": "u"}], [{"path": "a", "fileMatch": "b"}], {"a": 1})
        ),
        ("disabledLanguages", [1], "is [1], but must be a list of strings; [] is used."),
    ],
)
def test_a_wrong_value_keeps_the_default_and_is_explained(key: str, value: Any, said: str) -> None:
    settings, problems = parse_settings({key: value, "maxTokens": 7})
    assert settings == Settings(max_tokens=7)
    assert problems == [f"Setting velospec.{key} {said}"]


def test_unknown_names() -> None:
    assert parse_settings({"max_lines": 3})[1] == [
        "There is no setting velospec.max_lines. Did you mean velospec.maxLines?"
    ]
    [problem] = parse_settings({"qqq": 3})[1]
    assert problem.startswith("There is no setting velospec.qqq. Known are enabled, model, ")


@pytest.mark.parametrize("options", [5, "x", True, [1]])
def test_what_is_no_object_is_said(options: Any) -> None:
    settings, [problem] = parse_settings(options)
    assert settings == Settings()
    assert problem.endswith("but must be an object.")


def test_later_settings_lie_over_the_initial_ones() -> None:
    initial, _ = parse_settings({"maxLines": 3, "maxTokens": 5})
    assert parse_settings({"maxLines": 4}, initial)[0] == Settings(max_lines=4, max_tokens=5)
    assert parse_settings({"maxLines": "x"}, initial) == (
        initial,
        ['Setting velospec.maxLines is "x", but must be a whole number from 1 to 100; 3 is used.'],
    )


def test_the_page_names_every_setting_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    for key, name in _FIELDS.items():
        value = getattr(Settings(), name)
        shown = {True: "true", False: "false", (): "[]", "": '""'}.get(value, f'"{value}"')
        shown = str(value) if isinstance(value, int) and not isinstance(value, bool) else shown
        assert f"| `{key}` | `{shown}` |" in page
