"""Items of orders in JSON: a list, then quantities and cancelled orders, then bundles that hold further items."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from skill_health.effectiveness.controls._api import FIRST, WORDS, ControlDraft, Draw

_SOLVE = """import json
from collections import Counter

LEVEL = {level}
found = Counter()


def add(item, times):
    times *= item["quantity"]
    if "items" in item:
        for each in item["items"]:
            add(each, times)
    else:
        found[item["sku"]] += times


for order in json.load(open("orders.json", encoding="utf-8")):
    if LEVEL and order["state"] == "cancelled":
        continue
    for item in order["items"]:
        add(item, 1)
lines = [f"{{sku}} {{found[sku]}}" for sku in sorted(found, key=lambda sku: (-found[sku], sku))]
open("picking.txt", "w", encoding="utf-8").write("\\n".join(lines) + "\\n")
"""
_RULES = (
    "",
    " Orders whose `state` is `cancelled` do not count.",
    " Orders whose `state` is `cancelled` do not count. An item with `items` of its own is a bundle: it is not packed itself, but "
    "its items are, as often as the bundle is ordered; bundles may hold bundles.",
)


def make(draw: Draw, level: int) -> ControlDraft:
    """Orders of a shop, to be packed."""
    skus = [f"{word}-{draw.whole(1, 9)}" for word in draw.some(WORDS, 5 + 4 * level)]
    found: Counter[str] = Counter()

    def item(depth: int, times: int) -> dict[str, Any]:
        quantity = draw.whole(1, 1 + 2 * (level + 1))
        if depth and draw.chance(0.3):
            inner = [item(depth - 1, times * quantity) for _ in range(draw.whole(2, 3))]
            return {"bundle": draw.pick(WORDS), "quantity": quantity, "items": inner}
        sku = draw.pick(skus)
        found[sku] += times * quantity
        return {"sku": sku, "quantity": quantity}

    orders = []
    for number in range((4, 10, 18)[level]):
        gone = level > 0 and draw.chance(0.25)
        items = [item(2 if level == 2 else 0, 0 if gone else 1) for _ in range(draw.whole(1, 3))]
        orders.append(
            {"order": 500 + number, "name": draw.pick(FIRST), "state": "cancelled" if gone else "paid", "items": items}
        )
    wanted = {sku: count for sku, count in found.items() if count}
    return ControlDraft(
        title="What is to be packed",
        prompt=(
            "`orders.json` has the orders of a shop. Please write `picking.txt`: one line for each `sku` that is ordered, with the "
            "sku, one space, and how many are to be packed in all; the largest number first, and equal ones in alphabetical order."
            f"{_RULES[level]}"
        ),
        starting={"orders.json": json.dumps(orders, indent=2) + "\n"},
        answer="picking.txt",
        expected=[f"{sku} {wanted[sku]}" for sku in sorted(wanted, key=lambda sku: (-wanted[sku], sku))],
        solve=_SOLVE.format(level=level),
    )
