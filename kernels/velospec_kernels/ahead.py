"""The compiled forms as a whole: which there are, whether the cache has them, and compiling them all."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from velospec_kernels import _build
from velospec_kernels.errors import BuildError

_PACKAGE = Path(__file__).resolve().parent
DEFAULT_ARCHITECTURE = "sm_90"  # where no GPU tells its own: an H100 or H200


class Compiled(NamedTuple):
    """One CUDA source for one target. `library` is None where its compiler is missing."""

    operation: str
    target: str  # an architecture of CUDA: sm_90
    library: Path | None
    why: str = ""  # the error, where there is no library to be had

    @property
    def built(self) -> bool:
        """Whether the cache has it."""
        return self.library is not None and self.library.exists()


def operations() -> list[str]:
    """The operations with a CUDA source, in order of their names."""
    return sorted(source.stem for source in _PACKAGE.glob("*/*.cu"))


def architectures() -> list[str]:
    """Those of the GPUs that torch sees here, or the default."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return [DEFAULT_ARCHITECTURE]
    found = {torch.cuda.get_device_capability(number) for number in range(torch.cuda.device_count())}
    return sorted(f"sm_{major}{minor}" for major, minor in found) or [DEFAULT_ARCHITECTURE]


def folder() -> Path:
    """Where the compiled ones lie."""
    return _build.cache_folder()


def listed(targets: list[str]) -> Iterator[Compiled]:
    """Each CUDA operation for each of `targets`; compiles nothing."""
    for operation in operations():
        for target in targets:
            try:
                yield Compiled(operation, target, _build.library_of(_build.source_of(operation), target))
            except BuildError as error:
                yield Compiled(operation, target, None, error.cause)


def build(operation: str, target: str) -> Path:
    """Compile `operation` for `target`, unless the cache has it. Raises BuildError."""
    return _build.build(_build.source_of(operation), target)
