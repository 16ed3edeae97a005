"""The rules of each language in the ids of one model: compiled once, then kept beside the model."""

from __future__ import annotations

from pathlib import Path

from velospec.backends.base import Vocabulary
from velospec.learning import store
from velospec.learning.rules import RulePack, digest, shipped_pack
from velospec.learning.token_rules import VERSION, TokenRules, compile_rules

SHIPPED = ("python",)
"""The languages that a pack comes with VeloSpec for."""


class RuleLibrary:
    """Gives out token rules by language."""

    def __init__(self, vocabulary: Vocabulary, folder: Path, model: str) -> None:
        """Keep compiled rules in `folder`; `model` names the vocabulary, by the sum of the model's file."""
        self._vocabulary = vocabulary
        self._folder = folder
        self._model = model
        self._loaded: dict[str, TokenRules | None] = {}

    def rules(self, language: str) -> TokenRules | None:
        """The rules of `language`; None where no pack has any.

        The first call takes a tenth of a second, or, for a model that was not used before, one to three.
        """
        if language not in self._loaded:
            self._loaded[language] = self._load(language) if language in SHIPPED else None
        return self._loaded[language]

    def prepare(self) -> None:
        """Have all rules at hand, so that no request has to wait for them."""
        for language in SHIPPED:
            self.rules(language)

    def _load(self, language: str) -> TokenRules:
        pack = shipped_pack(language)
        path, key = self._folder / f"rules-{language}.msgpack", f"{VERSION}-{digest(pack)}-{self._model}"
        data = store.load(path, key)
        if data is not None:
            return TokenRules.from_data(data)
        rules = compile_rules(RulePack.from_bytes(pack), self._vocabulary)
        store.save(path, key, rules.to_data())
        return rules
