"""Which schema a document has: what is found, what is never read, and when it is read anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from velospec_lsp.json_schema.bundle import SchemaFileError
from velospec_lsp.json_schema.checks import checks_of
from velospec_lsp.json_schema.files import DocumentSchema, SchemaFiles, Workspace
from velospec_lsp.privacy import PrivacyGate
from velospec_lsp.settings import JsonSchema


class Desk:
    """A workspace in a folder, with what is asked of it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.files = SchemaFiles()
        self.exclude: tuple[str, ...] = ()

    def write(self, name: str, schema: Any) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(schema if isinstance(schema, str) else json.dumps(schema), "utf-8")
        return path

    def find(
        self, named: str | None, *mapped: JsonSchema, document: str = "a/b.json"
    ) -> DocumentSchema | None:
        gate = PrivacyGate(self.exclude, folders=(str(self.root),))
        workspace = Workspace((str(self.root),), gate)
        return self.files.find(self.root / document, named, mapped, workspace)

    def found(self, named: str | None, *mapped: JsonSchema, document: str = "a/b.json") -> DocumentSchema:
        schema = self.find(named, *mapped, document=document)
        assert schema is not None
        return schema


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def test_what_the_document_names_lies_beside_it_or_is_a_file_uri(desk: Desk) -> None:
    path = desk.write("a/s.json", {"title": "one"})
    for named in ("s.json", "./s.json", "../a/s.json", path.as_uri(), str(path)):
        assert desk.found(named).schema == {"title": "one"}


def test_the_setting_maps_patterns_and_addresses(desk: Desk) -> None:
    desk.write("schemas/one.json", {"title": "one"})
    desk.write("schemas/two.json", {"title": "two"})
    one = JsonSchema("schemas/one.json", ("a/*.json", "!a/c.json"))
    two = JsonSchema("schemas/two.json", (), "https://example.org/two#")
    assert desk.found(None, two, one).name == "one.json"
    assert desk.find(None, two, one, document="a/c.json") is None
    assert desk.found("https://example.org/two", one, two).name == "two.json"
    assert desk.found("https://example.org/other", one, two).name == "one.json"
    assert desk.find("https://example.org/other", two) is None
    assert desk.find("http://json-schema.org/draft-07/schema#") is None


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("../../outside.json", "outside of the workspace"),
        ("file:///etc/hostname", "outside of the workspace"),
        ("link.json", "outside of the workspace"),
        ("absent.json", "cannot be read"),
        ("broken.json", "is not JSON"),
        ("list.json", "is no object"),
        ("secrets.json", "hold secrets"),
        ("kept.json", "velospec.exclude"),
        ("ignored.json", ".gitignore excludes it"),
    ],
)
def test_what_is_not_read(desk: Desk, named: str, said: str) -> None:
    (desk.root.parent / "outside.json").write_text("{}")
    (desk.root / ".git").mkdir()
    desk.write("a/broken.json", "{")
    desk.write("a/list.json", [])
    desk.write(".gitignore", "ignored.json\n")
    for name in ("secrets", "kept", "ignored"):
        desk.write(f"a/{name}.json", {})
    (desk.root / "a" / "link.json").symlink_to(desk.root.parent / "outside.json")
    desk.exclude = ("kept.json",)
    with pytest.raises(SchemaFileError, match=said):
        desk.find(named)


def test_without_folders_the_documents_own_counts(desk: Desk) -> None:
    desk.write("a/s.json", {"title": "one"})
    desk.write("t.json", {"title": "two"})
    workspace = Workspace((), PrivacyGate())
    found = desk.files.find(desk.root / "a" / "b.json", "s.json", (), workspace)
    assert found is not None
    with pytest.raises(SchemaFileError, match="outside"):
        desk.files.find(desk.root / "a" / "b.json", "../t.json", (), workspace)


def test_it_is_read_anew_when_it_or_a_file_it_refers_to_changes(desk: Desk) -> None:
    desk.write("a/s.json", {"properties": {"x": {"$ref": "t.json#/$defs/n"}}})
    other = desk.write("a/t.json", {"$defs": {"n": {"type": "number"}}})
    first = desk.found("s.json")
    assert desk.found("s.json") is first
    assert not checks_of(first.text).complete('{"x": "a"}', None)
    other.write_text('{"$defs": {"n": {"type": "string"}}}')
    os.utime(other, ns=(1, 1))
    assert checks_of(desk.found("s.json").text).complete('{"x": "a"}', None)
    desk.exclude = ("t.json",)
    with pytest.raises(SchemaFileError, match=r"velospec\.exclude"):
        desk.find("s.json")


def test_references_between_files_hold_in_the_bundle(desk: Desk) -> None:
    desk.write(
        "a/s.json",
        {
            "$id": "https://example.org/s.json",
            "definitions": {
                "tree": {"properties": {"next": {"$ref": "https://example.org/s.json#/definitions/tree"}}}
            },
            "properties": {
                "tree": {"$ref": "#/definitions/tree"},
                "person": {"$ref": "../shared/person.json"},
                "self": {"$ref": "#"},
                "$ref": {"type": "integer"},
                "fixed": {"const": {"$ref": "nowhere.json"}},
            },
            "additionalProperties": False,
        },
    )
    desk.write(
        "shared/person.json", {"properties": {"home": {"$ref": "place~1.json#/$defs/a~1b"}}, "$defs": {}}
    )
    desk.write(
        "shared/place~1.json",
        {"$defs": {"a/b": {"properties": {"of": {"$ref": "person.json"}, "n": {"type": "null"}}}}},
    )
    found = desk.found("s.json")
    assert found.dropped == ()
    checks = checks_of(found.text)
    for right in (
        {"tree": {"next": {"next": {}}}, "self": {"self": {}}, "$ref": 1, "fixed": {"$ref": "nowhere.json"}},
        {"person": {"home": {"n": None, "of": {"home": {"n": None}}}}},
    ):
        assert checks.complete(json.dumps(right), None)
    for wrong in ({"self": {"x": 1}}, {"$ref": "x"}, {"person": {"home": {"of": {"home": {"n": 1}}}}}):
        assert not checks.complete(json.dumps(wrong), None)


def test_references_that_lead_nowhere_are_dropped_by_name(desk: Desk) -> None:
    schema = {
        "properties": {
            "a": {"$ref": "https://example.org/x.json"},
            "b": {"$ref": "../../outside.json"},
            "c": {"$ref": "#/definitions/no"},
            "d": {"$ref": "#named"},
        }
    }
    desk.write("a/s.json", schema)
    found = desk.found("s.json")
    assert sorted(found.dropped) == sorted(part["$ref"] for part in schema["properties"].values())
    assert checks_of(found.text).complete('{"a": 1, "b": 2, "c": 3, "d": 4}', None)
