"""The import contracts of pyproject.toml hold, and every top-level package is under them."""

from __future__ import annotations

import subprocess
import tomllib

from tests.support.repository import PACKAGES, ROOT, command


def test_the_import_contracts_are_kept() -> None:
    result = subprocess.run(
        [command("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert ", 0 broken." in result.stdout


def test_every_package_of_the_wheel_is_under_the_contracts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    names = {path.rsplit("/", 1)[-1] for path in shipped}
    assert names == set(project["tool"]["importlinter"]["root_packages"])
    assert names == {package.name for package in PACKAGES}
    assert names == set(project["tool"]["mypy"]["packages"])
