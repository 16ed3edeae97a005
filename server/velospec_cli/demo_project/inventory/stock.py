"""The stock list: items by their number, with what is on hand of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Item:
    """One thing that can be bought."""

    number: str
    name: str
    price: float
    on_hand: int = 0

    def value(self) -> float:
        """What the items on hand are worth."""
        return self.price * self.on_hand


class Stock:
    """All items, by number."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}

    def add(self, item: Item) -> None:
        """Add an item, or replace the one of the same number."""
        self.items[item.number] = item

    def remove(self, number: str) -> None:
        """Remove an item by its number."""
        del self.items[number]

    def total_value(self) -> float:
        """What all items on hand are worth."""
        return sum(item.value() for item in self.items.values())

    def cheapest(self) -> Item:
        """The item with the lowest price."""
        return min(self.items.values(), key=lambda item: item.price)

    def running_low(self, limit: int = 5) -> list[Item]:
        """The items of which fewer than `limit` are on hand."""
        return [item for item in self.items.values() if item.on_hand < limit]


def load(path: Path) -> Stock:
    """Read a stock list from a JSON file."""
    stock = Stock()
    for entry in json.loads(path.read_text()):
        stock.add(Item(**entry))
    return stock


def save(stock: Stock, path: Path) -> None:
    """Write a stock list to a JSON file."""
    entries = [vars(item) for item in stock.items.values()]
    path.write_text(json.dumps(entries, indent=2))
