"""A GGUF file in a repository of the Hugging Face hub, through huggingface_hub.

So HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the rest are honoured, and an interrupted download is resumed.
The revision is pinned to the commit seen at installation, and the file checked against the hub's SHA-256 of
it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from velospec.core.errors import InstallError
from velospec.models.files import hash_file, require_space
from velospec.models.memory import available_memory
from velospec.models.progress import Progress
from velospec.models.sources.base import Fetched
from velospec.models.sources.found import cached_hub_files
from velospec.models.sources.own_file import name_from

T = TypeVar("T")

DOWNLOADS = ".downloads"
"""Kept between attempts beside the installed models, so that a download can be resumed."""

_PREFERENCE = ("q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_0", "q4_k_m", "q4_k_s", "q4_0", "f16", "bf16")
_LEFT_OUT = re.compile(r"mmproj|imatrix|-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository as the hub describes it. `sha256` is None for files kept outside LFS."""

    name: str
    size: int
    sha256: str | None


class HubModel:
    """A repository, and one of its files if the user named one."""

    def __init__(
        self, repository: str, file: str | None = None, *, name: str = "", licence: str = ""
    ) -> None:
        self.repository, self.file = repository, file
        self.name = name or name_from(Path(file).stem if file else repository.partition("/")[2])
        self.words = f"hf:{repository}" + (f"/{file}" if file else "")
        self._licence = licence or None

    def fetch(self, folder: Path, progress: Progress) -> Fetched:
        """Choose the file, download it, check its sum. Offline, use what the hub's own cache holds."""
        progress(f"Asking for {self.repository}", 0, 0)
        try:
            info = _ask(self.repository)
        except InstallError:
            if (cached := self._cached()) is not None:
                return Fetched(cached, hash_file(cached, progress), self.words, self._licence)
            raise
        chosen = self._choose(_files(info))
        require_space(folder, chosen.size)
        downloads = folder.parent / DOWNLOADS / self.repository.replace("/", "--")
        path = _download(self.repository, chosen, info.sha, downloads, progress)
        digest = hash_file(path, progress)
        if chosen.sha256 is not None and digest != chosen.sha256:
            shutil.rmtree(downloads)
            raise InstallError(
                f"{chosen.name} arrived damaged: its checksum is {digest[:16]}…, not {chosen.sha256[:16]}…",
                "Try again; nothing was installed.",
            )
        target = folder / Path(chosen.name).name
        path.rename(target)
        shutil.rmtree(downloads)
        licence = self._licence or getattr(info.card_data, "license", None)
        return Fetched(target, digest, f"hf:{self.repository}/{chosen.name}@{info.sha}", licence)

    def _choose(self, files: list[HubFile]) -> HubFile:
        if self.file is not None:
            named = next((file for file in files if file.name == self.file), None)
            if named is None:
                raise InstallError(
                    f"{self.repository} has no file {self.file}.",
                    f"It has: {', '.join(file.name for file in files) or 'no GGUF file'}.",
                )
            return named
        return choose_file(files, available_memory(), self.repository)

    def _cached(self) -> Path | None:
        """The file that the hub's cache on this disk holds, to be used where it lies."""
        files = cached_hub_files(self.repository)
        if self.file is not None:
            return files.get(Path(self.file).name)
        ranked = sorted(files, key=_rank)
        return files[ranked[0]] if ranked else None


def choose_file(files: list[HubFile], available: int, repository: str) -> HubFile:
    """The least quantized file, by a fixed preference, that takes half of the available memory at most.

    The smallest one where none does. Raises InstallError if there is nothing to choose from.
    """
    whole = [file for file in files if not _LEFT_OUT.search(file.name)]
    if not whole:
        raise InstallError(
            f"{repository} has no GGUF file that can be installed.",
            "Choose a repository with GGUF in its name; files in several parts are installed by their path.",
        )
    fitting = [file for file in whole if _rank(file.name) < len(_PREFERENCE) and file.size * 2 <= available]
    if fitting:
        return min(fitting, key=lambda file: _rank(file.name))
    return min(whole, key=lambda file: file.size)


def _rank(name: str) -> int:
    """Place of a file's quantisation in the preference, by its name."""
    words = re.split(r"[.-]", name.lower())
    return next((place for place, kind in enumerate(_PREFERENCE) if kind in words), len(_PREFERENCE))


def _files(info: Any) -> list[HubFile]:
    return [
        HubFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else None)
        for file in info.siblings or ()
        if file.rfilename.lower().endswith(".gguf")
    ]


def _ask(repository: str) -> Any:
    """The hub's description of a repository, file sizes and sums included. Raises InstallError."""
    from huggingface_hub import HfApi  # noqa: PLC0415 - 0.3 s that only this source needs

    return _told_plainly(repository, lambda: HfApi().model_info(repository, files_metadata=True))


def _download(repository: str, file: HubFile, revision: str, folder: Path, progress: Progress) -> Path:
    from huggingface_hub import hf_hub_download  # noqa: PLC0415 - see _ask

    bar = _bar_class(f"Downloading {Path(file.name).name}", file.size, progress)
    return Path(
        _told_plainly(
            repository,
            lambda: hf_hub_download(
                repository, file.name, revision=revision, local_dir=folder, tqdm_class=bar
            ),
        )
    )


def _bar_class(label: str, size: int, progress: Progress) -> Any:
    """A progress bar for huggingface_hub that shows nothing itself and tells `progress`."""
    from tqdm.auto import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415 - no types; comes with the hub

    class Bar(tqdm):  # type: ignore[misc]  # tqdm ships no types
        def __init__(self, *args: Any, **settings: Any) -> None:
            settings.pop("name", None)
            super().__init__(*args, **{**settings, "disable": True})
            self._done = int(settings.get("initial", 0) or 0)
            progress(label, self._done, size)

        def update(self, n: float | None = 1) -> bool | None:
            self._done += int(n or 0)
            progress(label, min(self._done, size), size)
            return None

    return Bar


def _told_plainly(repository: str, call: Callable[[], T]) -> T:
    """Run `call`, and turn what huggingface_hub raises into an InstallError."""
    from huggingface_hub import errors  # noqa: PLC0415 - see _ask

    network: tuple[type[BaseException], ...] = (
        errors.HfHubHTTPError,
        errors.HFValidationError,
        *_network_errors(),
    )
    try:
        return call()
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError) as error:
        raise InstallError(
            f"The hub was not asked for {repository}: {_first(error)}", "Unset HF_HUB_OFFLINE, or go online."
        ) from error
    except errors.GatedRepoError as error:
        raise InstallError(
            f"{repository} is given only to those who accepted its terms.",
            "Accept them on the model's page, then log in: hf auth login",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise InstallError(
            f"The hub has no repository {repository}, or it is private.",
            "Check the name; for a private one log in first: hf auth login",
        ) from error
    except network as error:
        raise InstallError(
            f"{repository} could not be downloaded: {_first(error)}",
            "Check the network (HF_ENDPOINT, HTTPS_PROXY) and try again; the download goes on from there.",
        ) from error


def _network_errors() -> tuple[type[BaseException], ...]:
    """What the HTTP library of this huggingface_hub raises; which library that is has changed over time."""
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 - see _ask

    return (HfHubHTTPError, *(base for base in HfHubHTTPError.__bases__ if base is not OSError))


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
