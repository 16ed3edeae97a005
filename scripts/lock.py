"""Write the lock files in `requirements/`: exact versions with hashes, for every system and Python version.

base.txt    what VeloSpec needs, without llama-cpp-python
dev.txt     the same and the tools of the tests and checks
native.txt  llama-cpp-python alone, as source: `scripts/setup.py` compiles it with flags of its own
node.txt    Node as a package of its own, for machines that have none; only a test needs it
build.txt   versions of the tools that compile and package; constraints, so without hashes

uv resolves, since it writes one lock for all systems; pip installs. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / ".cache" / "lock"
UV = "uv==0.13.9"
COMMON = ("--quiet", "--universal", "--python-version", "3.11", "--custom-compile-command", "make lock")


def main() -> int:
    """Write all lock files; `--upgrade` takes the newest versions instead of keeping the locked ones."""
    if not (TOOL / "bin" / "uv").exists():
        _run(sys.executable, "-m", "venv", str(TOOL))
        _run(str(TOOL / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", UV)
    hashed = ("--generate-hashes", *(["--upgrade"] if "--upgrade" in sys.argv[1:] else []))
    light = ("--no-emit-package", "llama-cpp-python")
    _compile("dev.txt", "pyproject.toml", "--extra", "dev", *light, *hashed)
    _compile("base.txt", "pyproject.toml", "--constraints", "requirements/dev.txt", *light, *hashed)
    _compile("native.txt", "requirements/native.in", "--no-deps", "--no-binary", "llama-cpp-python", *hashed)
    _compile("node.txt", "requirements/node.in", *hashed)
    _compile("build.txt", "requirements/build.in", "--constraints", "requirements/dev.txt")
    return 0


def _compile(name: str, source: str, *options: str) -> None:
    output = ("--output-file", f"requirements/{name}")
    _run(str(TOOL / "bin" / "uv"), "pip", "compile", source, *output, *COMMON, *options)


def _run(*command: str) -> None:
    environment = {"SSL_CERT_FILE": os.environ["PIP_CERT"]} if os.environ.get("PIP_CERT") else {}
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **environment})


if __name__ == "__main__":
    sys.exit(main())
