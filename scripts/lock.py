"""Write the lock files in `requirements/`: exact versions with hashes, for every system and Python version.

base.txt    what VeloSpec needs, without llama-cpp-python
dev.txt     the same and the tools of the tests and checks
torch.txt   xgrammar and what it and torch need, but torch itself, which is in torch-cpu.txt
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
NOT_LOCKED = ("torch", "triton", "setuptools")  # setuptools is for torch's own extensions, which none here is
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
    beside = ("--constraints", "requirements/dev.txt", "--override", str(_without(*NOT_LOCKED)))
    hidden = (option for name in NOT_LOCKED for option in ("--no-emit-package", name))
    _compile("torch.txt", "requirements/torch.in", *beside, *hidden, *hashed)
    _compile("native.txt", "requirements/native.in", "--no-deps", "--no-binary", "llama-cpp-python", *hashed)
    _compile("node.txt", "requirements/node.in", *hashed)
    _compile("build.txt", "requirements/build.in", "--constraints", "requirements/dev.txt")
    return 0


def _compile(name: str, source: str, *options: str) -> None:
    output = ("--output-file", f"requirements/{name}")
    _run(str(TOOL / "bin" / "uv"), "pip", "compile", source, *output, *COMMON, *options)


def _without(*packages: str) -> Path:
    """A file of overrides for uv that leaves `packages` out wherever another package asks for them."""
    file = TOOL / "without.txt"
    file.write_text("".join(f"{name} ; sys_platform == 'none'\n" for name in packages), encoding="utf-8")
    return file


def _run(*command: str) -> None:
    environment = {"SSL_CERT_FILE": os.environ["PIP_CERT"]} if os.environ.get("PIP_CERT") else {}
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **environment})


if __name__ == "__main__":
    sys.exit(main())
