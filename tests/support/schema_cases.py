"""JSON Schemas keyword by keyword, each with texts that its grammar accepts and texts that it refuses."""

from __future__ import annotations

from typing import Any

Case = tuple[Any, str, str]
"""A schema, texts that are accepted and texts that are not, both parted by two spaces."""

CLOSED = {"type": "object", "additionalProperties": False}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
            "required": ["value"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}
EITHER = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, **CLOSED}
KINDS = [
    {"properties": {"kind": {"const": kind}, kind: {"type": "boolean"}}, "required": ["kind", kind], **CLOSED}
    for kind in ("cat", "dog")
]
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}

VALUES: dict[str, Case] = {
    "anything": ({}, '1  "a"  null  [1, {"a": []}]  {}  -0.5  1e+16', '01  1.  [1,2]  {"a":1}  nul'),
    "nothing beside": ({"properties": {"a": False}}, '{}  {"b": 1}  1', '{"a": 1}'),
    "integer": ({"type": "integer"}, "0  -1  12345678901234567890", '1.0  1e2  01  "1"'),
    "bounds": ({"type": "integer", "minimum": -5, "maximum": 105}, "-5  0  99  105", "-6  106  1.5"),
    "open bounds": ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}, "1  9", "0  10  -1"),
    "bounds between": ({"type": "integer", "minimum": 0.5, "maximum": 3.5}, "1  3", "0  4"),
    "number": ({"type": "number", "minimum": 0.5, "maximum": 3.5}, "0.5  1  3.25  3.5", "0.49  3.51  4  -1"),
    "above zero": ({"type": "number", "exclusiveMinimum": 0}, "0.001  1  100.5", "0  -1  -0.5  0.0"),
    "below": ({"type": "number", "exclusiveMaximum": -1.5}, "-1.51  -2  -100", "-1.5  -1  0  1.5"),
    "factor": ({"type": "integer", "multipleOf": 5}, "0  5  -10  1005", "7  51"),
    "decimal factor": ({"type": "number", "multipleOf": 0.1}, "368.7  0.3  5", "0.35"),
    "whole factor": ({"type": "number", "multipleOf": 1}, "0  7", "0.5"),
    "draft 4 bounds": ({**DRAFT_4, "type": "integer", "minimum": 5, "exclusiveMinimum": True}, "6", "5  4"),
    "length": (
        {"type": "string", "minLength": 2, "maxLength": 3},
        '"ab"  "abc"  "éé"  "\\n\\n"',
        '"a"  "abcd"',
    ),
    "emoji": ({"type": "string", "maxLength": 1}, '"😀"  "日"  ""', '"😀😀"  "ab"'),
    "escapes": ({"type": "string"}, r'"\"\\\b\f\n\r\t\u001f\u007f"  "/"', '"\t"  "a'),
    "one spelling": ({"type": "string"}, '"é"', r'"\u00e9"  "\ud83d\ude00"  "\/"'),
    "pattern": ({"type": "string", "pattern": "b"}, '"abc"  "b"  "\\nb"', '"a"  ""'),
    "whole pattern": ({"type": "string", "pattern": "^[a-z]+$"}, '"abc"', '""  "aB"  "a\\n"'),
    "anchors apart": ({"type": "string", "pattern": "^a|b$"}, '"abc"  "xb"', '"bx"  "xa"'),
    "ASCII classes": ({"type": "string", "pattern": r"^\d\w\s$"}, '"1a "  "1_\\n"', '"٣a "  "1é "'),
    "dot": ({"type": "string", "pattern": "^.$"}, r'"😀"  "\""  "\\"  "\t"', r'"\n"  "ab"'),
    "inverse class": ({"type": "string", "pattern": "^[^a]$"}, r'"b"  "\n"  "\""  "é"', '"a"  ""'),
    "pattern and length": ({"pattern": "^a+$", "type": "string", "maxLength": 2}, '"a"  "aa"', '"aaa"  ""'),
    "two patterns": (
        {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]},
        '"ab"  "axb"',
        '"a"  "b"',
    ),
    "not a pattern": ({"type": "string", "not": {"pattern": "^a"}}, '"b"  ""  "ba"', '"a"  "ab"'),
    "Unicode class": ({"type": "string", "pattern": r"^\p{Lu}$"}, '"Ä"  "A"', '"ä"  "1"'),
    "enumeration": (
        {"enum": [1, "a", None, {"a": [1, {"b": 2}]}, True]},
        '1  "a"  null  {"a": [1, {"b": 2}]}  true',
        '2  "b"  {"a": [1]}',
    ),
    "whole in enumeration": ({"enum": [1.0, 0.25]}, "1  0.25", "1.0  0.5"),
    "typed enumeration": ({"type": "string", "enum": [1, "a"]}, '"a"', "1"),
    "limited enumeration": ({"enum": ["a", "bb", 3], "maxLength": 1, "not": {"const": 3}}, '"a"', '"bb"  3'),
    "types": ({"type": ["string", "null"], "minLength": 1}, '"a"  null', '""  1'),
    "not a type": ({"not": {"type": ["object", "array", "number"]}}, '"a"  null  true', "1  {}  []"),
    "not a text": ({"type": "string", "not": {"enum": ["ab", "a"]}}, '""  "abc"  "b"', '"a"  "ab"'),
    "not null": ({"not": {"const": None}}, '1  "null"', "null"),
}

CONTAINERS: dict[str, Case] = {
    "order": (
        {"properties": {"b": {}, "a": {}}, "type": "object"},
        '{"b": 1, "a": 1}  {"b": 1, "c": 1}',
        '{"a": 1, "b": 1}',
    ),
    "required beyond": ({"type": "object", "required": ["b"]}, '{"b": 1}  {"b": 1, "a": 1}', '{}  {"a": 1}'),
    "closed": (EITHER, '{}  {"a": 1}  {"b": 1}  {"a": 1, "b": 1}', '{"c": 1}  {"a": 1, "a": 1}'),
    "typed rest": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "additionalProperties": {"type": "string"},
        },
        '{"a": 1}  {"a": 1, "ab": "x"}  {"": "x"}',
        '{"a": "x"}  {"b": 1}  {"a": 1, "a": "x"}',
    ),
    "no way around by escapes": (
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        '{"b": ""}',
        r'{"\u0061": ""}',
    ),
    "patterned names": (
        {
            "type": "object",
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": {"type": "null"},
        },
        '{"x-a": 1}  {"a": null}  {"x": null}',
        '{"x-a": null}  {"a": 1}',
    ),
    "overlapping names": (
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}}},
        '{"a": 1}  {"ab": 7}  {"b": "x"}  {"c": null}',
        '{"ab": 1}  {"b": 1}  {"ax": ""}',
    ),
    "pattern on a named one": (
        {
            "type": "object",
            "properties": {"a": {"minimum": 3}},
            "patternProperties": {"^a": {"type": "integer"}},
            "additionalProperties": False,
        },
        '{"a": 5}  {"ab": 1}',
        '{"a": 1}  {"a": "x"}  {"b": 1}',
    ),
    "names": ({"type": "object", "propertyNames": {"pattern": "^a"}}, '{}  {"ab": 1}', '{"b": 1}'),
    "enumerated names": (
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}},
        '{}  {"a": 1, "b": 2}',
        '{"c": 1}',
    ),
    "short names": ({"type": "object", "propertyNames": {"maxLength": 2}}, '{"ab": 1}', '{"abc": 1}'),
    "some member": ({**EITHER, "minProperties": 1}, '{"a": 1}  {"b": 1}  {"a": 1, "b": 1}', "{}"),
    "some member of many": (
        {"type": "object", "properties": {"a": {}}, "minProperties": 1},
        '{"a": 1}  {"b": 1}  {"a": 1, "b": 1}',
        "{}",
    ),
    "one member": (
        {**EITHER, "minProperties": 1, "maxProperties": 1},
        '{"a": 1}  {"b": 1}',
        '{}  {"a": 1, "b": 1}',
    ),
    "all members": ({**EITHER, "minProperties": 2}, '{"a": 1, "b": 1}', '{}  {"a": 1}'),
    "few members": ({"type": "object", "maxProperties": 1}, '{}  {"a": 1}', '{"a": 1, "b": 1}'),
    "items": (
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        "[1]  [1, 2]",
        '[]  [1, 2, 3]  ["x"]',
    ),
    "prefix": (
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "items": False},
        "[]  [1]  [1, null]",
        "[null]  [1, null, 1]",
    ),
    "prefix and rest": (
        {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "integer"}, "minItems": 2},
        "[null, 1]  [null, 1, 2]",
        "[null]  [1, 1]  [null, null]",
    ),
    "prefix cut": (
        {"type": "array", "prefixItems": [{"type": "null"}, {"type": "null"}], "maxItems": 1},
        "[]  [null]",
        "[null, null]",
    ),
    "draft 7 tuple": (
        {**DRAFT_7, "type": "array", "items": [{"type": "integer"}], "additionalItems": False},
        "[]  [1]",
        '["x"]  [1, 1]',
    ),
    "alternatives": (
        {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]},
        '1  "a"',
        'null  "ab"',
    ),
    "one of several": (
        {"oneOf": KINDS},
        '{"kind": "cat", "cat": true}  {"kind": "dog", "dog": false}',
        '{"kind": "cat", "dog": true}  {"kind": "cat"}',
    ),
    "exactly one": (
        {**EITHER, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        '{"a": 1}  {"b": 1}',
        '{}  {"a": 1, "b": 1}',
    ),
    "at least one": (
        {**EITHER, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        '{"a": 1}  {"b": 1}  {"a": 1, "b": 1}',
        "{}",
    ),
    "all of": ({"allOf": [{"type": "integer"}, {"minimum": 5}, {"maximum": 9}]}, "5  9", '4  10  "a"'),
    "merged objects": (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"a": {"maximum": 3}, "b": {"type": "null"}}},
            ]
        },
        '{"a": 1}  {"a": 3, "b": null}',
        '{}  {"a": 4}  {"a": 1, "b": 1}',
    ),
    "condition": (
        {
            "type": "object",
            "properties": {"a": {"enum": [1, 2]}, "b": {}},
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"required": ["b"]},
        },
        '{}  {"a": 2}  {"a": 1, "b": 1}',
        '{"a": 1}',
    ),
    "otherwise": (
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "null"}},
        '"ab"  null',
        '"a"  1',
    ),
    "dependency": (
        {**EITHER, "dependentRequired": {"a": ["b"]}},
        '{}  {"b": 1}  {"a": 1, "b": 1}',
        '{"a": 1}',
    ),
    "draft 7 dependency": (
        {**DRAFT_7, **EITHER, "dependencies": {"a": {"required": ["b"]}}},
        '{}  {"a": 1, "b": 1}',
        '{"a": 1}',
    ),
    "reference": (
        {"$ref": "#/$defs/a b~1c", "minimum": 5, "$defs": {"a b/c": {"type": "integer"}}},
        "6",
        '1  "a"',
    ),
    "draft 7 reference": (
        {**DRAFT_7, "$ref": "#/definitions/a", "minimum": 5, "definitions": {"a": {"type": "integer"}}},
        "1  6",
        '"a"',
    ),
    "anchor": ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "integer"}}}, "1", '"a"'),
    "identifier": (
        {"$id": "https://example.org/a", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "integer"}}},
        "1",
        '"a"',
    ),
    "draft 4 identifier": (
        {
            **DRAFT_4,
            "id": "https://example.org/a",
            "$ref": "b",
            "definitions": {"b": {"id": "b", "type": "null"}},
        },
        "null",
        "1",
    ),
    "no identifier": (
        {"id": "a", "allOf": [{"$ref": "#/$defs/b"}], "$defs": {"b": {"type": "null"}}},
        "null",
        "1",
    ),
    "recursion": (
        TREE,
        '{"value": 1}  {"value": 1, "next": {"value": 2, "next": {"value": 3}}}',
        '{"next": {"value": 1}}  {"value": 1, "next": {}}',
    ),
    "recursion through the root": (
        {"properties": {"c": {"items": {"$ref": "#"}, "type": "array"}}, **CLOSED},
        '{}  {"c": [{}, {"c": [{}]}]}',
        '{"c": [1]}',
    ),
    "no endless part": (
        {
            "properties": {"a": {"$ref": "#/$defs/a"}},
            **CLOSED,
            "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}},
        },
        "{}",
        '{"a": {}}',
    ),
    "keys to escape": (
        {"properties": {'a"b': {"type": "null"}, "é\n": {"type": "null"}}, **CLOSED},
        r'{"a\"b": null, "é\n": null}',
        '{"é": null}',
    ),
    "annotations": (
        {
            "type": "null",
            "title": "t",
            "default": 1,
            "examples": [1],
            "$comment": "",
            "deprecated": True,
            "format": "x",
            "nullable": True,
            "x-own": 1,
        },
        "null",
        "1",
    ),
}

CASES = VALUES | CONTAINERS
