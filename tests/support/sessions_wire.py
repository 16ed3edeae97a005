"""Replays an editing session over the wire, as an editor that asks after each key."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from tests.support.sessions import Event, Session
from tests.support.sessions_editor import Buffer, Change, Shown, shown
from tests.support.wire import WITH_INLINE, Message, Wire, at, change

CAPABILITIES = {**WITH_INLINE, "notebookDocument": {"synchronization": {}}}
_INLINE = "textDocument/inlineCompletion"
_CODE = 2  # a cell's kind


@dataclass(frozen=True)
class Asked:
    """One request, and what stood in its document at that moment."""

    number: int
    at: Buffer


@dataclass
class Step:
    """An event, and what was shown once its last request was answered; `at` is the document by then."""

    event: Event
    shows: Shown | None
    at: Buffer


class Replay:
    """One session on one server. Waits for each answer if `patient`; cancels as VS Code does if `cancels`."""

    def __init__(
        self, wire: Wire, session: Session, folder: str, *, patient: bool = False, cancels: bool = False
    ) -> None:
        """`folder` is the URI of the session's documents, which need not exist."""
        self.session = session
        self.steps: list[Step] = []
        self.asked: list[Asked] = []
        self._wire = wire
        self._patient = patient
        self._cancels = cancels
        self._answered = 0
        self._shown: Shown | None = None
        self._last: tuple[Buffer, Shown] | None = None  # the last offer, and where it was shown
        self._notebook = f"{folder}/{session.name}.ipynb" if session.notebook else ""
        self.buffers = {name: self._open(name, folder) for name in session.files}
        self._buffer = next(iter(self.buffers.values()))
        if self._notebook:
            self._open_notebook()

    def run(self) -> None:
        """Do all that the session does. Fails where an answer is not what each editor can use."""
        for event in self.session.events:
            getattr(self, f"_{event.action}")(event.argument)
            self._settle()
            self.steps.append(Step(event, self._shown, replace(self._buffer)))
        for buffer in self.buffers.values():
            assert self._wire.call("velospec/text", {"uri": buffer.uri}) == buffer.wire_text

    def close(self) -> None:
        if self._notebook:
            cells = [{"uri": buffer.uri} for buffer in self.buffers.values()]
            document = {"notebookDocument": {"uri": self._notebook}, "cellTextDocuments": cells}
            self._wire.notify("notebookDocument/didClose", document)
        else:
            for buffer in self.buffers.values():
                self._wire.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})

    # What a user does.

    def _type(self, text: str) -> None:
        for char in text:
            self._edit(self._buffer.key(char, pairs=self.session.pairs))

    def _paste(self, text: str) -> None:
        self._edit(self._buffer.replace(self._buffer.cursor, self._buffer.cursor, text))

    def _delete(self, count: int) -> None:
        for _ in range(count):
            self._edit(self._buffer.delete())

    def _undo(self, _: bool) -> None:
        if self._buffer.before:
            self._edit(self._buffer.undo())

    def _change(self, places: list[Any]) -> None:
        self._edit(self._buffer.change(places))

    def _move(self, place: list[int]) -> None:
        self._buffer.cursor = min(self._buffer.offset(*place), len(self._buffer.text))
        self._ask()

    def _switch(self, place: list[Any]) -> None:
        name, *there = place
        self._buffer = self.buffers[name]
        self._move(there)

    def _save(self, _: bool) -> None:
        self._wire.notify("textDocument/didSave", {"textDocument": {"uri": self._buffer.uri}})

    def _wait(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def _accept(self, part: str) -> None:
        """As VS Code does it; Neovim adds the rest at the cursor, which must come to the same."""
        offer, buffer = self._shown, self._buffer
        if offer is None:
            return
        piece = offer.part(part)
        before, end = buffer.text[: buffer.cursor], offer.end if piece == offer.rest else buffer.cursor
        expected = before + piece + buffer.text[end:]
        if piece == offer.rest:
            changes = buffer.replace(offer.start, end, offer.text)
        else:
            changes = buffer.replace(buffer.cursor, buffer.cursor, piece)
        assert buffer.text == expected
        self._send(changes)
        if piece == offer.rest:
            command = {"command": "velospec.accepted", "arguments": [offer.identity]}
            self._wire.ask("workspace/executeCommand", command)
        self._ask()

    # What an editor does.

    def _edit(self, changes: list[Change]) -> None:
        self._send(changes)
        self._ask()
        if self._patient:
            self._settle()
        else:
            time.sleep(self.session.pace / 1000)

    def _send(self, changes: list[Change]) -> None:
        self._buffer.version += 1
        params = change(self._buffer.uri, self._buffer.version, *changes)
        if self._notebook:
            document = {"uri": self._notebook, "version": self._buffer.version}
            params = {"document": params["textDocument"], "changes": params["contentChanges"]}
            cells = {"cells": {"textContent": [params]}}
            self._wire.notify("notebookDocument/didChange", {"notebookDocument": document, "change": cells})
        else:
            self._wire.notify("textDocument/didChange", params)

    def _ask(self) -> None:
        if self._cancels and len(self.asked) > self._answered:
            self._wire.notify("$/cancelRequest", {"id": self.asked[-1].number})
        number = self._wire.ask(_INLINE, at(self._buffer.uri, *self._buffer.position()))
        self.asked.append(Asked(number, replace(self._buffer)))

    def _settle(self) -> None:
        """Take the answers that are due: one to each request, in the order of the requests."""
        while self._answered < len(self.asked):
            reply = self._wire.take(lambda message: "method" not in message)
            if reply["id"] not in {asked.number for asked in self.asked}:
                assert reply["result"] is None  # of the command that tells of an acceptance
                continue
            asked = self.asked[self._answered]
            assert reply["id"] == asked.number, "an answer came later than that to a newer request"
            self._answered += 1
            if "error" in reply:
                assert self._cancels
                assert reply["error"]["code"] == -32800
            else:
                self._check(asked, reply["result"])

    def _check(self, asked: Asked, items: list[Message] | None) -> None:
        if items is None:
            assert asked is not self.asked[-1], "only a request that was superseded has no answer"
            return
        offers = [shown(item, asked.at) for item in items]
        assert len({offer.rest for offer in offers}) == len(offers)
        self._shown = offers[0] if offers else None
        if self._shown is None:
            return
        if self._last is not None and _typed_along(*self._last, asked.at, self._shown):
            assert self._shown.identity == self._last[1].identity
        self._last = (asked.at, self._shown)

    def _open(self, name: str, folder: str) -> Buffer:
        file = self.session.files[name]
        uri = f"{folder}/{name}"
        if self._notebook:
            uri = self._notebook.replace("file:", "vscode-notebook-cell:") + f"#{name}"
        buffer = Buffer(uri, file.language, file.text, 0, file.crlf)
        buffer.cursor = buffer.offset(*file.cursor)
        if not self._notebook:
            self._wire.open(uri, buffer.wire_text, file.language)
        return buffer

    def _open_notebook(self) -> None:
        cells = [{"kind": _CODE, "document": buffer.uri} for buffer in self.buffers.values()]
        texts = [
            {"uri": it.uri, "languageId": it.language, "version": 1, "text": it.wire_text}
            for it in self.buffers.values()
        ]
        notebook = {"uri": self._notebook, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        opened = {"notebookDocument": notebook, "cellTextDocuments": texts}
        self._wire.notify("notebookDocument/didOpen", opened)


def _typed_along(old: Buffer, one: Shown, new: Buffer, other: Shown) -> bool:
    """Whether the user came from one offer to the other by typing its beginning."""
    before, now = old.text[: old.cursor], new.text[: new.cursor]
    return old.uri == new.uri and now.startswith(before) and one.rest == now[len(before) :] + other.rest
