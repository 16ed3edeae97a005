"""Compiles an operation's C source for this machine's processor into the user's cache.

As `_build` does for CUDA, with the C compiler that llama.cpp was compiled with in all likelihood.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from velospec_kernels._build import cache_folder, key, make, version
from velospec_kernels.errors import BuildError

FLAGS = ("-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread")


def find_compiler() -> Path:
    """The C compiler: CC, else cc, gcc or clang on PATH. Raises BuildError."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        found = shutil.which(name) if name else None
        if found:
            return Path(found)
    raise BuildError(
        "No C compiler was found (neither CC nor cc, gcc or clang on PATH).",
        "Install one; Debian, Ubuntu: sudo apt-get install gcc libc6-dev",
    )


def build(source: Path, optimize: str = "-O3") -> Path:
    """The shared library of `source`, compiled unless the cache has it. Raises BuildError.

    `optimize` is the compiler's option for it.
    """
    compiler = find_compiler()
    headers = sorted(source.parent.glob("*.h"))
    flags = (*FLAGS, optimize)
    digest = key((*flags, str(compiler), version(compiler)), (source, *headers))
    library = cache_folder() / f"{source.stem}-host-{digest}.so"
    return library if library.exists() else make(library, [str(compiler), *flags, str(source)])
