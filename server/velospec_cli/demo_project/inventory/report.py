"""Reports for the shell: python -m inventory.report stock.json"""

from __future__ import annotations

import argparse
from pathlib import Path

from inventory.stock import Stock, load


def table(stock: Stock) -> str:
    """The stock list as a table of plain text, one line an item."""
    lines = [f"{'number':<10}{'name':<20}{'price':>10}{'on hand':>10}"]
    for item in stock.items.values():
        lines.append(f"{item.number:<10}{item.name:<20}{item.price:>10.2f}{item.on_hand:>10}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Show a stock list.")
    parser.add_argument("path", type=Path, help="the JSON file of the stock list")
    parser.add_argument("--low", type=int, help="show only items with fewer on hand")
    arguments = parser.parse_args()
    stock = load(arguments.path)
    print(table(stock))


if __name__ == "__main__":
    main()
