"""The files that `velospec benchmark quality` takes its cursors from, all of them on this machine already.

The standard library, which every model of code has read; libraries that VeloSpec depends on and few others
do; and the JavaScript that some installed distributions carry, which a notice stands for where there is none.
None of them gave data to the fit of the quiet gate (scripts/fit_quiet.py).
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from velospec_cli.benchmark.suites.completion import find_library
from velospec_cli.benchmark.suites.quality_places import Place, SourceFile, places

DISTRIBUTIONS = ("pygls", "pathspec", "gguf", "llama-cpp-python", "diskcache")
"""Of the packages in `_PACKAGES`, in the same order."""

STANDARD_LIBRARY = "stdlib"

_PACKAGES = ("pygls", "pathspec", "gguf", "llama_cpp", "diskcache")
_SCRIPTS = {"torch": "torch/utils/model_dump/code.js", "import-linter": "importlinter/ui/static/explorer.js"}
_NOT_SOURCE = frozenset({"test", "tests", "site-packages", "encodings", "idlelib", "lib2to3", "pydoc_data"})
_SMALLEST, _LARGEST = 2_500, 150_000  # characters of a file: what is beyond is a stub or data

_PYTHON = {
    "word": 200,
    "border": 200,
    "start": 50,
    "closed": 50,
    "block": 60,
    "prose": 50,
    "end": 40,
    "empty": 40,
}
_SCRIPT = {"word": 40, "closed": 10, "prose": 10}


def load() -> tuple[list[Place], list[str]]:
    """All places in the order in which they are run, and what is missing. Raises VeloSpecError."""
    packages = [file for name in _PACKAGES for file in _package(name)]
    scripts, notices = _scripts()
    found = [
        *places(_standard_library(), _PYTHON),
        *places(packages, _PYTHON, per_file=8),
        *places(scripts, _SCRIPT, per_file=30),
    ]
    return found, notices


def spread(found: list[Place], count: int) -> list[Place]:
    """`count` of the places, evenly over all of them and so of each kind, in their order."""
    return [found[index * len(found) // count] for index in range(count)] if count < len(found) else found


def _standard_library() -> list[SourceFile]:
    root = Path(sysconfig.get_path("stdlib"))
    return list(_files(STANDARD_LIBRARY, root, sorted(root.rglob("*.py"))))


def _package(name: str) -> Iterator[SourceFile]:
    library = find_library(name)
    return _files(name, library.root, library.files)


def _files(library: str, root: Path, paths: Iterable[Path]) -> Iterator[SourceFile]:
    for path in paths:
        parts = path.relative_to(root).parts
        if _NOT_SOURCE.isdisjoint(parts):
            file = _read(path, f"{library}/{'/'.join(parts)}", "python")
            if file is not None:
                yield file


def _scripts() -> tuple[list[SourceFile], list[str]]:
    found, notices = [], []
    for name, path in _SCRIPTS.items():
        try:
            file = _read(Path(str(distribution(name).locate_file(path))), path, "javascript")
        except PackageNotFoundError:
            file = None
        if file is None:
            notices.append(f"Without the JavaScript of {name}, which is not installed.")
        else:
            found.append(file)
    return found, notices


def _read(path: Path, name: str, language: str) -> SourceFile | None:
    """The file as an editor's buffer has it; None where it is no text, or too small or large to tell much."""
    try:
        text = path.read_text("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return None
    return SourceFile(name, language, text) if _SMALLEST <= len(text) <= _LARGEST else None
