"""A second model that drafts for the first: loaded beside it and sized for it."""

from __future__ import annotations

from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions
from velospec.models.store import InstalledModel
from velospec.proposers.draft_model import DraftModel, require_same_tokens


class SecondModel:
    """A loaded draft model and its proposer."""

    def __init__(self, model: InstalledModel, target: LlamaBackend) -> None:
        """Load `model` with the context and the threads of `target`, and time it.

        Its numerics need not be exact, since whatever it drafts is verified.

        Raises:
            ModelLoadError: llama.cpp cannot use the file.
            SettingsError: its tokenizer is not that of the target.
            BackendError: it cannot decode.
        """
        self.name = model.name
        options = LlamaOptions(context=target.context, slots=1, threads=target.threads)
        self._backend = LlamaBackend(model.path, options)
        try:
            require_same_tokens(self._backend.vocabulary, target.vocabulary, model.name)
            self.proposer = DraftModel(self._backend, target.vocabulary.size)
        except BaseException:
            self._backend.close()
            raise

    @property
    def memory_bytes(self) -> int:
        return self._backend.memory_bytes

    def close(self) -> None:
        """Free the model. Idempotent."""
        self._backend.close()
