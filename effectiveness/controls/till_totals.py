"""Sums of a till's sales by place: groups, then refunds, then receipts that stand there twice."""

from __future__ import annotations

from collections import Counter

from skill_health.effectiveness.controls._api import PLACES, ControlDraft, Draw

_SOLVE = """import csv
from decimal import Decimal

LEVEL = {level}
seen, sums = set(), {{}}
with open("sales.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        if LEVEL == 2 and row["receipt"] in seen:
            continue
        seen.add(row["receipt"])
        amount = Decimal(row["amount"])
        if LEVEL >= 1 and row["kind"] == "refund":
            amount = -amount
        sums[row["place"]] = sums.get(row["place"], Decimal(0)) + amount
lines = [f"{{place}} {{sums[place]:.2f}}" for place in sorted(sums)]
open("totals.txt", "w", encoding="utf-8").write("\\n".join(lines) + "\\n")
"""
_RULES = (
    "",
    "\nRows of the kind `refund` are money that was given back: they count against their place.",
    "\nRows of the kind `refund` are money that was given back: they count against their place. The export was broken off and "
    "begun again, so some receipts stand there more than once: of rows with one receipt number only the first counts.",
)


def make(draw: Draw, level: int) -> ControlDraft:
    """Sales of a till, to be added up."""
    places = draw.some(PLACES, 3 + 2 * level)
    rows: list[tuple[int, str, str, int]] = []
    for number in range((12, 40, 120)[level]):
        if level == 2 and rows and draw.chance(0.12):
            rows.append(draw.pick(rows))
            continue
        kind = "refund" if level and draw.chance(0.15) else "sale"
        rows.append((1000 + number, draw.pick(places), kind, draw.whole(95, 19_999)))
    cents: Counter[str] = Counter()
    seen: set[int] = set()
    for receipt, place, kind, amount in rows:
        if level < 2 or receipt not in seen:
            cents[place] += -amount if kind == "refund" else amount
        seen.add(receipt)
    table = "".join(f"{r},{place},{kind},{a // 100}.{a % 100:02}\n" for r, place, kind, a in rows)
    return ControlDraft(
        title="Sales by place",
        prompt=(
            "`sales.csv` has the sales of our tills. Please write `totals.txt`: one line for each place that occurs, in "
            "alphabetical order, with its name, one space, and the sum of its amounts with two decimals (`-1.50` if it is "
            f"below zero).{_RULES[level]}"
        ),
        starting={"sales.csv": f"receipt,place,kind,amount\n{table}"},
        answer="totals.txt",
        expected=[f"{place} {_money(cents[place])}" for place in sorted(cents)],
        solve=_SOLVE.format(level=level),
    )


def _money(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"
