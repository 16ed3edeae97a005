"""A backend whose model has no end token, so that every prompt yields as many tokens as were asked for."""

from __future__ import annotations

from typing import Any

from velospec.backends.base import Backend, Vocabulary


class _Unending:
    """Passes everything on but what is set here."""

    def __init__(self, inner: object, **replaced: object) -> None:
        self._inner = inner
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def unending(backend: Backend) -> Backend:
    """`backend` with end tokens as ordinary ids without text: the model starts another file after one."""
    vocabulary: Vocabulary = backend.vocabulary
    plain = vocabulary.control_ids - vocabulary.end_ids
    return _Unending(  # type: ignore[return-value]  # a proxy, by attribute
        backend, vocabulary=_Unending(vocabulary, end_ids=frozenset(), control_ids=plain)
    )
