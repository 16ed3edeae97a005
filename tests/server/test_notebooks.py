"""Notebooks as editors sync them: what a cell is completed between, and what may be completed at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.wire import WITH_INLINE, Wire
from velospec_lsp.completion.site import Query, site_of
from velospec_lsp.documents import Documents
from velospec_lsp.notebooks import Cell
from velospec_lsp.text import Place

CAPABILITIES = {**WITH_INLINE, "notebookDocument": {"synchronization": {"executionSummarySupport": True}}}
MARKUP, CODE = 1, 2


def cell_uri(notebook: str, name: str) -> str:
    return notebook.replace("file:", "vscode-notebook-cell:") + f"#{name}"


def cell(notebook: str, name: str, kind: int = CODE) -> dict[str, Any]:
    return {"kind": kind, "document": cell_uri(notebook, name)}


def item(notebook: str, name: str, text: str, language: str = "python") -> dict[str, Any]:
    return {"uri": cell_uri(notebook, name), "languageId": language, "version": 1, "text": text}


def did_open(wire: Wire, notebook: str, *cells: tuple[str, int, str, str]) -> None:
    """Open a notebook of (name, kind, language, text)."""
    document = {
        "uri": notebook,
        "notebookType": "jupyter-notebook",
        "version": 1,
        "cells": [cell(notebook, name, kind) for name, kind, _, _ in cells],
    }
    texts = [item(notebook, name, text, language) for name, _, language, text in cells]
    wire.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts})


def did_change(wire: Wire, notebook: str, **cells: Any) -> None:
    params = {"notebookDocument": {"uri": notebook, "version": 2}, "change": {"cells": cells}}
    wire.notify("notebookDocument/didChange", params)


def did_close(wire: Wire, notebook: str, *names: str) -> None:
    cells = [{"uri": cell_uri(notebook, name)} for name in names]
    params = {"notebookDocument": {"uri": notebook}, "cellTextDocuments": cells}
    wire.notify("notebookDocument/didClose", params)


def asked(wire: Wire, answers: Answers, uri: str, line: int, character: int) -> tuple[str, str]:
    """What the model is asked between at a place."""
    before = len(answers.log())
    wire.complete(uri, line, character, triggerKind=1)
    (entry,) = answers.log()[before:]
    return entry["prefix"], entry["suffix"]


@pytest.fixture
def editor(start: Callable[..., Wire]) -> Wire:
    wire = start()
    wire.initialize(CAPABILITIES)
    return wire


ANALYSIS = (
    ("imports", CODE, "python", "import pandas as pd\n"),
    ("title", MARKUP, "markdown", "# Sales\n\nBy month."),
    ("shell", CODE, "shellscript", "ls data"),
    ("load", CODE, "python", "sales = pd."),
    ("empty", CODE, "python", "\n"),
    ("plot", CODE, "python", "sales.plot()"),
)


def test_only_clients_with_notebooks_are_offered_to_sync_them(start: Callable[..., Wire]) -> None:
    wire = start()
    synced = wire.initialize(CAPABILITIES)["notebookDocumentSync"]
    assert synced == {"notebookSelector": [{"notebook": "*"}], "save": True}
    assert "notebookDocumentSync" not in start().initialize()


def test_a_cell_is_completed_between_the_others(editor: Wire, answers: Answers, tmp_path: Path) -> None:
    notebook = (tmp_path / "sales.ipynb").as_uri()
    did_open(editor, notebook, *ANALYSIS)
    prefix, suffix = asked(editor, answers, cell_uri(notebook, "load"), 0, 11)
    head = "import pandas as pd\n\n# # Sales\n#\n# By month.\n\n# ls data\n\n"
    assert prefix == head + "sales = pd."
    assert suffix == "\n\nsales.plot()\n"
    prefix, suffix = asked(editor, answers, cell_uri(notebook, "plot"), 0, 12)  # the last one
    assert prefix == head + "sales = pd.\n\nsales.plot()"
    assert suffix == ""
    prefix, suffix = asked(editor, answers, cell_uri(notebook, "imports"), 1, 0)  # the first one
    assert prefix == "import pandas as pd\n"
    assert suffix == "\n\n# # Sales\n#\n# By month.\n\n# ls data\n\nsales = pd.\n\nsales.plot()\n"
    did_close(editor, notebook, *(name for name, *_ in ANALYSIS))


def test_what_is_shown_follows_the_changes(editor: Wire, answers: Answers, tmp_path: Path) -> None:
    notebook = (tmp_path / "sales.ipynb").as_uri()
    did_open(editor, notebook, *ANALYSIS)
    array = {"start": 1, "deleteCount": 2, "cells": [cell(notebook, "more")]}
    closed = [{"uri": cell_uri(notebook, name)} for name in ("title", "shell")]
    typed_at = {"line": 0, "character": 11}
    typed = {"range": {"start": typed_at, "end": typed_at}, "text": "read_"}
    edits = [("load", typed), ("plot", {"text": "plot(sales)"})]
    did_change(
        editor,
        notebook,
        structure={"array": array, "didOpen": [item(notebook, "more", "import os")], "didClose": closed},
        textContent=[
            {"document": {"uri": cell_uri(notebook, name), "version": 2}, "changes": [change]}
            for name, change in edits
        ],
    )
    prefix, suffix = asked(editor, answers, cell_uri(notebook, "load"), 0, 16)
    assert prefix == "import pandas as pd\n\nimport os\n\nsales = pd.read_"
    assert suffix == "\n\nplot(sales)\n"
    did_change(editor, notebook, data=[cell(notebook, "more", MARKUP)])
    prefix, _ = asked(editor, answers, cell_uri(notebook, "load"), 0, 16)
    assert prefix == "import pandas as pd\n\n# import os\n\nsales = pd.read_"
    assert editor.complete(cell_uri(notebook, "title"), 0, 0) == []  # closed
    editor.notify("notebookDocument/didSave", {"notebookDocument": {"uri": notebook}})
    did_close(editor, notebook, "imports", "more", "load", "empty", "plot")
    assert editor.complete(cell_uri(notebook, "load"), 0, 16) == []


def test_the_offer_lies_in_the_cell(editor: Wire, answers: Answers, tmp_path: Path) -> None:
    notebook = (tmp_path / "sales.ipynb").as_uri()
    answers.write({"sales = pd.": "read_csv(path)"})
    did_open(editor, notebook, *ANALYSIS)
    (offer,) = editor.complete(cell_uri(notebook, "load"), 0, 11)
    assert offer["insertText"].endswith("read_csv(path)")
    assert offer["range"]["end"] == {"line": 0, "character": 11}
    did_close(editor, notebook, *(name for name, *_ in ANALYSIS))


def test_the_notebooks_file_decides_what_may_be_shown(editor: Wire, answers: Answers, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("private/\n", "utf-8")
    kept = (tmp_path / "private" / "sales.ipynb").as_uri()
    did_open(editor, kept, *ANALYSIS)
    assert editor.complete(cell_uri(kept, "load"), 0, 11, triggerKind=1) == []
    alone = cell_uri((tmp_path / "other.ipynb").as_uri(), "x")  # of no notebook that was opened
    editor.open(alone, "import os\nos.")
    assert editor.complete(alone, 1, 3, triggerKind=1) == []
    assert answers.log() == []
    editor.close_documents()
    did_close(editor, kept, *(name for name, *_ in ANALYSIS))


# The window over cells.


def notebook_of(*texts: str) -> Documents:
    documents = Documents()
    documents.notebooks.open("file:///n.ipynb", [Cell(f"cell:{n}", code=True) for n in range(len(texts))])
    for number, text in enumerate(texts):
        documents.open(f"cell:{number}", "python", 1, text)
    return documents


def test_line_ends_are_the_models_and_tabs_stay() -> None:
    documents = notebook_of("a = 1\r\nb = 2\r\n", "if a:\r\n\tb", "c\r\n")
    document = documents.get("cell:1")
    assert document is not None
    site = site_of(Query(document, Place(1, 2)), 1000, 1000)
    assert site is not None
    assert (site.prefix, site.suffix) == ("a = 1\nb = 2\n\nif a:\n\tb", "\n\nc\n")


def test_typing_does_not_move_the_window_over_the_cells() -> None:
    documents = notebook_of(*(f"value_{n} = compute({n})\n" * 30 for n in range(10)), "x = 1\n")
    begins = set()
    for typed in range(60):
        document = documents.get("cell:10")
        assert document is not None
        line = document.text.line_count - 1
        site = site_of(Query(document, Place(line, 0)), 2000, 100)
        assert site is not None
        assert len(site.prefix) <= 2000
        begins.add(site.prefix[:40])
        documents.open("cell:10", "python", typed, f"{document.text}y\n")
    assert len(begins) <= 2  # in sixty lines


def test_a_cell_that_is_moved_stays_a_cell() -> None:
    documents = notebook_of("a = 1", "b = 2", "c = 3")
    moved = Cell("cell:0", code=True)
    documents.notebooks.splice("file:///n.ipynb", 3, 0, [moved])  # it is there twice for a moment
    documents.notebooks.splice("file:///n.ipynb", 0, 1, [])
    document = documents.get("cell:0")
    assert document is not None
    assert (document.home, document.before) == ("file:///n.ipynb", ("b = 2\n", "\n", "c = 3\n", "\n"))
    assert documents.get("cell:0") is document
    documents.notebooks.splice("file:///unknown.ipynb", 0, 0, [moved])
    documents.notebooks.splice("file:///n.ipynb", 90, 5, [Cell("cell:new", code=False)])
    assert documents.notebooks.cells("file:///n.ipynb") == ("cell:1", "cell:2", "cell:0", "cell:new")


def test_far_cells_are_left_out_whole() -> None:
    documents = notebook_of("far = 1\n" * 2000, "near = 2\n" * 2000, "x = ", "later = 3\n" * 3000)
    document = documents.get("cell:2")
    assert document is not None
    assert document.before == ("near = 2\n",) * 2000 + ("\n",)
    assert document.after == ()
