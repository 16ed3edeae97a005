"""What a grammar may cost to compile: so many characters, so many seconds. Knows no engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from velospec.constraints.refusal import NAMES
from velospec.core.cancellation import CancelToken
from velospec.core.errors import CancelledError, GrammarError
from velospec.core.grammar import Grammar

COMPILE_SECONDS = 20.0
"""A grammar that takes longer to compile is given up."""

MOST_CHARACTERS = 2_000_000
"""A longer grammar is not begun with. A schema of 30,000 names has half of that."""

_MOST_LEFT = 2  # works given up that may still run
_PATIENCE = 0.02  # seconds until a cancelled request is noticed
T = TypeVar("T")


def check_size(grammar: Grammar) -> None:
    """Raises GrammarError where the text of `grammar`, its calls included, is too long."""
    tags = grammar.tags
    size = len(grammar.source)
    if tags is not None:
        size += sum(map(len, tags.literals)) + sum(len(tag.schema) for tag in tags.tags)
    if size > MOST_CHARACTERS:
        raise GrammarError(
            f"The {NAMES[grammar.kind]} has {size:,} characters; {MOST_CHARACTERS:,} are the most.",
            "Shorten it: fewer members of enumerations, fewer alternatives, fewer tools.",
        )


class TimeLimit(Generic[T]):
    """Does work that cannot be stopped in threads of its own, which can be left behind.

    Work left behind ends by itself; until then no more than `_MOST_LEFT` of it runs.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left: list[threading.Thread] = []

    def result(self, work: Callable[[], T], cancel: CancelToken | None = None) -> T:
        """What `work` returns.

        Raises:
            GrammarError: it takes too long, or earlier work that did is still running.
            CancelledError: `cancel` was cancelled.
            Exception: what `work` raises.
        """
        self._left = [thread for thread in self._left if thread.is_alive()]
        if len(self._left) >= _MOST_LEFT:
            raise GrammarError(
                "Earlier grammars that took too long to compile still keep the grammar engine busy.",
                "Ask again in a minute, with simpler grammars.",
            )
        results: list[T] = []
        errors: list[Exception] = []

        def run() -> None:
            try:
                results.append(work())
            except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
                errors.append(error)

        thread = threading.Thread(target=run, name="velospec-grammar", daemon=True)
        thread.start()
        self._wait(thread, cancel)
        if errors:
            raise errors[0]
        return results[0]

    def _wait(self, thread: threading.Thread, cancel: CancelToken | None) -> None:
        end = time.monotonic() + self._seconds
        while thread.is_alive():
            left = end - time.monotonic()
            thread.join(max(0.0, left) if cancel is None else min(_PATIENCE, max(0.0, left)))
            if not thread.is_alive():
                return
            cancelled = cancel is not None and cancel.cancelled
            if cancelled or left <= 0:
                self._left.append(thread)
                if cancelled:
                    raise CancelledError("The request was cancelled while its grammar was compiled.")
                raise GrammarError(
                    f"The grammar takes longer than {self._seconds:g} s to compile.",
                    "Simplify it: fewer alternatives, shorter bounds of lengths and counts.",
                )
