"""Installs a model: fetch into a folder of its own, check, write the manifest, rename. All or nothing.

Knows the order of the steps and the names of sources; each source knows how to fetch, `store` how models lie
on the disk. An interruption at any point leaves the installed models as they were; what it leaves behind is
swept up by the next installation.
"""

from __future__ import annotations

import difflib
import os
import shutil
from pathlib import Path

from velospec.core.errors import InstallError
from velospec.models.catalogue import CatalogueEntry, WheelSource, catalogue
from velospec.models.files import disk_errors, install_lock, write_json
from velospec.models.gguf import GgufHead, read_head
from velospec.models.infill import knows_infill, no_infill
from velospec.models.progress import Progress, silent
from velospec.models.selftest import run_selftest
from velospec.models.sources.base import Fetched, Source
from velospec.models.sources.found import ollama_model
from velospec.models.sources.hub import HubModel
from velospec.models.sources.own_file import OwnFile
from velospec.models.sources.wheel import WheelModel
from velospec.models.store import MANIFEST, MANIFEST_VERSION, InstalledModel, ModelStore, is_model_name

_STAGING, _REPLACED, _REMOVED = ".installing-", ".replaced-", ".removed-"


def install(
    wanted: str,
    *,
    store: ModelStore | None = None,
    name: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> InstalledModel:
    """Install `wanted`: a name of the catalogue, a path, `hf:…` or `ollama:…`. Returns the installed model.

    A model that is installed already is left alone unless `force`. Raises InstallError, and ModelLoadError
    where the file turns out to be no usable model.
    """
    store = store if store is not None else ModelStore()
    source, entry = resolve(wanted)
    name = name or source.name
    if not is_model_name(name):
        raise InstallError(
            f'"{name}" cannot name a model.', "Use letters, digits and ._+- only: --name my-model"
        )
    with disk_errors(store.folder), install_lock(store.folder):
        sweep(store.folder)
        installed = next((model for model in store.list() if model.name == name), None)
        if installed is not None and installed.present and not force:
            _refuse_another(installed, source)
            return installed
        staging = store.folder / f"{_STAGING}{name}"
        staging.mkdir()
        try:
            fetched = source.fetch(staging, progress)
            if entry is not None and entry.checks:
                progress("Testing the model", 0, 0)
                run_selftest(fetched.file, entry.checks)
            _write_manifest(staging, fetched, entry)
            _put_in_place(staging, store.folder / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        model = store.get(name)
        _choose_where_nothing_is_chosen(store, model)
    return model


def resolve(wanted: str) -> tuple[Source, CatalogueEntry | None]:
    """The source that `wanted` names, and its catalogue entry if it has one. Raises InstallError."""
    entry = catalogue().get(wanted)
    if entry is not None:
        return _catalogue_source(entry), entry
    kind, _, rest = wanted.partition(":")
    if kind == "hf" and rest:
        return _hub_source(rest), None
    if kind == "ollama" and rest:
        return ollama_model(rest), None
    if wanted.lower().endswith(".gguf") or any(sign in wanted for sign in ("/", os.sep)):
        return OwnFile(Path(wanted)), None
    known = list(catalogue())
    near = difflib.get_close_matches(wanted.lower(), known, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(near)}?" if near else "See what there is: velospec model list."
    raise InstallError(
        f'There is no model "{wanted}" in the catalogue.',
        f"{hint} Or give a .gguf path, hf:OWNER/REPOSITORY[/FILE] or ollama:NAME.",
    )


def _catalogue_source(entry: CatalogueEntry) -> Source:
    if isinstance(entry.source, WheelSource):
        return WheelModel(entry, entry.source)
    source = entry.source
    return HubModel(source.repository, source.file, name=entry.name, licence=entry.licence)


def _hub_source(rest: str) -> HubModel:
    owner, _, tail = rest.strip("/").partition("/")
    repository, _, file = tail.partition("/")
    if not repository:
        raise InstallError(f'"hf:{rest}" names no repository.', "Write hf:OWNER/REPOSITORY or …/FILE.gguf.")
    return HubModel(f"{owner}/{repository}", file or None)


def sweep(folder: Path) -> None:
    """Remove what interrupted installations left; call only while holding the lock."""
    for leftover in folder.glob(".*-*"):
        if leftover.name.startswith(_REPLACED):
            place = folder / leftover.name.removeprefix(_REPLACED)
            if not place.exists():  # killed between the two renames of a replacement
                leftover.rename(place)
                continue
        if leftover.name.startswith((_STAGING, _REPLACED, _REMOVED)):
            shutil.rmtree(leftover)


def _write_manifest(staging: Path, fetched: Fetched, entry: CatalogueEntry | None) -> None:
    head = read_head(fetched.file)
    _refuse_what_is_no_model(head)
    inside = fetched.file.is_relative_to(staging)
    stat = fetched.file.stat()
    title = str(head.scalars.get("general.name", ""))
    manifest = {
        "version": MANIFEST_VERSION,
        "roles": list(entry.roles if entry else roles_of(head)),
        "file": str(fetched.file.relative_to(staging) if inside else fetched.file),
        "sha256": fetched.sha256,
        "size": stat.st_size,
        "modified_ns": stat.st_mtime_ns,
        "licence": fetched.licence or str(head.scalars.get("general.license", "unknown")),
        "source": fetched.source,
        "infill": entry.infill if entry else None,
        "description": entry.title if entry else title,
        "parameters": head.parameters,
    }
    write_json(staging / MANIFEST, manifest)


def _refuse_what_is_no_model(head: GgufHead) -> None:
    kind = str(head.scalars.get("general.type", "model"))
    if head.vocabulary_only or kind not in {"model", ""} or not head.architecture:
        what = "a vocabulary without weights" if head.vocabulary_only else f"of the kind {kind}"
        raise InstallError(
            f"{head.path.name} is no model that can be run; it is {what}.", "Choose another file."
        )


def _refuse_another(installed: InstalledModel, source: Source) -> None:
    """The same name for another file would silently keep the old one."""
    if installed.external and installed.source != source.words:
        raise InstallError(
            f"A model {installed.name} is installed already, from {installed.source}.",
            "Give this one another name (--name), or replace that one (--force).",
        )


def roles_of(head: GgufHead) -> tuple[str, ...]:
    """What a model that is in no catalogue can do, by its metadata and vocabulary. Raises InfillError."""
    roles = (
        *(("completion",) if knows_infill(head) else ()),
        *(("chat",) if "tokenizer.chat_template" in head.scalars else ()),
    )
    if not roles:
        raise no_infill(head.path.name)
    return roles


def _put_in_place(staging: Path, place: Path) -> None:
    """Rename the finished folder to its name, an older one aside first."""
    aside = place.with_name(_REPLACED + place.name)
    if place.exists():
        place.rename(aside)
    staging.rename(place)
    _sync_folder(place.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Make renames in `folder` last through a power cut; Windows knows no such call."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _choose_where_nothing_is_chosen(store: ModelStore, model: InstalledModel) -> None:
    """The first model of a role stays its default when others follow."""
    for role in model.roles:
        if (first := store.default(role)) is not None:
            store.use(first.name, role)
