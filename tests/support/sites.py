"""Places in source text, written as the text with a cursor marker in it."""

from __future__ import annotations

from velospec_lsp.completion.site import Query, Selection, Site, site_of
from velospec_lsp.documents import Document
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.text import Place, Text

CURSOR = "^"


def query_at(code: str, language: str = "python", selection: Selection | None = None) -> Query:
    """A request at the first marker in `code`, which is taken out."""
    before, _, after = code.partition(CURSOR)
    return query_between(before, after, language, selection)


def query_between(
    before: str, after: str, language: str = "python", selection: Selection | None = None
) -> Query:
    """A request between `before` and `after`."""
    lines = before.replace("\r\n", "\n").split("\n")
    document = Document("file:///a.py", language, 1, Text.of(before + after), PositionEncoding.UTF16)
    return Query(document, Place(len(lines) - 1, len(lines[-1])), selection=selection)


def site_at(code: str, language: str = "python") -> Site:
    """The site of the first marker in `code`."""
    found = site_of(query_at(code, language), 4000, 1000)
    assert found is not None
    return found
