"""How models look on the terminal and as JSON: tables, rows and plain data of what is known of them."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from velospec.models.catalogue import CatalogueEntry
from velospec.models.files import in_words
from velospec.models.memory import fits
from velospec.models.sources.found import FoundModel
from velospec.models.store import InstalledModel
from velospec_cli.latency import exactness, in_a_line


def installed_table(models: list[InstalledModel], defaults: dict[str, str]) -> Table:
    """Installed models; a role in bold is one that the model is the default for."""
    table = plain_table("Installed", "model", "used for", "size", "licence", "source")
    for model in models:
        chosen = {role for role, name in defaults.items() if name == model.name}
        roles = [f"[bold]{role}[/]" if role in chosen else f"({role})" for role in model.roles]
        roles += [f"[bold]{role}[/]" for role in sorted(chosen.difference(model.roles))]
        state = "" if model.present else " [red](file missing or changed)[/]"
        table.add_row(
            escape(model.name) + state,
            ", ".join(roles),
            in_words(model.size),
            escape(model.licence),
            escape(model.source),
        )
    return table


def catalogue_table(
    entries: list[CatalogueEntry], available: int | None = None, best: CatalogueEntry | None = None
) -> Table:
    """What can be installed, the recommended one marked, those that do not fit `available` bytes dimmed."""
    table = plain_table("Can be installed", "model", "for", "memory", "", "licence")
    for entry in entries:
        style = "bold green" if entry is best else "dim" if available and not fits(entry, available) else ""
        table.add_row(
            entry.name,
            ", ".join(entry.roles),
            in_words(entry.memory_mb * 1_000_000),
            entry.description,
            entry.licence,
            style=style,
        )
    return table


def found_table(models: list[FoundModel]) -> Table:
    """Models of other programs."""
    table = plain_table("Found: velospec model install …", "", "kept by", "size")
    for model in models:
        table.add_row(escape(model.reference), model.program, in_words(model.size))
    return table


def plain_table(title: str, *columns: str) -> Table:
    """A plain table; the first three columns are never broken, the others fill the rest of the line."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place < 3, overflow="fold", header_style="dim")
    return table


def entry_dict(entry: CatalogueEntry) -> dict[str, Any]:
    """A catalogue entry as JSON."""
    return {
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "roles": list(entry.roles),
        "licence": entry.licence,
        "parameters": entry.parameters,
        "memory_mb": entry.memory_mb,
        "source": entry.source_words,
    }


def found_dict(model: FoundModel) -> dict[str, Any]:
    """A found model as JSON."""
    return {
        "program": model.program,
        "reference": model.reference,
        "path": str(model.path),
        "size": model.size,
    }


def model_rows(model: InstalledModel, profile: dict[str, Any] | None) -> dict[str, str]:
    """What is known of an installed model, its measured `profile` included."""
    rows = {
        "name": model.name,
        "description": model.description,
        "used for": ", ".join(model.roles),
        "file": str(model.path) + ("" if model.present else "  (missing or changed!)"),
        "size": in_words(model.size),
        "sha256": model.sha256,
        "source": model.source,
        "licence": model.licence,
    }
    if profile is None:
        return {**rows, "speed": "not measured yet; it is after the first answers"}
    return {**rows, "speed": in_a_line(profile), "exact output": exactness(profile)}


def entry_rows(entry: CatalogueEntry) -> dict[str, str]:
    """What is known of a model that is not installed."""
    return {
        "name": entry.name,
        "description": entry.description,
        "used for": ", ".join(entry.roles),
        "memory": in_words(entry.memory_mb * 1_000_000),
        "source": entry.source_words,
        "licence": entry.licence,
        "not installed": f"velospec model install {entry.name}",
    }
