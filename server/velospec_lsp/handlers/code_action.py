"""textDocument/codeAction: the edits of `edit_commands`, offered where they can do something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from velospec_lsp.completion.site import Query
from velospec_lsp.editing.bindings import RULES
from velospec_lsp.editing.chat import chat_model
from velospec_lsp.editing.functions import function_at
from velospec_lsp.editing.rename import symbol_at
from velospec_lsp.editing.source import Source
from velospec_lsp.handlers.convert import to_place
from velospec_lsp.handlers.edit_commands import DOCSTRING, EDIT, RENAME
from velospec_lsp.syntax import Syntax, syntax_of
from velospec_lsp.text import Place

if TYPE_CHECKING:
    from velospec_lsp.server import Server

Actions = list[types.CodeAction | types.Command]

_REWRITE, _REFACTOR, _QUICK_FIX = (
    types.CodeActionKind.RefactorRewrite,
    types.CodeActionKind.Refactor,
    types.CodeActionKind.QuickFix,
)
_INSTRUCTIONS = {
    "Simplify": "Simplify it.",
    "Handle errors": "Handle errors.",
    "Add comments": "Add comments.",
}
_MOST_FIXES = 3
_LARGEST = 200_000  # characters of a text that is parsed without being asked to
_LONGEST_TITLE = 60


def register(server: Server) -> None:
    """Register the handler."""
    parsed: dict[str, tuple[int, Syntax | None]] = {}  # the last tree asked for: editors ask at each move

    def syntax(source: Source) -> Syntax | None:
        document = source.document
        known = parsed.get(document.uri)
        if known is None or known[0] != document.version:
            parsed.clear()
            known = parsed[document.uri] = (document.version, syntax_of(document.language, source.text))
        return known[1]

    options = types.CodeActionOptions(code_action_kinds=[_REWRITE, _REFACTOR, _QUICK_FIX])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    def code_action(params: types.CodeActionParams) -> Actions:
        document = server.documents.get(params.text_document.uri)
        if document is None or server.pipeline.rule(Query(document, Place(0, 0))) is not None:
            return []
        if chat_model() is None:
            return []  # what cannot be done is not offered; the commands say what is missing
        source = Source.of(document)
        offset = source.offset(to_place(document, params.range.start))
        # Editors ask at each move of the cursor by themselves; a long parse would hold up completions.
        asked = params.context.trigger_kind == types.CodeActionTriggerKind.Invoked
        tree = syntax(source) if asked or len(source.text) <= _LARGEST else None
        found = _offers(server, params, source, tree, offset)
        only = params.context.only
        wanted = [each for each in found if only is None or any(_covers(kind, each.kind) for kind in only)]
        return list(wanted) if _takes_literals(server) else [each.command for each in wanted if each.command]


def _offers(
    server: Server, params: types.CodeActionParams, source: Source, syntax: Syntax | None, offset: int
) -> Iterator[types.CodeAction]:
    where: dict[str, Any] = {"uri": params.text_document.uri, "range": _plain(params.range)}
    for diagnostic in params.context.diagnostics[:_MOST_FIXES]:
        instruction = f"Fix this problem: {diagnostic.message}"
        lines = types.Range(
            types.Position(diagnostic.range.start.line, 0),
            types.Position(diagnostic.range.end.line + 1, 0),
        )
        given = where | {"range": _plain(lines), "instruction": instruction}
        action = _action(f"Fix: {_short(diagnostic.message)}", _QUICK_FIX, EDIT, given)
        action.diagnostics = [diagnostic]
        yield action
    if _asks_instructions(server):
        yield _action("Edit …", _REWRITE, EDIT, where)
    if params.range.start != params.range.end:
        for title, instruction in _INSTRUCTIONS.items():
            yield _action(title, _REWRITE, EDIT, where | {"instruction": instruction})
    if syntax is None:
        return
    function = function_at(source, syntax, offset)
    if function is not None:
        yield _action(f"Document {function.name}", _REWRITE, DOCSTRING, where)
    symbol = symbol_at(source, syntax, offset)
    if symbol is not None and source.document.language in RULES:
        yield _action(f"Find a better name for {symbol.name}", _REFACTOR, RENAME, where)


def _action(title: str, kind: types.CodeActionKind, command: str, given: dict[str, Any]) -> types.CodeAction:
    title = f"VeloSpec: {title}"
    return types.CodeAction(title, kind=kind, command=types.Command(title, command, arguments=[given]))


def _plain(given: types.Range) -> dict[str, Any]:
    return {
        name: {"line": at.line, "character": at.character}
        for name, at in (("start", given.start), ("end", given.end))
    }


def _covers(wanted: str, kind: str | None) -> bool:
    """Whether a client that wants only `wanted` wants `kind`; kinds are paths with dots."""
    return kind is not None and (not wanted or kind == wanted or kind.startswith(f"{wanted!s}."))


def _takes_literals(server: Server) -> bool:
    document = server.client_capabilities.text_document
    return bool(document and document.code_action and document.code_action.code_action_literal_support)


def _asks_instructions(server: Server) -> bool:
    """Whether the client says that it asks its user for an instruction where a command has none."""
    experimental: Any = server.client_capabilities.experimental
    ours = experimental.get("velospec") if isinstance(experimental, dict) else None
    return isinstance(ours, dict) and ours.get("asksInstruction") is True


def _short(message: str) -> str:
    line = message.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"
