"""`velospec model pairs`, and the choice of a model that drafts for others."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from velospec.models.files import in_words
from velospec.models.pairs import Pairs, find_pairs, use_for_drafting
from velospec.models.store import DRAFT, InstalledModel, ModelStore
from velospec_cli.model_view import plain_table

_NONE = "none"  # in place of a model's name: no draft model
_out = Console()


def pairs(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False
) -> None:
    """Show which installed models share a tokenizer, so that the smaller can draft for the larger.

    Drafting with a second model pays where a few more tokens cost the larger one little, as on a GPU. It is
    tried now and then, and used only as far as it does.
    """
    store = ModelStore()
    found, chosen = find_pairs(store.list()), store.default(DRAFT)
    if as_json:
        plain = {"pairs": [pair.to_dict() for pair in found], "draft": chosen.name if chosen else None}
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
    elif found:
        _out.print(_table(found, chosen))
        _out.print("Let one draft: velospec model use NAME --for draft")
    else:
        _out.print(
            "No two installed models can work together: that takes a larger and a smaller one of one family, "
            "with the same tokenizer, such as qwen2.5-coder-7b and qwen2.5-coder-0.5b."
        )
        _out.print("Install one: velospec model install")


def use_as_draft(name: str, store: ModelStore) -> None:
    """Let the installed model `name` draft for larger ones, or none where it is "none"; says what holds now.

    Raises VeloSpecError where it can draft for none.
    """
    if name == _NONE:
        store.use_none(DRAFT)
        _out.print("No model drafts for another any more.")
    else:
        targets = use_for_drafting(name, store)
        _out.print(f"[bold]{escape(name)}[/] now drafts for {escape(', '.join(targets))}, where it pays.")
    _out.print("Models that are in memory go on as they were; to load them anew: velospec daemon stop")


def _table(pairs: list[Pairs], chosen: InstalledModel | None) -> Table:
    """Models and those that can draft for them, the `chosen` one in bold."""
    table = plain_table("Can draft", "for", "can draft", "weights", "of those of the larger", "size")
    for pair in pairs:
        for draft in pair.drafts:
            name = escape(draft.model.name)
            table.add_row(
                escape(pair.target.model.name),
                f"[bold]{name}[/]" if chosen and chosen.name == draft.model.name else name,
                f"{draft.parameters / 1e6:,.0f} M",
                f"{draft.parameters / pair.target.parameters:.0%}",
                in_words(draft.model.size),
            )
    return table
