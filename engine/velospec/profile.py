"""What was measured of a model on this machine, kept beside the model: `profile.json`, and one for fast mode.

A profile holds for one build of the backend, one processor and one number of threads; under others it is not
used and gets remade. Knows no backend: who measures hands the results in.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from velospec.control.cost_model import CostModel
from velospec.core.request import Mode
from velospec.models.files import write_json
from velospec.verify.exact import Numerics

NAME = "profile.json"
FAST_NAME = "profile-fast.json"
VERSION = 1
_USUAL_CONTEXT = 512

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a measurement holds for."""

    build: str  # the backend's build, with the processor it runs on
    threads: int
    model_sha256: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One model's numerics and speed under `conditions`."""

    conditions: Conditions
    numerics: Numerics
    cost: CostModel  # goes on being refined while the model is in use
    mode: Mode = Mode.EXACT  # FAST only where its numerics are others

    @property
    def tokens_per_second(self) -> float:
        """Of plain decoding, at a context of a few hundred tokens."""
        return 1 / self.cost.seconds(1, _USUAL_CONTEXT)

    @property
    def prefill_tokens_per_second(self) -> float:
        """Of reading a prompt."""
        return self.cost.prefill_rate

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "version": VERSION,
            "mode": str(self.mode),
            "conditions": asdict(self.conditions),
            "numerics": self.numerics.to_dict(),
            "cost": self.cost.to_dict(),
            "prefill_tokens_per_second": self.prefill_tokens_per_second,
            "tokens_per_second": self.tokens_per_second,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Profile:
        """Rebuild what `to_dict` gave. Raises KeyError, TypeError or ValueError on anything else."""
        if data["version"] != VERSION:
            raise ValueError(f"profile version {data['version']}, not {VERSION}")
        return cls(
            Conditions(**data["conditions"]),
            Numerics.from_dict(data["numerics"]),
            CostModel.from_dict(data["cost"]),
            Mode(data.get("mode", Mode.EXACT)),
        )

    def save(self, folder: Path) -> None:
        """Write it beside the model; a folder that cannot be written costs only a new measurement later."""
        try:
            write_json(folder / (NAME if self.mode is Mode.EXACT else FAST_NAME), self.to_dict())
        except OSError as error:
            _logger.warning("The profile could not be kept in %s: %s", folder, error.strerror)


def load_profile(folder: Path, conditions: Conditions, mode: Mode = Mode.EXACT) -> Profile | None:
    """The profile in `folder`; None where there is none, it is damaged, or it holds for other conditions.

    Where all row counts agree, exact mode's profile is that of fast mode too.
    """
    exact = _load(folder / NAME, conditions)
    if mode is Mode.EXACT or (exact is not None and exact.numerics.all_agree):
        return exact
    return _load(folder / FAST_NAME, conditions)


def _load(path: Path, conditions: Conditions) -> Profile | None:
    try:
        profile = Profile.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _logger.warning("The profile %s is not usable and will be remade: %s", path.name, error)
        return None
    return profile if profile.conditions == conditions else None
