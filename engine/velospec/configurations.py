"""The configurations of the first VeloSpec, C1 to C4, and what has taken their place, as ways to draft."""

from __future__ import annotations

from enum import StrEnum

from velospec.core.errors import SettingsError
from velospec.drafting import Control, Drafting
from velospec.models.store import InstalledModel


class Config(StrEnum):
    """How drafts and grammar go together. C1 to C4 are the first VeloSpec's, to be compared with."""

    C1 = "C1"  # no grammar at all: schemas and tools are not looked at
    C2 = "C2"  # the grammar restricts the target alone; drafts may break it
    C3 = "C3"  # the grammar restricts drafts too, which have at most K ids
    C4 = "C4"  # C3 with K by the share of the vocabulary that the grammar allows
    AUTO = "auto"  # draft and length by what is expected to be quickest, density being one sign of several


def drafting_of(config: str, width: int, draft_model: InstalledModel | None = None) -> Drafting:
    """How `config` drafts: by the draft model alone where there is one, but for auto, which asks everyone.

    Raises SettingsError.
    """
    if config not in tuple(Config):
        raise SettingsError(f"There is no configuration {config!r}.", f"There are {', '.join(Config)}.")
    if config == Config.AUTO:
        return Drafting(draft_model=draft_model)
    return Drafting(
        proposers=None if draft_model is None else frozenset({"draft_model"}),
        control=Control.DENSITY if config == Config.C4 else Control.FIXED,
        length=width,
        grammar_trims=config != Config.C2,
        draft_model=draft_model,
    )
