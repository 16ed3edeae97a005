"""Set up the virtual environment in `.venv`, from nothing to ready; quick when it is ready already.

    python3 scripts/setup.py          what `make demo` and `make install` need
    python3 scripts/setup.py --dev    what `make test` needs

llama.cpp is compiled once for its version and its flags, and the result is kept in `.cache/wheels`, so that a
new `.venv` does not compile again. All else is installed by the hashes in `requirements/`. A set-up that was
killed half-way leaves a mark, and the next one starts over. Standard library only; runs on any Python 3 far
enough to find a newer one or to say what is missing.

`VELOSPEC_CMAKE_ARGS` replaces the flags with which llama.cpp is compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import prerequisites
import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
LOCKS = ROOT / "requirements"

# A native build crashes on virtual machines whose processor advertises AMX without enabling it; AVX2 does
# not. The multimodal part is not used and takes a third of the compile.
DEFAULT_FLAGS = "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"
_MEMORY_PER_COMPILER = 1.5e9  # bytes; a machine with little memory compiles with fewer processes


def main() -> int:
    """Run the set-up; returns the exit status."""
    parser = argparse.ArgumentParser(description="Set up the virtual environment in .venv.")
    parser.add_argument("--dev", action="store_true", help="with the tools that the tests and checks need")
    options = parser.parse_args()
    kind = "dev" if options.dev else "base"
    try:
        with _only_one():
            return 0 if _ready(kind) else _set_up(kind)
    except progress.StepError as error:
        sys.stderr.write(
            f"{error.tail}{error}\nRun the same command again to go on. Proxy and index are those of pip.\n"
        )
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Run the same command again to go on.\n")
        return 130


def _set_up(kind: str) -> int:
    interpreter = prerequisites.python()
    wheel = _kept_wheel()
    temporary = Path(tempfile.gettempdir())
    places = {ROOT: 2.0, temporary: 1.0} if wheel is None else {ROOT: 1.0}
    missing = prerequisites.missing(interpreter, compiler=wheel is None, places=places)
    if missing or interpreter is None:
        sys.stderr.write("VeloSpec cannot be set up yet:\n")
        sys.stderr.writelines(f"  - {sentence}\n" for sentence in missing)
        sys.stderr.write(f"This installs what is missing:\n  {prerequisites.remedy()}\n")
        return 1
    if _unfinished().exists() or not _healthy():
        shutil.rmtree(VENV, ignore_errors=True)
        _run("Creating .venv", [interpreter, "-m", "venv", str(VENV)], "venv")
    _unfinished().parent.mkdir(exist_ok=True)
    for stamp in _unfinished().parent.glob("*.stamp"):
        stamp.unlink()
    _unfinished().touch()
    locked = ["--no-deps", "--require-hashes", "-r", str(LOCKS / f"{kind}.txt")]
    _pip(f"Installing packages ({kind})", "install", *locked)
    _pip("Installing llama.cpp", "install", "--no-deps", "--force-reinstall", str(wheel or _compile()))
    _run("Checking llama.cpp", [str(_python()), "-c", "import llama_cpp"], "llama-check")
    _pip("Installing VeloSpec", "install", "--no-deps", "-e", str(ROOT))
    if kind == "dev" and not (shutil.which("node") and shutil.which("npm")):
        node = ["--no-deps", "--require-hashes", "-r", str(LOCKS / "node.txt")]
        _pip("Installing Node for a test of an editor's library", "install", *node)
    if kind == "dev":
        _second_engine()
    _stamp(kind).write_text(_key(kind), encoding="utf-8")
    if kind == "dev":  # it holds all that the light set-up does
        _stamp("base").write_text(_key("base"), encoding="utf-8")
    _unfinished().unlink()
    return 0


def _second_engine() -> None:
    """Install xgrammar for the tests of that engine, where pip finds a CPU build of the torch it needs.

    Most indexes have none; then nothing is fetched, and those tests are skipped.
    """
    try:
        torch = ["--no-deps", "-r", str(LOCKS / "torch-cpu.txt")]
        _pip("Installing torch, CPU build, for tests of xgrammar (200 MB)", "install", *torch)
        locked = ["--no-deps", "--require-hashes", "-r", str(LOCKS / "torch.txt")]
        _pip("Installing xgrammar for its tests", "install", *locked)
        _run("Checking xgrammar", [str(_python()), "-c", "import xgrammar"], "xgrammar-check")
    except progress.StepError as error:
        sys.stdout.write(f"Left out, and its tests with it. {error}\n")


def _compile() -> Path:
    """Compile the wheel of llama-cpp-python with our flags and keep it; returns its path."""
    target = _wheel_folder()
    partial = target.with_name(f"{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    # Not pip's own cache: that does not tell a build with other flags apart.
    locked = ["--no-cache-dir", "--no-deps", "--require-hashes", "-r", str(LOCKS / "native.txt")]
    title = f"Compiling llama.cpp ({_flags()}; 4 to 8 minutes on 2 cores)"
    _pip(title, "wheel", "--verbose", "--wheel-dir", str(partial), *locked)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    return next(target.glob("*.whl"))


def _pip(title: str, *arguments: str) -> None:
    command = [str(_python()), "-m", "pip", "--disable-pip-version-check", *arguments]
    _run(title, command, f"pip-{arguments[0]}")


def _run(title: str, command: list[str], log: str) -> None:
    progress.run(title, command, CACHE / "log" / f"{log}.log", _environment(), ROOT)


def _environment() -> dict[str, str]:
    """The user's environment, with the build's flags, its pinned tools and its degree of parallelism."""
    environment = dict(os.environ)
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(_parallel()))
    environment["CMAKE_ARGS"] = _flags()
    # The name that pip reads from 25.3 on, and the one before. Relative, since pip splits at spaces.
    build = str((LOCKS / "build.txt").relative_to(ROOT))
    environment["PIP_BUILD_CONSTRAINT"] = environment["PIP_CONSTRAINT"] = build
    environment["PYTHONUTF8"] = "1"
    for variable in ("PYTHONHOME", "PYTHONPATH", "PIP_REQUIRE_VIRTUALENV", "PIP_USER", "PIP_TARGET"):
        environment.pop(variable, None)
    return environment


def _parallel() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(ValueError, OSError, AttributeError):  # not every system tells its memory
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(1, min(cores, int(memory / _MEMORY_PER_COMPILER)))
    return cores


def _flags() -> str:
    return os.environ.get("VELOSPEC_CMAKE_ARGS", DEFAULT_FLAGS)


def _python() -> Path:
    return VENV / "bin" / "python"


def _healthy() -> bool:
    """Whether `.venv` has a Python of the right version with pip, made for this folder."""
    if not _python().exists():
        return False
    probe = """import os, pip, sys
sys.exit(sys.version_info < (3, 11) or not os.path.samefile(sys.argv[1], sys.prefix))"""
    command = [str(_python()), "-c", probe, str(VENV)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _wheel_folder() -> Path:
    return CACHE / "wheels" / _digest((LOCKS / "native.txt").read_bytes(), _flags().encode())


def _kept_wheel() -> Path | None:
    return next(_wheel_folder().glob("*.whl"), None)


def _unfinished() -> Path:
    return VENV / ".velospec" / "unfinished"


def _stamp(kind: str) -> Path:
    return VENV / ".velospec" / f"{kind}.stamp"


def _key(kind: str) -> str:
    """Changes whenever what is installed would: the locks, the package's metadata, the flags, the folder."""
    names = [f"{kind}.txt", "native.txt", "build.txt", "node.txt", "torch.txt", "torch-cpu.txt"]
    files = [*(LOCKS / name for name in names), ROOT / "pyproject.toml", Path(__file__)]
    return _digest(*(file.read_bytes() for file in files), _flags().encode(), str(VENV).encode())


def _ready(kind: str) -> bool:
    stamp = _stamp(kind)
    return (
        stamp.exists()
        and stamp.read_text(encoding="utf-8") == _key(kind)
        and not _unfinished().exists()
        and _healthy()
    )


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@contextlib.contextmanager
def _only_one() -> Iterator[None]:
    """Hold the set-up's lock, so that two `make` at once do not write the same folders."""
    import fcntl  # noqa: PLC0415 - systems without it have no make either

    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stdout.write("Waiting for another set-up of this folder to end.\n")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
