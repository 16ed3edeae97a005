"""`velospec model`: what can be installed, what is, and which model is used for what.

Shows and asks; what installing means is `velospec.models`' business, measuring is the daemon's.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.prompt import Confirm
from rich.table import Table

from velospec.core.errors import VeloSpecError
from velospec.models.catalogue import catalogue
from velospec.models.files import in_words
from velospec.models.install import install as install_model
from velospec.models.memory import BUDGET_SECONDS, available_memory, recommend
from velospec.models.sources.found import found_models
from velospec.models.store import DRAFT, ROLES, InstalledModel, ModelStore
from velospec_cli import model_view as view
from velospec_cli.latency import expected_latency, in_a_line, measure, stored_profile
from velospec_cli.model_pairs import pairs, use_as_draft
from velospec_cli.progress import Bars

_HELP = """Install, choose and remove models.

A model completes code (role *completion*) or answers in chat (role *chat*).

- `velospec model install` suggests one that suits this machine
- `velospec model list` shows them all
- `velospec model pairs` shows which can draft for which
"""

app = typer.Typer(
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(pairs)
_out, _err = Console(), Console(stderr=True)


def _installed_names(incomplete: str) -> list[str]:
    return [model.name for model in ModelStore().list() if model.name.startswith(incomplete)]


def _known_names(incomplete: str) -> list[str]:
    return [name for name in catalogue() if name.startswith(incomplete)]


def _all_names(incomplete: str) -> list[str]:
    return sorted({*_installed_names(incomplete), *_known_names(incomplete)})


_Installed = Annotated[
    str, typer.Argument(help="An installed model.", show_default=False, autocompletion=_installed_names)
]
_Named = Annotated[
    str,
    typer.Argument(
        help="An installed model or one of the catalogue.", show_default=False, autocompletion=_all_names
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command("list")
def list_models(
    *,
    found: Annotated[
        bool, typer.Option("--found", help="Show models that Ollama, LM Studio and others keep on this disk.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Show installed models, and those that can be installed."""
    store = ModelStore()
    installed, elsewhere = store.list(), found_models() if found else []
    roles = (*ROLES, DRAFT)
    defaults = {role: model.name for role in roles if (model := store.default(role)) is not None}
    if as_json:
        _print_json(
            {
                "installed": [
                    {**model.to_dict(), "default_for": [r for r in roles if defaults.get(r) == model.name]}
                    for model in installed
                ],
                "catalogue": [view.entry_dict(entry) for entry in catalogue().values()],
                "found": [view.found_dict(model) for model in elsewhere] if found else None,
            }
        )
        return
    _out.print(view.installed_table(installed, defaults) if installed else "No model is installed yet.")
    names = {model.name for model in installed}
    _out.print(view.catalogue_table([entry for entry in catalogue().values() if entry.name not in names]))
    if found:
        _out.print(view.found_table(elsewhere) if elsewhere else "No models of other programs were found.")
    else:
        _out.print("Models of Ollama, LM Studio and llama.cpp on this disk: velospec model list --found")


@app.command()
def install(  # noqa: PLR0913 - each is an option of the command line
    model: Annotated[
        str | None,
        typer.Argument(
            help="A name of the catalogue, a path to a .gguf file, hf:OWNER/REPOSITORY[/FILE] or "
            "ollama:NAME. Left out, the best one for this machine is suggested.",
            show_default=False,
            autocompletion=_known_names,
        ),
    ] = None,
    *,
    name: Annotated[str | None, typer.Option(help="Install under this name.", show_default=False)] = None,
    use: Annotated[bool, typer.Option("--use", help="Make it the default for all it can do.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Install anew what is installed already.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    measured: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Measure its speed on this machine.")
    ] = True,
    as_json: _Json = False,
) -> None:
    """Install a model.

    A file of your own, or one of another program, is used where it lies and never copied or changed.
    """
    wanted = model if model is not None else _suggest(ask=not yes and not as_json)
    store = ModelStore()
    with Bars(_err) as bars:
        installed = install_model(wanted, store=store, name=name, force=force, progress=bars)
    if use:
        for role in installed.roles:
            store.use(installed.name, role)
    if not as_json:
        _out.print(f"[green]Installed[/] [bold]{escape(installed.name)}[/] ({in_words(installed.size)}).")
        _tell_defaults(store, installed)
    profile = _measured(installed, anew=force) if measured else None
    if as_json:
        latency = expected_latency(profile) if profile else None
        _print_json({**installed.to_dict(), "profile": profile, "expected_seconds": latency})
    elif profile:
        _tell_speed(installed, profile)


@app.command()
def use(
    name: _Installed,
    role: Annotated[
        str | None,
        typer.Option("--for", help="completion, chat or draft; left out, the first two.", metavar="ROLE"),
    ] = None,
) -> None:
    """Make an installed model the default, or let it draft for larger ones; "none" ends the latter."""
    store = ModelStore()
    if role == DRAFT:
        use_as_draft(name, store)
        return
    model = store.get(name)
    for chosen in (role,) if role else model.roles:
        store.use(name, chosen)
        _out.print(f"[bold]{escape(name)}[/] is now used for {chosen}.")


@app.command()
def remove(
    name: _Installed, *, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Remove an installed model. A file of your own stays where it is."""
    store = ModelStore()
    model = store.get(name)
    stays = f"; its file stays at {model.path}" if model.external else f" ({in_words(model.size)})"
    if not yes and sys.stdin.isatty() and not Confirm.ask(f"Remove {escape(name + stays)}?", console=_err):
        raise typer.Exit(1)
    store.remove(name)
    _out.print(f"Removed [bold]{escape(name)}[/]{escape(stays)}.")


@app.command()
def info(name: _Named, *, as_json: _Json = False) -> None:
    """Show all that is known of a model, installed or not."""
    store = ModelStore()
    entry = catalogue().get(name)
    installed = any(model.name == name for model in store.list())
    if entry is not None and not installed:
        facts: dict[str, Any] = {**view.entry_dict(entry), "installed": False}
        rows = view.entry_rows(entry)
    else:
        model = store.get(name)
        profile = stored_profile(model)
        facts = {**model.to_dict(), "installed": True, "present": model.present, "profile": profile}
        rows = view.model_rows(model, profile)
    if as_json:
        _print_json(facts)
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # a path or a sum that is cut short is of no use
    for key, value in rows.items():
        table.add_row(f"[dim]{key}[/]", escape(value))
    _out.print(table)


def _suggest(*, ask: bool) -> str:
    """The recommended model's name, after the choices were shown and the user agreed."""
    available = available_memory()
    best = recommend(available)
    _err.print(view.catalogue_table(list(catalogue().values()), available, best))
    _err.print(
        f"{in_words(available)} of memory are free; for this machine's processor, "
        f"[bold]{best.name}[/] is recommended. With a GPU build of llama.cpp, take a larger one."
    )
    if ask and sys.stdin.isatty() and not Confirm.ask(f"Install {best.name}?", default=True, console=_err):
        _err.print("Choose another one: velospec model install NAME")
        raise typer.Exit(1)
    return best.name


def _measured(model: InstalledModel, *, anew: bool) -> dict[str, Any] | None:
    """The model's profile; None, with a word about why, where it cannot be measured now."""
    try:
        with Bars(_err) as bars:
            return measure(model, bars, anew=anew)
    except VeloSpecError as error:
        _err.print(f"[yellow]Its speed was not measured:[/] {escape(error.cause)} {escape(error.remedy)}")
        _err.print("It is measured after the first answers instead.")
        return None


def _tell_defaults(store: ModelStore, installed: InstalledModel) -> None:
    for role in installed.roles:
        default = store.default(role)
        if default is not None and default.name == installed.name:
            _out.print(f"It is used for {role}.")
        elif default is not None:
            _out.print(
                f"{default.name} is still used for {role}; change: velospec model use {installed.name}"
            )


def _tell_speed(model: InstalledModel, profile: dict[str, Any]) -> None:
    seconds = expected_latency(profile)
    _out.print(f"On this machine: {in_a_line(profile)}.")
    smaller = _smaller_than(model)
    if "completion" in model.roles and seconds > BUDGET_SECONDS and smaller is not None:
        _out.print(
            f"[yellow]That is slow for completing while typing.[/] Faster: velospec model install {smaller}"
        )


def _smaller_than(model: InstalledModel) -> str | None:
    """The next smaller completion model of the catalogue, judged by the memory that its file takes."""
    entries = [entry for entry in catalogue().values() if "completion" in entry.roles]
    own = catalogue().get(model.name)
    size = own.memory_mb if own else model.size // 1_000_000
    smaller = [entry for entry in entries if entry.memory_mb < size and entry.name != model.name]
    return max(smaller, key=lambda entry: entry.memory_mb).name if smaller else None


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
