"""Guides completion in JSON documents: a grammar for the model, and the fit of what it wrote.

Asks for files, never for the model. Whatever is wrong with a schema, completion goes on without it, and the
user hears of it once.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from velospec.core.grammar import Grammar, GrammarKind, Whitespace
from velospec_lsp.completion.site import Query, around
from velospec_lsp.documents import Document
from velospec_lsp.json_schema.bundle import SchemaFileError
from velospec_lsp.json_schema.checks import Checks, checks_of
from velospec_lsp.json_schema.files import DocumentSchema, SchemaFiles, Workspace
from velospec_lsp.json_schema.fit import fit
from velospec_lsp.json_schema.place import Place, place_of
from velospec_lsp.json_schema.residual import NothingFitsError, residual
from velospec_lsp.json_schema.style import in_style
from velospec_lsp.privacy import uri_path
from velospec_lsp.settings import JsonSchema

logger = logging.getLogger(__name__)

_LANGUAGES = frozenset({"json", "jsonc"})
_MOST_CHARS = 128 * 1024  # of a document; reading a larger one would be felt
_ANYTHING = "{}"


@dataclass(frozen=True, slots=True)
class Guidance:
    """For one request. `grammars` are to be tried in order, each where the one before is refused."""

    place: Place
    grammars: tuple[Grammar, ...]
    checks: Checks

    def fit(self, text: str, *, cut_off: bool) -> str:
        """The part of the model's `text` that may be inserted; empty where nothing may."""
        return fit(in_style(text, self.place), self.place, self.checks, cut_off=cut_off)


class JsonGuide:
    """Knows the schemas of the documents of one server."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        """Sentences that the user should see; whoever shows them takes them out. Each comes once."""
        self._files = SchemaFiles()
        self._told: set[str] = set()
        self._reading = threading.Lock()

    def concerns(self, document: Document) -> bool:
        """Whether `document` may have guidance."""
        return document.language in _LANGUAGES and document.text.size <= _MOST_CHARS

    def guidance(self, query: Query, mapped: tuple[JsonSchema, ...], workspace: Workspace) -> Guidance | None:
        """The guidance at the cursor of `query`; None where the document is no JSON up to there.

        Takes a while with a new schema; may be called from any thread.
        """
        document = query.document
        place = place_of(*around(query))
        if place is None or place.in_word:
            return None
        path = uri_path(document.uri)
        schema = self._schema(Path(path), place, mapped, workspace) if path else None
        return Guidance(place, _grammars(schema, place), checks_of(schema.text if schema else _ANYTHING))

    def _schema(
        self, path: Path, place: Place, mapped: tuple[JsonSchema, ...], workspace: Workspace
    ) -> DocumentSchema | None:
        try:
            with self._reading:
                schema = self._files.find(path, place.root_string("$schema"), mapped, workspace)
        except SchemaFileError as error:
            self._once(str(error))
            return None
        if schema is None:
            return None
        wrong = checks_of(schema.text).malformed
        if wrong:
            self._once(f"The JSON Schema {schema.name} is not used, for it is malformed at {wrong}")
            return None
        if schema.dropped:
            names = ", ".join(schema.dropped[:3])
            self._once(f"The JSON Schema {schema.name} refers to what is not in the workspace: {names}.")
        return schema

    def _once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self.notices.append(message)


def _grammars(schema: DocumentSchema | None, place: Place) -> tuple[Grammar, ...]:
    """The closest grammar first. They are a help for the model; what decides is the look at what it wrote."""
    found: dict[str, Grammar] = {}
    wholes = [schema.schema] if schema is not None else []
    for whole in [*wholes, {}]:
        for strictly in (True, False):
            try:
                left = residual(whole, place, strictly=strictly)
            except (NothingFitsError, KeyError):
                continue
            grammar = Grammar(
                GrammarKind.JSON_SCHEMA, left.source, Whitespace.FLEXIBLE, left.after, part=True
            )
            found.setdefault(left.source, grammar)
    return tuple(found.values())
