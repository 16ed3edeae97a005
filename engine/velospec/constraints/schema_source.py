"""A JSON Schema in any of the forms that people give one in becomes JSON text.

Whether it is a good schema is the business of `schema`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from velospec.core.checks import described, json_text
from velospec.core.errors import SettingsError

Schema = Mapping[str, Any] | bool | str | Path
"""A JSON Schema: as Python values, as JSON text, or as the path of a file with it."""

_JSON = re.compile(r"\s*(\{|(true|false)\s*\Z)")  # what begins so is no path
_FORMS = "Give the schema as a dict, as JSON text, or the path of a file with it."
_BOM = "\ufeff"
_LONGEST_SHOWN = 60  # characters of a text that is neither


def schema_text(schema: Schema) -> str:
    """The JSON text of `schema`; a byte order mark is left out.

    Raises SettingsError where it has no such form, or names a file that cannot be read.
    """
    given: object = schema  # callers are not always checked for types
    if isinstance(given, str):
        return _text_of(given.removeprefix(_BOM))
    if isinstance(given, Path):
        return _read(given)
    if isinstance(given, Mapping | bool):
        return json_text("The JSON Schema", given)
    raise SettingsError(f"A JSON Schema is an object, true or false, not {described(given)}.", _FORMS)


def _text_of(text: str) -> str:
    if _JSON.match(text):
        return text
    if not text.strip():
        raise SettingsError("An empty text is no JSON Schema.", _FORMS)
    if _is_json(text) and not _is_file(text):
        raise SettingsError(f"{_shown(text)} is JSON, but a JSON Schema is an object, true or false.", _FORMS)
    return _read(Path(text))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # nothing that names a file
        return False


def _read(file: Path) -> str:
    try:
        return file.expanduser().read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"The schema {file} is not text in UTF-8.", "Save it as UTF-8.") from error
    except (OSError, ValueError, RuntimeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise SettingsError(f"The schema {_shown(str(file))} cannot be read: {why}.", _FORMS) from error


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
