"""The three edits: do what an instruction says, document a function, find a better name.

Each takes a snapshot and gives the changes to make of it, or raises RefusedError with the reason why there
are none. What the model writes is put in only if it fits: the text still parses if it did before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from velospec_lsp.editing import prompts
from velospec_lsp.editing.bindings import RULES
from velospec_lsp.editing.calls import (
    LINE_LENGTH,
    SUMMARY_LENGTH,
    RefusedError,
    code_call,
    documentation_call,
    rename_call,
    text_of,
)
from velospec_lsp.editing.chat import ChatModel, Question
from velospec_lsp.editing.documentation import (
    Documentation,
    document_function,
    documented_parameters,
    plain,
)
from velospec_lsp.editing.functions import Function, function_at
from velospec_lsp.editing.passage import Passage, passage_of, replace_passage
from velospec_lsp.editing.rename import NotProvenError, is_fresh, occurrences, rename, symbol_at
from velospec_lsp.editing.source import Change, Source, apply_changes
from velospec_lsp.syntax import Syntax, breaks, syntax_of

_MOST = 12_000  # characters of a passage to rewrite; the context of the model may be smaller still
_SHOWN = 4000  # characters of a function that something is only to be said of
_BEFORE, _AFTER = 1500, 500  # characters around a place where code is inserted, or a name stands
_LARGEST_GROWTH = 2000  # characters that new code may have beyond four times those of the old
_LOOP = re.compile(r"(\S.{1,30}?)\1{4,}")  # the same few characters five times in a row
_CALL = 50  # characters of a call beside its arguments' text

OnFraction = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes that apply cleanly, and one sentence on what they do."""

    changes: tuple[Change, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Job:
    """What an edit works on. `start` and `end` are the selection in characters of the source's text."""

    source: Source
    start: int
    end: int
    workspace: str = ""
    speculate: bool = True

    def question(
        self, turns: prompts.Turns, schema: dict[str, object], max_tokens: int, expected: int
    ) -> Question:
        """A question in a slot of the document's own, so that the next one finds what the model has read."""
        return Question(
            turns,
            schema,
            max_tokens=max_tokens,
            expected=expected,
            document=f"{self.source.document.uri}#edit",
            workspace=self.workspace,
            speculate=self.speculate,
        )


class Editor:
    """Makes plans with the chat model's help. All methods raise VeloSpecError and RefusedError."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def edit(self, job: Job, instruction: str, on_fraction: OnFraction) -> Plan:
        """Do what `instruction` says with the selection, or else with the statement at the cursor."""
        source = job.source
        if not instruction.strip():
            raise RefusedError("There is no instruction: say what to do.")
        language = source.document.language
        syntax = syntax_of(language, source.text)
        passage = passage_of(source, syntax, job.start, job.end)
        if len(passage.code) > _MOST:
            raise RefusedError(f"The selection is longer than {_MOST} characters: select less.")
        if passage.code.strip():
            turns, name = prompts.ask_replacement(language, passage.code, instruction), "replace"
        else:
            before, after = _around(source, passage.start, passage.end)
            turns, name = prompts.ask_insertion(language, before, after, instruction), "insert"
        length = len(passage.code)
        question = job.question(turns, code_call(name), 160 + length // 2, _CALL + length)
        code = text_of(await self._model.call(question, on_fraction), "code")
        change = _new_code(source, passage, code)
        return _checked(source, syntax, [change], "Edited." if passage.code.strip() else "Inserted.")

    async def document(self, job: Job, on_fraction: OnFraction) -> Plan:
        """Give the function at the cursor documentation, in the place of what it has."""
        source, language = job.source, job.source.document.language
        syntax = syntax_of(language, source.text)
        if syntax is None:
            raise RefusedError(
                f"It is not known here how functions are documented in {language or 'this file'}."
            )
        function = function_at(source, syntax, job.start)
        if function is None:
            raise RefusedError("There is no function with a name at the cursor.")
        if document_function(source, syntax, function, Documentation("It is.")) is None:
            raise RefusedError(f"The function {function.name} has no place for documentation.")
        begin, end = syntax.start(function.outer), syntax.end(function.outer)
        code = source.text[begin : min(end, begin + _SHOWN)]
        listed = documented_parameters(function, language)
        names = list(dict.fromkeys(each.name for each in listed))
        returns = function.returns and language != "go"
        lines = len(names) + returns
        question = job.question(
            prompts.ask_documentation(language, code, function.name),
            documentation_call(names, returns=returns),
            120 + 60 * lines,
            _CALL + 80 + 80 * lines,
        )
        said = await self._model.call(question, on_fraction)
        change = document_function(source, syntax, function, _documentation(function, said, names))
        assert change is not None  # noqa: S101  # as was just seen
        return _checked(source, syntax, [change], f"Documented {function.name}.")

    async def rename(self, job: Job, on_fraction: OnFraction) -> Plan:
        """Give the variable at the cursor a better name wherever it stands, if that is certain."""
        source, language = job.source, job.source.document.language
        rules = RULES.get(language)
        syntax = syntax_of(language, source.text)
        if syntax is None or rules is None:
            raise RefusedError(f"Nothing is known here of names in {language or 'this file'}.")
        if syntax.errors:
            raise RefusedError("The file has syntax errors: no rename is safe until they are gone.")
        symbol = symbol_at(source, syntax, job.start)
        if symbol is None:
            raise RefusedError("There is no name at the cursor.")
        try:
            places, doubt = occurrences(source, syntax, symbol), ""
        except NotProvenError as error:
            places, doubt = [], str(error)
        pattern = _pattern_like(symbol.name, rules.pattern)
        code = _code_of(source, syntax, job.start)
        question = job.question(
            prompts.ask_names(language, code, symbol.name), rename_call(pattern), 100, 100
        )
        given = (await self._model.call(question, on_fraction)).get("names")
        names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        usable = [
            name
            for name in names
            if name != symbol.name
            and re.fullmatch(pattern, name)
            and name not in rules.reserved
            and is_fresh(syntax, name)
        ]
        if not usable:
            listed = ", ".join(dict.fromkeys(names)) or "nothing"
            raise RefusedError(f"No usable name for {symbol.name}: the model suggested {listed}.")
        if doubt:
            raise RefusedError(
                f"{symbol.name} could be called {usable[0]}, but it is not renamed here: {doubt}.", usable[0]
            )
        changes = rename(syntax, language, places, usable[0])
        return _checked(
            source, syntax, changes, f"Renamed {symbol.name} to {usable[0]}, {_times(len(changes))}."
        )


def _new_code(source: Source, passage: Passage, code: str) -> Change:
    """The change that `code` makes, as far as that can be told without a parser. Raises RefusedError."""
    if not code.strip():
        raise RefusedError("The model's code is empty.")
    change = replace_passage(source, passage, code.replace("\r\n", "\n").replace("\r", "\n"))
    if len(change.text) > 4 * (change.end - change.start) + _LARGEST_GROWTH:
        raise RefusedError("The model's code is far longer than the selection.")
    return change


def _checked(source: Source, syntax: Syntax | None, changes: Sequence[Change], message: str) -> Plan:
    """A plan of `changes`, if they change something and break nothing. Raises RefusedError."""
    needed = [change for change in changes if source.text[change.start : change.end] != change.text]
    if not needed:
        raise RefusedError("The model would leave everything as it is.")
    if syntax is not None and breaks(syntax, source.document.language, apply_changes(source.text, needed)):
        raise RefusedError("With the model's text the file would no longer parse.")
    return Plan(tuple(needed), message)


def _documentation(function: Function, said: dict[str, object], names: Sequence[str]) -> Documentation:
    """What the model said, made presentable. Raises RefusedError."""
    title = rf"^`?{re.escape(function.name)}(?:\(\w*\))?`?\s*[-:\u2013]\s*"
    summary = plain(_whole(re.sub(title, "", text_of(said, "summary").strip()), SUMMARY_LENGTH))
    if not _says_something(summary):
        raise RefusedError("The model said nothing of the function.")
    parts = said.get("parameters")
    lines = parts if isinstance(parts, dict) else {}
    return Documentation(
        summary[:1].upper() + summary[1:],
        {name: _line(text_of(lines, name)) for name in names},
        _line(text_of(said, "returns")),
    )


def _line(text: str) -> str:
    """A line on a parameter or the result; empty where it says nothing."""
    line = plain(_whole(text, LINE_LENGTH))
    return line if _says_something(line) else ""


def _says_something(text: str) -> bool:
    """Whether `text` is more than a word (not all scripts part them), and no loop of a model's."""
    words = re.findall(r"\w+", text)
    enough = len(words) > 1 or (len(words) == 1 and not text.isascii())
    return enough and _LOOP.search(text) is None


def _whole(text: str, limit: int) -> str:
    """`text` without the sentence or word that the limit may have cut."""
    if len(text) < limit:
        return text
    sentences, mark, _ = text.rpartition(". ")
    return sentences + mark.strip() if mark else text.rpartition(" ")[0].rstrip(",;:")


def _pattern_like(name: str, pattern: str) -> str:
    """The pattern of a name of the same kind: what was private or a constant stays it."""
    if name.startswith("_"):
        return "_" + pattern
    return "[A-Z][A-Z0-9_]{1,30}" if name.isupper() and len(name) > 1 else pattern


def _code_of(source: Source, syntax: Syntax, offset: int) -> str:
    """The function around `offset`, or the text around it."""
    function = function_at(source, syntax, offset)
    if function is not None and syntax.end(function.node) - syntax.start(function.node) <= _SHOWN:
        return source.text[syntax.start(function.node) : syntax.end(function.node)]
    before, after = _around(source, offset, offset)
    return before + after


def _around(source: Source, start: int, end: int) -> tuple[str, str]:
    """The text before `start` and behind `end`, whole lines where it is cut."""
    first = max(0, start - _BEFORE)
    if first:
        first = min(source.line_end(first) + 1, start)
    last = min(len(source.text), end + _AFTER)
    if last < len(source.text):
        last = max(source.line_start(last), end)
    return source.text[first:start], source.text[end:last]


def _times(count: int) -> str:
    return "once" if count == 1 else f"in {count} places"
