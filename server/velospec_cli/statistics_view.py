"""How the counts and times of decoding look on a terminal; what they mean stands in `core.statistics`."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from velospec.core.statistics import Statistics


def request_view(statistics: Statistics) -> RenderableType:
    """All that one request was: how long its first token took, and what `totals_view` shows."""
    first = Text(f"The first token came after {statistics.first_token_seconds:.2f} s.")
    return Group(first, totals_view(statistics))


def totals_view(statistics: Statistics) -> RenderableType:
    """The sum of any number of requests."""
    parts: list[RenderableType] = [_speed(statistics), _prompt(statistics)]
    if statistics.drafted_tokens:
        parts += [_positions(statistics), Text(""), _proposers(statistics)]
    if any(statistics.rows):
        parts += [Text(""), _batches(statistics), _times(statistics)]
    return Group(*parts)


def _speed(statistics: Statistics) -> Text:
    return Text(
        f"{_counted(statistics.new_tokens, 'token')} in {_counted(statistics.steps, 'step')}, "
        f"{statistics.tokens_per_step:.2f} a step, {statistics.tokens_per_second:.1f} tokens/s."
    )


def _prompt(statistics: Statistics) -> Text:
    read = statistics.prefilled_tokens
    text = (
        f"Of {_counted(statistics.prompt_tokens, 'prompt token')}, {statistics.reused_tokens} were "
        f"in the cache and {read} were read"
    )
    if read and statistics.prefill_seconds:
        text += f" at {read / statistics.prefill_seconds:.0f} tokens/s"
    return Text(f"{text}.")


def _positions(statistics: Statistics) -> Text:
    pairs = zip(statistics.accepted_at, statistics.drafted_at, strict=False)
    shares = (
        f"{place}: {accepted / drafted:.0%}" for place, (accepted, drafted) in enumerate(pairs, 1) if drafted
    )
    return Text(f"Accepted by the position in the draft: {', '.join(shares)}.")


def _proposers(statistics: Statistics) -> Table:
    """What the drafts of each proposer came to, those that brought most first, and their sum."""
    table = _table("proposer", "batches", "drafted", "accepted", "")
    counts = sorted(statistics.proposers.items(), key=lambda item: (-item[1].accepted, item[0]))
    for name, count in counts:
        _add_share(table, name, count.batches, count.drafted, count.accepted)
    batches = sum(count.batches for _, count in counts)
    _add_share(table, "all", batches, statistics.drafted_tokens, statistics.accepted_tokens)
    return table


def _add_share(table: Table, name: str, batches: int, drafted: int, accepted: int) -> None:
    share = f"{accepted / drafted:.0%}" if drafted else ""
    table.add_row(name, str(batches), str(drafted), str(accepted), share)


def _batches(statistics: Statistics) -> Table:
    """How many batches of each size there were, and their time against what was expected, per batch."""
    table = _table("rows in the batch", "batches", "took", "expected", "")
    triples = zip(statistics.rows, statistics.scored_seconds_at, statistics.expected_seconds_at, strict=False)
    for rows, (batches, took, expected) in enumerate(triples):
        if batches:
            ratio = f"{took / expected:.2f}x" if expected else ""
            table.add_row(
                str(rows),
                str(batches),
                f"{1000 * took / batches:.1f} ms",
                f"{1000 * expected / batches:.1f} ms",
                ratio,
            )
    return table


def _times(statistics: Statistics) -> Text:
    """The parts of the decoding time."""
    parts = {
        "drafting": statistics.propose_seconds,
        "the model": statistics.score_seconds,
        "deciding": statistics.decide_seconds,
    }
    whole = max(statistics.decode_seconds, sum(parts.values()))
    parts["the rest"] = whole - sum(parts.values())
    shares = (f"{name} {seconds / whole:.1%}" for name, seconds in parts.items()) if whole else ()
    return Text(f"Time of decoding: {', '.join(shares)}.")


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
