"""The tokenizer of a GGUF model: text to ids, ids to bytes, and what the file says about itself.

Knows nothing of prompts: which infill tokens go where is `models.infill`'s business.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from velospec.backends.llama_cpp.library import Handle, closed_error, load_model
from velospec.backends.llama_cpp.native import lib

_HIDDEN = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN | lib.LLAMA_TOKEN_ATTR_UNUSED
_INFILL: dict[str, Callable[[Handle], int]] = {
    "prefix": lib.llama_vocab_fim_pre,
    "suffix": lib.llama_vocab_fim_suf,
    "middle": lib.llama_vocab_fim_mid,
    "pad": lib.llama_vocab_fim_pad,
    "repository": lib.llama_vocab_fim_rep,
    "separator": lib.llama_vocab_fim_sep,
}


class LlamaVocabulary:
    """Implements `backends.base.Vocabulary`. Valid while its model is loaded.

    `metadata` holds the GGUF's scalar values as text (arrays are left out); `infill_ids` the infill tokens
    that llama.cpp knows for this model, by role; `bos_id` the token that must begin a prompt, None if none.
    """

    def __init__(self, model: Handle) -> None:
        self.attach(model)
        self.size: int = lib.llama_vocab_n_tokens(self._vocabulary)
        self.metadata = _metadata(model)
        found = {role: find(self._vocabulary) for role, find in _INFILL.items()}
        self.infill_ids: dict[str, int] = {role: token for role, token in found.items() if token >= 0}
        attributes = [lib.llama_vocab_get_attr(self._vocabulary, token) for token in range(self.size)]
        self.end_ids = frozenset(t for t in range(self.size) if lib.llama_vocab_is_eog(self._vocabulary, t))
        hidden = (token for token, attribute in enumerate(attributes) if attribute & _HIDDEN)
        self.control_ids = frozenset((*hidden, *self.infill_ids.values()))
        bos = lib.llama_vocab_bos(self._vocabulary)
        self.bos_id: int | None = bos if lib.llama_vocab_get_add_bos(self._vocabulary) and bos >= 0 else None
        self._pieces: list[bytes | None] = [None] * self.size
        self._buffer = ctypes.create_string_buffer(256)

    def attach(self, model: Handle) -> None:
        """Go on with `model`, the same file loaded again."""
        self._model = model
        self._vocabulary = lib.llama_model_get_vocab(model)

    def detach(self) -> None:
        """The model is about to be freed; pieces seen before stay readable."""
        self._model = self._vocabulary = None

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of `text`, no BOS added; control tokens written in the text count only if `special`.

        A lone surrogate, which UTF-8 cannot hold, is encoded as "?". Pieces give back the text byte for byte,
        but that SentencePiece vocabularies write U+2581 as a space. Raises BackendError once closed.
        """
        vocabulary = self._opened()
        data = text.encode("utf-8", "replace")
        room = len(data) + 2
        for _ in range(2):  # the second try has the size that the first was told
            ids = (ctypes.c_int32 * room)()
            count = lib.llama_tokenize(vocabulary, data, len(data), ids, room, False, special)  # noqa: FBT003  (a C signature)
            if count >= 0:
                return list(ids[:count])
            room = -count
        raise AssertionError("llama_tokenize asked for more room twice")

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for control tokens. Remembered per token."""
        known = self._pieces[token]
        if known is None:
            known = self._pieces[token] = self._look_up(token)
        return known

    def _look_up(self, token: int) -> bytes:
        if token in self.control_ids:
            return b""
        size = self._piece_into_buffer(token)
        if size < 0:
            self._buffer = ctypes.create_string_buffer(-size)
            size = self._piece_into_buffer(token)
        return self._buffer.raw[:size]

    def _piece_into_buffer(self, token: int) -> int:
        return int(
            lib.llama_token_to_piece(self._opened(), token, self._buffer, len(self._buffer), 0, False)  # noqa: FBT003  (a C signature)
        )

    def _opened(self) -> Handle:
        """llama.cpp's vocabulary; it crashes the process where it is asked about one that was freed."""
        if self._vocabulary is None:
            raise closed_error()
        return self._vocabulary

    def close(self) -> None:
        """Free the model of a vocabulary made by `open_vocabulary`; pieces seen before stay readable."""
        if self._model:
            model = self._model
            self.detach()
            lib.llama_model_free(model)


def open_vocabulary(path: Path) -> LlamaVocabulary:
    """The vocabulary alone of a GGUF file, weights unread. `close` it. Raises ModelLoadError."""
    return LlamaVocabulary(load_model(path, vocabulary_only=True))


def _metadata(model: Handle) -> dict[str, str]:
    def read(call: Callable[..., int], index: int) -> str:
        buffer = ctypes.create_string_buffer(512)
        length = call(model, index, buffer, len(buffer))
        if length >= len(buffer):
            buffer = ctypes.create_string_buffer(length + 1)
            call(model, index, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    return {
        read(lib.llama_model_meta_key_by_index, index): read(lib.llama_model_meta_val_str_by_index, index)
        for index in range(lib.llama_model_meta_count(model))
    }
