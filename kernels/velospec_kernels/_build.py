"""Compiles an operation's CUDA source to a shared library in the user's cache, and loads it.

A library is keyed by everything that shapes it: source, shared headers, flags, architecture and the
compiler's version. The package's own folder is never written to, and nothing is compiled at import.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from velospec_kernels.errors import BuildError, LaunchError

FLAGS = ("-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden")
_PACKAGE = Path(__file__).resolve().parent
USUAL_NVCC = Path("/usr/local/cuda/bin/nvcc")
INCLUDE = _PACKAGE / "include"
_SECONDS = 600  # a compiler that takes longer hangs


def source_of(operation: str) -> Path:
    """The CUDA source of `operation`, which has the name of its folder."""
    return _PACKAGE / operation / f"{operation}.cu"


def cache_folder() -> Path:
    """Where compiled libraries lie: under VELOSPEC_HOME, or in the user's cache."""
    home = os.environ.get("VELOSPEC_HOME")
    if home:
        return Path(home).expanduser().absolute() / "cache" / "kernels"
    import platformdirs  # noqa: PLC0415 - with VELOSPEC_HOME set, numpy alone is enough

    return Path(platformdirs.user_cache_dir("velospec", appauthor=False)) / "kernels"


def find_nvcc() -> Path:
    """The CUDA compiler: of CUDA_HOME, else on PATH, else in its usual place. Raises BuildError."""
    home = os.environ.get("CUDA_HOME")
    named = Path(home) / "bin" / "nvcc" if home else None
    on_path = shutil.which("nvcc")
    for candidate in (named, Path(on_path) if on_path else None, USUAL_NVCC):
        if candidate is not None and os.access(candidate, os.X_OK):
            return candidate
    raise BuildError(
        f"The CUDA compiler nvcc was not found (CUDA_HOME is {home or 'not set'}, and it is not on PATH).",
        "Install the CUDA toolkit 12.4 or later, or set CUDA_HOME to its folder.",
    )


def build(source: Path, architecture: str) -> Path:
    """The shared library of `source` for `architecture` ("sm_90"), compiled unless the cache has it.

    Two processes that compile the same at once both succeed. Raises BuildError.
    """
    library = library_of(source, architecture)
    if library.exists():
        return library
    nvcc = find_nvcc()
    virtual = architecture.replace("sm_", "compute_")
    target = f"-gencode=arch={virtual},code={architecture}"
    return make(library, [str(nvcc), *FLAGS, target, f"-I{INCLUDE}", str(source)])


def library_of(source: Path, architecture: str) -> Path:
    """Where the cache has the library of `source` for `architecture`, compiled or not. Raises BuildError."""
    return cache_folder() / f"{source.stem}-{architecture}-{_key(source, architecture, find_nvcc())}.so"


def make(library: Path, command: list[str]) -> Path:
    """Run a compiler's `command` with `-o` and a file added, and put what it made at `library`.

    Raises BuildError.
    """
    try:
        library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            made = Path(scratch) / library.name
            run([*command, "-o", str(made)])
            made.replace(library)
    except OSError as error:
        raise BuildError(
            f"The cache of compiled kernels cannot be written: {error}.",
            f"Make {library.parent} writeable, or set VELOSPEC_HOME to a folder that is.",
        ) from error
    return library


@functools.cache
def load(operation: str, architecture: str) -> ctypes.CDLL:
    """The compiled library of `operation`, loaded once per process. Raises BuildError."""
    library = build(source_of(operation), architecture)
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        raise BuildError(
            f"The compiled kernel {library} cannot be loaded: {error}.",
            f"Delete {library.parent} and try again.",
        ) from error
    loaded.velospec_error_string.restype = ctypes.c_char_p
    loaded.velospec_error_string.argtypes = [ctypes.c_int]
    return loaded


def check(library: ctypes.CDLL, status: int) -> None:
    """Raise LaunchError unless `status`, a cudaError_t, is success."""
    if status:
        text = library.velospec_error_string(status).decode()
        raise LaunchError(f"The CUDA runtime refused the launch: {text} (error {status}).")


def _key(source: Path, architecture: str, nvcc: Path) -> str:
    return key((*FLAGS, architecture, version(nvcc)), (source, *sorted(INCLUDE.glob("*.cuh"))))


def key(parts: Iterable[str], files: Iterable[Path]) -> str:
    """A short digest of all that shapes a library."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    for file in files:
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@functools.cache
def version(compiler: Path) -> str:
    """What a compiler says of itself. Raises BuildError."""
    return run([str(compiler), "--version"])


def run(command: list[str]) -> str:
    """The output of a compiler. Raises BuildError with its last lines."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} did not finish within {_SECONDS} seconds.") from error
    if done.returncode:
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-20:])
        raise BuildError(
            f"{' '.join(command)} failed with status {done.returncode}:\n{tail}\n",
            "Check the compiler's installation; CUDA's needs a host compiler that fits it.",
        )
    return done.stdout
