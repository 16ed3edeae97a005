"""Mine the pack of Python rules that VeloSpec ships, from the standard library and installed packages.

    python scripts/mine_pack.py

Writes `python.rules` and `SOURCES.md` into `engine/velospec/learning/packs/`. Only sources under licences
that ask for no more than attribution are read, and nothing of them is kept but which short runs of lexemes
are common to several. Modules that are collections of textbook algorithms are left out. The same versions of
the sources make the same pack, byte for byte.
"""

from __future__ import annotations

import platform
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from velospec.learning.miner import Thresholds, mine

TARGET = Path(__file__).resolve().parent.parent / "engine" / "velospec" / "learning" / "packs"
THRESHOLDS = Thresholds(support=10, groups=3)
MOST_CHARACTERS = 400_000  # longer files are tables

LICENCES = {
    "MIT": (
        "annotated-types anyio attrs build cattrs charset-normalizer filelock h11 hatchling markdown-it-py "
        "mypy pip pipx platformdirs pluggy pydantic pyproject_hooks pytest pytest-timeout PyYAML rich "
        "setuptools tomlkit truststore typer typing-inspection urllib3 userpath wheel"
    ),
    "BSD": "click fsspec grimp httpcore2 httpx2 idna import-linter Jinja2 numpy psutil Pygments",
    "Apache-2.0": "argcomplete diskcache huggingface_hub packaging pygls pynvim requests sortedcontainers",
}
SKIPPED_FOLDERS = frozenset(
    [
        "__pycache__",
        "_vendor",
        "_vendored_packages",
        "dist-packages",
        "distutils",
        "encodings",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "pydoc_data",
        "site-packages",
        "test",
        "tests",
        "turtledemo",
        "vendor",
    ]
)
SKIPPED_MODULES = frozenset(("bisect.py", "fractions.py", "graphlib.py", "heapq.py", "statistics.py"))


def main() -> int:
    """Write the pack and the list of its sources."""
    counts: Counter[str] = Counter()
    pack = mine(_texts(counts), THRESHOLDS)
    data = pack.to_bytes()
    TARGET.mkdir(exist_ok=True)
    (TARGET / "python.rules").write_bytes(data)
    (TARGET / "SOURCES.md").write_text(_sources(counts, len(pack)))
    sys.stdout.write(f"{len(pack)} rules, {len(data)} bytes, from {counts.total()} files" + "\n")
    return 0


def _texts(counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Groups and texts: each module or package of the standard library and each distribution is a group."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).parts
        if not SKIPPED_FOLDERS.intersection(parts) and parts[0] not in SKIPPED_MODULES:
            yield from _read(f"python/{parts[0].removesuffix('.py')}", path, "python", counts)
    for name in sorted(name for names in LICENCES.values() for name in names.split()):
        for file in sorted(distribution(name).files or (), key=str):
            if file.suffix == ".py" and not SKIPPED_FOLDERS.intersection(file.parts):
                yield from _read(f"package/{name}", Path(str(file.locate())), name, counts)


def _read(group: str, path: Path, source: str, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:  # a file in a legacy encoding
        return
    if len(text) <= MOST_CHARACTERS:
        counts[source] += 1
        yield group, text.replace("\r\n", "\n")


def _sources(counts: Counter[str], rules: int) -> str:
    licence = {name: key for key, names in LICENCES.items() for name in names.split()}
    rows = [f"| Python standard library | {platform.python_version()} | PSF-2.0 | {counts['python']} |"]
    rows += [
        f"| {name} | {distribution(name).version} | {licence[name]} | {counts[name]} |"
        for name in sorted(licence, key=str.lower)
    ]
    return (
        "# Sources of the packs\n\n"
        f"`python.rules` holds {rules} rules, mined by `scripts/mine_pack.py` from the Python files of these "
        "sources.\nA rule is a run of at most nine lexemes with two counts, and was seen at least "
        f"{THRESHOLDS.support} times\nin at least {THRESHOLDS.groups} packages or modules; no other text of "
        "them is kept.\n\n"
        "| source | version | licence | files |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
