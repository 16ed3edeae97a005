"""A language server whose answers a test writes down: `python scripted_server.py ANSWERS.json`.

The file maps the text of the cursor's line up to the cursor to the items to answer with; anything else is
answered with no items. A command's name is mapped to its result. The file is read anew for each request.
Executed commands are appended to ANSWERS.json.log.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer


def _item(item: dict[str, Any], row: int, column: int) -> types.InlineCompletionItem:
    start, end = item.get("start", column), item.get("end", column)
    return types.InlineCompletionItem(
        insert_text=item["text"],
        range=types.Range(types.Position(row, start), types.Position(row, end)),
        command=types.Command(title="", command="velospec.accepted", arguments=[item["text"]]),
    )


WORKSPACE = tuple(f"velospec.workspace.{name}" for name in ("show", "stats", "forget"))


def serve(answers: Path) -> None:
    """Serves stdin and stdout until the client leaves."""
    server = LanguageServer("scripted", "1")

    def log(entry: dict[str, Any]) -> None:
        with answers.with_suffix(".log").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    def inline_completion(params: types.InlineCompletionParams) -> list[types.InlineCompletionItem]:
        document = server.workspace.get_text_document(params.text_document.uri)
        row, column = params.position.line, params.position.character
        line = document.lines[row] if row < len(document.lines) else ""
        before = line.encode()[:column].decode()  # Neovim takes the first encoding, UTF-8
        items = json.loads(answers.read_text(encoding="utf-8")).get(before, [])
        return [_item(item, row, column) for item in items]

    def command(name: str) -> None:
        @server.command(name)
        def run(*arguments: Any) -> Any:
            log({"command": name, "arguments": list(arguments)})
            return json.loads(answers.read_text(encoding="utf-8")).get(name, f"{name} answered")

    for name in ("velospec.accepted", "velospec.status", "velospec.why", "velospec.restart", *WORKSPACE):
        command(name)

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        server.protocol.notify("velospec/status", {"kind": "loading", "message": "loading the model"})

    server.start_io()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
