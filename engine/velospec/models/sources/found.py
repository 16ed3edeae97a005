"""Models that other programs keep on this disk: Ollama, LM Studio, llama.cpp, and the Hugging Face cache.

Reads their folders; starts none of them, and asks no network.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from velospec.core.errors import InstallError, ModelLoadError
from velospec.models.gguf import read_head
from velospec.models.sources.own_file import OwnFile, name_from

_MODEL_LAYER = "application/vnd.ollama.image.model"
_LICENCE_LAYER = "application/vnd.ollama.image.license"
_NOT_A_MODEL = re.compile(r"mmproj|-(?!00001-of)\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A usable GGUF of another program. `reference` is what `velospec model install` takes."""

    program: str
    reference: str
    path: Path
    size: int
    licence: str | None = None

    def source(self) -> OwnFile:
        """The source that installs it where it lies."""
        name = name_from(self.reference.removeprefix("ollama:")) if self.program == "Ollama" else ""
        return OwnFile(self.path, name=name, words=self.reference, licence=self.licence)


def found_models() -> list[FoundModel]:
    """All usable models of other programs on this disk. Unreadable folders and files are passed over."""
    models = [*_ollama(), *_lm_studio(), *_llama_cpp(), *_hub_cache()]
    return [model for model in models if _usable(model.path)]


def ollama_model(name: str) -> OwnFile:
    """The model that Ollama keeps as `name` (a tag may be left out: `latest`). Raises InstallError."""
    wanted = name if ":" in name else f"{name}:latest"
    kept = {model.reference.removeprefix("ollama:"): model for model in _ollama()}
    if wanted in kept:
        return kept[wanted].source()
    have = f"It keeps: {', '.join(sorted(kept))}." if kept else "No models of Ollama were found."
    raise InstallError(
        f'Ollama keeps no model "{wanted}" on this disk.', f"{have} Fetch it first: ollama pull {name}"
    )


def cached_hub_files(repository: str) -> dict[str, Path]:
    """The GGUF files of a hub repository that the Hugging Face cache holds, by name, the newest of each."""
    folder = hub_cache() / f"models--{repository.replace('/', '--')}" / "snapshots"
    files = sorted(_gguf_files(folder), key=lambda path: path.stat().st_mtime)
    return {path.name: path for path in files}


def hub_cache() -> Path:
    """Where huggingface_hub keeps its downloads, by the rules that it documents."""
    home = os.environ.get("HF_HOME") or str(_cache_home() / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def _usable(path: Path) -> bool:
    try:
        head = read_head(path)
    except ModelLoadError:
        return False
    return not head.vocabulary_only and head.scalars.get("general.type", "model") == "model"


def _ollama() -> Iterator[FoundModel]:
    for folder in _ollama_folders():
        for manifest in _walk(folder / "manifests", "*"):
            layers = _layers(manifest)
            if (digest := layers.get(_MODEL_LAYER)) is None:
                continue
            blob = folder / "blobs" / digest.replace(":", "-")
            if blob.is_file():
                yield FoundModel(
                    "Ollama",
                    f"ollama:{_ollama_name(manifest.relative_to(folder / 'manifests'))}",
                    blob,
                    blob.stat().st_size,
                    _first_line(folder / "blobs" / layers.get(_LICENCE_LAYER, "none").replace(":", "-")),
                )


def _ollama_folders() -> list[Path]:
    own = os.environ.get("OLLAMA_MODELS")
    homes = [Path.home() / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models")]
    return [Path(own).expanduser()] if own else homes


def _ollama_name(manifest: Path) -> str:
    """`registry.ollama.ai/library/NAME/TAG` is NAME:TAG; other registries and owners are named in full."""
    *owner, name, tag = manifest.parts
    shown = [part for part in owner if part not in {"registry.ollama.ai", "library"}]
    return "/".join([*shown, name]) + f":{tag}"


def _layers(manifest: Path) -> dict[str, str]:
    """Digest by media type."""
    try:
        layers: list[dict[str, Any]] = json.loads(manifest.read_text("utf-8"))["layers"]
        return {str(layer["mediaType"]): str(layer["digest"]) for layer in layers}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return next((line.strip() for line in file if line.strip()), None)
    except OSError:
        return None


def _lm_studio() -> Iterator[FoundModel]:
    for folder in (Path.home() / ".lmstudio" / "models", Path.home() / ".cache" / "lm-studio" / "models"):
        yield from _by_path("LM Studio", folder)


def _llama_cpp() -> Iterator[FoundModel]:
    own = os.environ.get("LLAMA_CACHE")
    yield from _by_path("llama.cpp", Path(own).expanduser() if own else _cache_home() / "llama.cpp")


def _hub_cache() -> Iterator[FoundModel]:
    yield from _by_path("Hugging Face", hub_cache())


def _by_path(program: str, folder: Path) -> Iterator[FoundModel]:
    for path in _gguf_files(folder):
        yield FoundModel(program, str(path), path, path.stat().st_size)


def _gguf_files(folder: Path) -> Iterator[Path]:
    return (path for path in _walk(folder, "*.gguf") if not _NOT_A_MODEL.search(path.name))


def _walk(folder: Path, pattern: str) -> Iterator[Path]:
    """Files below `folder`, sorted; nothing where it is not there or not readable."""
    try:
        paths = sorted(folder.rglob(pattern))
    except OSError:
        return
    yield from (path for path in paths if path.is_file())


def _cache_home() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
