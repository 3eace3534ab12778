"""What each host spends on listing skills: budgets, caps and what gives way beyond them.

The table is `hosts.json`, dated and with its sources; a configuration overrides any number in it, or adds a host.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, cast


class Host(NamedTuple):
    """How one host lists skills.

    The budget is `budget` where that is above 0, else `budget_percent` of `context_tokens`; it counts what
    `unit` says (characters, or tokens of `chars_per_token` bytes). `skill_chars` caps one description (0: no
    cap). `overflow` is what gives way beyond the budget: "names" (descriptions are dropped, names stay),
    "shorten" (all descriptions are cut alike, then entries left out) or "omit" (entries left out).
    `entry` and `bare` are the texts of an entry with and without its description.
    """

    key: str
    title: str = ""
    context_tokens: float = 0
    budget_percent: float = 0
    budget: float = 0
    unit: str = "characters"
    chars_per_token: float = 4
    skill_chars: float = 0
    overflow: str = "omit"
    entry: str = "- {name}: {description}\n"
    bare: str = "- {name}\n"
    source: str = ""

    @property
    def limit(self) -> int:
        """The budget in its unit."""
        if self.budget > 0:
            return int(self.budget)
        share = self.context_tokens * self.budget_percent / 100
        return int(share if self.unit == "tokens" else share * self.chars_per_token)


def hosts(overrides: Mapping[str, Mapping[str, float]] | None = None) -> tuple[Host, ...]:
    """The known hosts with a configuration's numbers in place of the table's, sorted by key.

    A key that the table does not have is a new host; without a budget of its own it shows everything. Unknown
    names of numbers are passed over, since the configuration reports them.
    """
    known = {key: Host(key, **entry) for key, entry in _table()["hosts"].items()}
    numbers = {name for name, kind in Host.__annotations__.items() if kind is float}
    for key, given in (overrides or {}).items():
        found = {name: float(value) for name, value in given.items() if name in numbers}
        if "budget_percent" in found or "context_tokens" in found:
            found.setdefault("budget", 0.0)
        known[key] = known.get(key, Host(key, key))._replace(**cast(Any, found))
    return tuple(known[key] for key in sorted(known))


@cache
def _table() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), "hosts.json")
    with open(path, encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    return table
