"""Completion in JSON files on the wire: the grammar that is asked for, and what becomes of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.wire import Wire, change

SCHEMA = {
    "type": "object",
    "properties": {"$schema": {}, "name": {"type": "string"}, "kind": {"enum": ["red", "green"]}},
    "additionalProperties": False,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "one.json").write_text(json.dumps(SCHEMA), "utf-8")
    return tmp_path.resolve()


@pytest.fixture
def server(folder: Path, start: Callable[..., Wire]) -> Callable[..., Wire]:
    """Starts a server whose workspace is the folder."""

    def start_there(**settings: Any) -> Wire:
        wire = start()
        workspace = [{"uri": folder.as_uri(), "name": "work"}]
        wire.initialize(options=settings, workspaceFolders=workspace)
        return wire

    return start_there


def offered(wire: Wire, uri: str, code: str, language: str = "json") -> list[str]:
    """What is offered at ^."""
    before, _, after = code.partition("^")
    wire.open(uri, before + after, language)
    lines = before.split("\n")
    return [item["insertText"] for item in wire.complete(uri, len(lines) - 1, len(lines[-1]))]


def test_the_schema_that_the_document_names(
    server: Callable[..., Wire], answers: Answers, folder: Path
) -> None:
    wire = server()
    uri = (folder / "a.json").as_uri()
    answers.write({'"kind": ': '"red", "kind": "green"}'})
    assert offered(wire, uri, '{"$schema": "schemas/one.json", "kind": ^}') == ['"red"']
    [asked] = answers.log()
    grammar = asked["grammar"]
    assert (grammar["kind"], grammar["whitespace"], grammar["part"]) == ("json_schema", "flexible", True)
    assert grammar["after"] == '{"$schema": "schemas/one.json", "kind": '
    left = json.loads(grammar["source"])
    assert left["properties"]["kind"] == SCHEMA["properties"]["kind"]
    assert list(left["properties"]) == ["$schema", "kind", "name"]


def test_the_setting_maps_files_to_schemas(
    server: Callable[..., Wire], answers: Answers, folder: Path
) -> None:
    wire = server(jsonSchemas=[{"path": "schemas/one.json", "fileMatch": ["conf/*.json"]}])
    answers.write({'"kind": ': '"blue"', '"name": ': '"x", "other": 1'})
    inside, outside = (folder / "conf" / "a.json").as_uri(), (folder / "a.json").as_uri()
    assert offered(wire, inside, '{"kind": ^}') == []
    assert offered(wire, outside, '{"kind": ^}') == ['"blue"']
    assert offered(wire, inside, '{"name": ^}') == ['"x"']
    assert "enum" not in answers.log()[1]["grammar"]["source"]


def test_a_refused_grammar_gives_way_to_a_wider_one_and_to_none(
    server: Callable[..., Wire], answers: Answers, folder: Path
) -> None:
    wire = server()
    answers.write({'"kind": ': {"text": '"red", "x": 1', "refuse": True}})
    uri = (folder / "a.json").as_uri()
    assert offered(wire, uri, '{"$schema": "schemas/one.json", "kind": ^}') == ['"red"']
    grammars = [entry["grammar"] for entry in answers.log()]
    assert len(grammars) >= 3
    assert [grammar is None for grammar in grammars] == [*[False] * (len(grammars) - 1), True]


def test_a_schema_that_cannot_be_used_is_named_once(
    server: Callable[..., Wire], answers: Answers, folder: Path
) -> None:
    (folder / "bad.json").write_text('{"type": 5}')
    wire = server()
    answers.write({'"kind": ': '"blue"', '"name": ': '"x"'})
    for number, (named, said) in enumerate(
        [("../no.json", "lies outside of the workspace"), ("bad.json", "malformed at #/type")]
    ):
        uri = (folder / f"a{number}.json").as_uri()
        assert offered(wire, uri, f'{{"$schema": "{named}", "kind": ^}}') == ['"blue"']
        assert said in wire.notification("window/showMessage")["message"]
        assert offered(wire, uri, f'{{"$schema": "{named}", "name": ^}}') == ['"x"']


def test_comments_and_byte_order_marks(server: Callable[..., Wire], answers: Answers, folder: Path) -> None:
    wire = server()
    answers.write({'"kind": ': '"green"', "// ": "a comment"})
    code = '\ufeff// one\r\n{\r\n\t"$schema": "schemas/one.json", // two\r\n\t"kind": ^ /* three */\r\n}\r\n'
    assert offered(wire, (folder / "a.jsonc").as_uri(), code.replace("\r\n", "\n"), "jsonc") == ['"green"']
    assert answers.log()[-1]["grammar"]["after"].endswith('"kind": ')
    assert offered(wire, (folder / "b.jsonc").as_uri(), '{ // ^\n  "a": 1\n}', "jsonc") == ["a comment"]
    assert answers.log()[-1]["grammar"] is None


def test_what_is_offered_leaves_the_closers_behind_the_cursor(
    server: Callable[..., Wire], answers: Answers, folder: Path
) -> None:
    wire = server()
    answers.write({'{"': 'name": "x"}'})
    uri = (folder / "a.json").as_uri()
    wire.open(uri, '{""}', "json")
    [item] = wire.complete(uri, 0, 2)
    assert item["insertText"] == 'name": "x'
    assert item["range"] == {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 2}}
    # Typed along, it comes from the cache, and still replaces nothing.
    wire.notify("textDocument/didChange", change(uri, 2, (0, 2, 0, 2, "na")))
    [item] = wire.complete(uri, 0, 4)
    assert item["insertText"] == 'me": "x'
    assert item["range"] == {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 4}}
    assert len(answers.log()) == 1


def test_a_changed_schema_counts_at_once(server: Callable[..., Wire], answers: Answers, folder: Path) -> None:
    wire = server()
    answers.write({'"kind": ': '"blue"'})
    uri = (folder / "a.json").as_uri()
    code = '{"$schema": "schemas/one.json", "kind": ^}'
    assert offered(wire, uri, code) == []
    (folder / "schemas" / "one.json").write_text(
        json.dumps({**SCHEMA, "properties": {"$schema": {}, "kind": {}}})
    )
    assert offered(wire, uri, code) == ['"blue"']


@pytest.mark.parametrize("code", ['{"a" 1, "b": ^}', '{"a": "' + "x" * 200_000 + '", "b": ^}'])
def test_documents_that_are_no_json_or_too_long_are_completed_as_text(
    server: Callable[..., Wire], answers: Answers, folder: Path, code: str
) -> None:
    wire = server()
    answers.write({'"b": ': "1"})
    assert offered(wire, (folder / "a.json").as_uri(), code) == ["1"]
    assert answers.log()[-1]["grammar"] is None
