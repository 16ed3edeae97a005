"""The calls by which the chat model edits: the JSON Schemas that bind its answers, and how those are read.

An answer is one call, `{"name": ..., "arguments": {...}}`, written as Python's json.dumps writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from velospec_lsp.encoding import whole_characters

Schema = dict[str, Any]

SUMMARY_LENGTH, LINE_LENGTH = 160, 100  # characters
NAMES = 3  # suggestions, since the first is often taken or no better


class RefusedError(Exception):
    """An edit that does not apply; the text is one sentence for the user.

    `suggestion` is what the model proposed all the same, such as a name.
    """

    def __init__(self, reason: str, suggestion: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.suggestion = suggestion


def code_call(name: str) -> Schema:
    """A call with a piece of code: `replace` for a passage, `insert` for a place."""
    return _call(name, {"code": {"type": "string", "minLength": 1}})


def documentation_call(parameters: Sequence[str], *, returns: bool) -> Schema:
    """`document`: a summary, a line for each parameter, and one on the result where there is one."""
    line = {"type": "string", "minLength": 4, "maxLength": LINE_LENGTH}
    said: Schema = {"summary": {"type": "string", "minLength": 8, "maxLength": SUMMARY_LENGTH}}
    if parameters:
        said["parameters"] = _object(dict.fromkeys(parameters, line))
    if returns:
        said["returns"] = line
    return _call("document", said)


def rename_call(pattern: str) -> Schema:
    """`rename`: names, the best first, each of which obeys `pattern`."""
    name = {"type": "string", "pattern": f"^{pattern}$"}
    return _call("rename", {"names": {"type": "array", "items": name, "minItems": NAMES, "maxItems": NAMES}})


def write_call(name: str, arguments: dict[str, Any]) -> str:
    """A call in the form of an answer, to show the model what is there already in the words it will use."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def read_call(text: str) -> dict[str, Any]:
    """The arguments of the call `text`. Raises RefusedError where it is none."""
    try:
        call = json.loads(whole_characters(text))
    except (ValueError, RecursionError):
        call = None
    arguments = call.get("arguments") if isinstance(call, dict) else None
    if not isinstance(arguments, dict):
        raise RefusedError("The model's answer is no call.")
    whole: dict[str, Any] = json.loads(whole_characters(json.dumps(arguments, ensure_ascii=False)))
    return whole


def text_of(arguments: dict[str, Any], name: str) -> str:
    """The argument `name`, a string; empty if it is missing or something else."""
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def _call(name: str, arguments: Schema) -> Schema:
    return _object({"name": {"const": name}, "arguments": _object(arguments)})


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
