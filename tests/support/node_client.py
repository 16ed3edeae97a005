"""Installs VS Code's protocol library for the node client, once, into the checkout's cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "editors" / "node"
_CACHE = Path(__file__).resolve().parents[2] / ".cache" / "node-client"


def install() -> Path:
    """The folder that holds `node_modules`, with the versions of the lock file.

    Raises:
        RuntimeError: node or npm is missing, or npm failed; the message says which.
    """
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        raise RuntimeError(f"{' and '.join(missing)} missing: apt-get install nodejs npm")
    files = [SOURCE / name for name in ("package.json", "package-lock.json", ".npmrc")]
    wanted = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    stamp = _CACHE / "installed"
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return _CACHE
    shutil.rmtree(_CACHE, ignore_errors=True)
    _CACHE.mkdir(parents=True)
    for file in files:
        shutil.copy(file, _CACHE)
    command = ["npm", "ci", "--ignore-scripts"]
    result = subprocess.run(command, cwd=_CACHE, capture_output=True, text=True, timeout=240, check=False)
    if result.returncode:
        raise RuntimeError(f"npm ci failed:\n{result.stderr}")
    stamp.write_text(wanted, encoding="ascii")
    return _CACHE
