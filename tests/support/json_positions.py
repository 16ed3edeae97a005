"""JSON documents with their schemas, and every kind of place in them where a user may ask for a completion.

A place is made of a valid document by taking out what the user has not written yet. What becomes of it after
a completion is judged here, with jsonschema alone and none of the server's code.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema

_PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "email": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$"},
        "role": {"enum": ["owner", "editor", "reader"]},
    },
    "required": ["name", "role"],
    "additionalProperties": False,
}
_PACKAGE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "definitions": {"person": _PERSON},
    "properties": {
        "$schema": {"type": "string"},
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$", "maxLength": 40},
        "version": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"},
        "private": {"type": "boolean"},
        "license": {"enum": ["MIT", "Apache-2.0", "BSD-3-Clause", "UNLICENSED"]},
        "author": {"$ref": "#/definitions/person"},
        "contributors": {"type": "array", "items": {"$ref": "#/definitions/person"}, "maxItems": 5},
        "scripts": {"type": "object", "additionalProperties": {"type": "string"}},
        "engines": {
            "type": "object",
            "properties": {"node": {"type": "string"}, "npm": {"type": "string"}},
            "additionalProperties": False,
        },
    },
    "required": ["name", "version", "license"],
    "additionalProperties": False,
}
_COMPILER = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "$schema": {"type": "string"},
        "compilerOptions": {
            "type": "object",
            "properties": {
                "target": {"enum": ["es5", "es2020", "es2022", "esnext"]},
                "module": {"enum": ["commonjs", "esnext", "nodenext"]},
                "strict": {"type": "boolean"},
                "outDir": {"type": "string"},
                "rootDir": {"type": "string"},
                "lib": {"type": "array", "items": {"enum": ["dom", "es2020", "es2022"]}, "uniqueItems": True},
                "jsx": {"enum": ["react", "preserve"]},
            },
            "additionalProperties": False,
        },
        "include": {"type": "array", "items": {"type": "string"}},
        "exclude": {"type": "array", "items": {"type": "string"}},
        "extends": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    },
    "additionalProperties": False,
}
_SERVER = {
    "type": "object",
    "properties": {
        "$schema": {"type": "string"},
        "host": {"type": "string"},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "logLevel": {"enum": ["debug", "info", "warning", "error"]},
        "tls": {"$ref": "#/$defs/tls"},
        "routes": {
            "type": "array",
            "minItems": 1,
            "items": {
                "oneOf": [
                    {
                        "properties": {
                            "kind": {"const": "proxy"},
                            "path": {"type": "string"},
                            "target": {"type": "string"},
                        },
                        "required": ["kind", "path", "target"],
                        "additionalProperties": False,
                    },
                    {
                        "properties": {
                            "kind": {"const": "static"},
                            "path": {"type": "string"},
                            "folder": {"type": "string"},
                            "cache": {"type": "boolean"},
                        },
                        "required": ["kind", "path", "folder"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
        "limits": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
    },
    "required": ["host", "port", "routes"],
    "additionalProperties": False,
    "$defs": {
        "tls": {
            "type": "object",
            "properties": {
                "cert": {"type": "string"},
                "key": {"type": "string"},
                "verify": {"type": "boolean"},
            },
            "required": ["cert", "key"],
            "additionalProperties": False,
        }
    },
}

SCHEMAS: dict[str, dict[str, Any]] = {"package": _PACKAGE, "compiler": _COMPILER, "server": _SERVER}

DOCUMENTS: dict[str, tuple[str, str]] = {
    "package.json": (
        "package",
        """{
  "$schema": "package.schema.json",
  "name": "weather-station",
  "version": "1.4.0",
  "license": "MIT",
  "private": true,
  "author": {
    "name": "Ada Martin",
    "email": "ada@example.org",
    "role": "owner"
  },
  "contributors": [
    {"name": "Ben Okafor", "role": "editor"},
    {"name": "Chen Wei", "email": "chen@example.org", "role": "reader"}
  ],
  "scripts": {
    "build": "tsc -p .",
    "test": "node --test",
    "lint": "eslint src"
  },
  "engines": {
    "node": ">=20"
  }
}
""",
    ),
    "compiler.json": (
        "compiler",
        """{
\t"$schema": "compiler.schema.json",
\t"compilerOptions": {
\t\t"target": "es2022",
\t\t"module": "nodenext",
\t\t"strict": true,
\t\t"outDir": "dist",
\t\t"lib": ["dom", "es2022"]
\t},
\t"include": ["src"],
\t"exclude": ["node_modules", "dist"]
}
""",
    ),
    "server.json": (
        "server",
        """{
    "port": 8080,
    "host": "localhost",
    "logLevel": "info",
    "routes": [
        {
            "kind": "proxy",
            "path": "/api",
            "target": "http://localhost:9000"
        },
        {
            "kind": "static",
            "path": "/",
            "folder": "public",
            "cache": true
        }
    ],
    "limits": { "requests": 100, "connections": 20 }
}
""",
    ),
    "service.jsonc": (
        "server",
        """// The service in the test environment.
{
  "$schema": "./server.schema.json",
  "host": "0.0.0.0", // all interfaces
  "port": 443,
  /* Certificates are made
     by the installer. */
  "tls": {
    "cert": "tls/cert.pem",
    "key": "tls/key.pem"
  },
  "routes": [
    { "kind": "static", "path": "/docs", "folder": "docs/build" }
  ]
}
""",
    ),
}
"""File name -> name of its schema, text."""

_MEMBER = re.compile(
    r'(?P<key>"[^"\n]*"): ?'
    r'(?P<value>"(?:[^"\\\n]|\\.)*"|[^\s,"{}\[\]]+|\[[^\[\]{}]*\]|\{[^{}\n]*\})(?P<comma>,?)'
)
_BRACKETS = {"{": "}", "[": "]"}
KINDS = (
    "value", "value, rest of the file missing", "key", "half a key", "half a string", "member", "whole line",
    "behind a value", "rest of the file", "first in a bracket", "value before a bracket", "auto-closed key",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Position:
    """A document with the cursor between `before` and `after`; `kind` is what was taken out there."""

    file: str
    kind: str
    before: str
    after: str

    @property
    def schema(self) -> dict[str, Any]:
        return SCHEMAS[DOCUMENTS[self.file][0]]


def positions(seed: int, each: int) -> list[Position]:
    """`each` positions of every kind in each document where it occurs, the same for the same seed."""
    chosen = random.Random(seed)  # noqa: S311 - test data
    found: list[Position] = []
    for file in DOCUMENTS:
        by_kind: dict[str, list[Position]] = {}
        for position in _all(file):
            by_kind.setdefault(position.kind, []).append(position)
        for kind in KINDS:
            options = by_kind.get(kind, [])
            found += chosen.sample(options, min(each, len(options)))
    return found


def _all(file: str) -> Iterator[Position]:
    text = DOCUMENTS[file][1]
    for found in _MEMBER.finditer(text):
        if '"$schema"' in found[0] or "//" in text[: found.start()].rpartition("\n")[2]:
            continue
        yield from _in_member(file, text, found)
    for found in re.finditer(r"[{\[](?=\n)", text):
        indent = (re.match(r"\n([ \t]*)", text[found.end() :]) or [""])[0]
        yield Position(file, "first in a bracket", text[: found.end()] + indent, text[found.end() :])


def _in_member(file: str, text: str, found: re.Match[str]) -> Iterator[Position]:
    start, end = found.start(), found.end()
    key, value = found.start("key"), found.start("value")
    behind = text[found.end("value") :]
    line_end = text.index("\n", end)
    yield Position(file, "value", text[:value], behind)
    yield Position(file, "value, rest of the file missing", text[:value], "")
    yield Position(file, "half a key", text[: key + 3], text[found.end("key") - 1 :])
    yield Position(file, "auto-closed key", text[: key + 1], '"' + text[found.end("value") :])
    yield Position(file, "rest of the file", text[:start], "")
    if found["value"].startswith('"') and len(found["value"]) > 4:
        yield Position(file, "half a string", text[: value + 2], text[found.end("value") - 1 :])
    if found["comma"]:
        yield Position(file, "member", text[:start], text[end:].lstrip(" "))
        yield Position(file, "behind a value", text[: end - 1], text[end - 1 :])
    elif not text[end:].lstrip().startswith(","):
        yield Position(file, "value before a bracket", text[:value], behind)
    if text[:start].rpartition("\n")[2].strip() == "" and not text[end:line_end].strip():
        yield Position(file, "whole line", text[:start], text[line_end:])
        yield Position(file, "key", text[: start + 1], text[line_end:])


def judged(position: Position, item: str) -> str:
    """What is wrong with the document after `item` was inserted; empty where nothing is.

    A whole document must be valid. One that was cut short must be so once its brackets are closed, but for
    what may still come in the brackets that were open.
    """
    text = _plain(position.before + item + position.after)
    closers = _open_brackets(text)
    if closers is None:
        return "the brackets do not match"
    if closers and position.after.strip():
        return "the document was not closed"
    try:
        value = json.loads(text + closers)
    except ValueError as error:
        return f"no JSON: {error}"
    if len(_keys(text)) != len(set(_keys(text))):
        return "a doubled key"
    validator = jsonschema.validators.validator_for(position.schema, default=jsonschema.Draft202012Validator)
    errors = [
        error
        for error in validator(position.schema).iter_errors(value)
        if not (closers and _may_still_come(error, value))
    ]
    return "; ".join(f"{list(error.absolute_path)}: {error.message}" for error in errors)


def _may_still_come(error: jsonschema.ValidationError, value: Any) -> bool:
    """Whether members that are still missing could mend `error`: it is in the last, open part."""
    for part in error.absolute_path:
        last = (list(value) if isinstance(value, dict) else range(len(value)))[-1]
        if part != last:
            return False
        value = value[part]
    return error.validator in ("required", "minItems", "minProperties", "oneOf", "anyOf")


def _plain(text: str) -> str:
    return re.sub(r'("[^"\n]*")|//[^\n]*|/\*.*?\*/', lambda found: found[1] or " ", text, flags=re.DOTALL)


def _open_brackets(text: str) -> str | None:
    closers: list[str] = []
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', text):
        if mark in _BRACKETS:
            closers.append(_BRACKETS[mark])
        elif mark in "}]" and (not closers or closers.pop() != mark):
            return None
    return "".join(reversed(closers))


def _keys(text: str) -> list[str]:
    """The path of every key, as often as it is written."""
    found: list[str] = []
    path: list[str] = []
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"\s*:?|[{}\[\],]', text):
        if mark in _BRACKETS:
            path.append(f"{mark}{len(found)}")
        elif mark in "}]":
            path = path[:-1]
        elif mark.endswith(":"):
            found.append("/".join((*path, mark)))
    return found
