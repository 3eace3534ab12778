"""What a plot of position bias shows: how often each place is picked, how often it would be, and who is right there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from skill_health.router.scores.judge import Judged
from skill_health.router.scores.numbers import number, proportion

SINGLE = 12
"""So many listed skills have a place each; more share ten groups of places that are as even as can be."""
_GROUPS = 10
_NOBODY = "no right skill was listed there"
Tables = Sequence[Sequence[Sequence[int]]]


def places(listed: int, tables: Tables, rows: Sequence[Judged]) -> list[dict[str, Any]]:
    """The places from the top of the list down, one by one or in groups, `first` to `last`; [] where none is listed.

    `picked` is the share of the first answers that stood there, `calls` how many those are, and `expected` the share if
    the orders of each prompt were exchanged among its calls: all over the calls of `tables` (see `position.positions`),
    so that they are null where no prompt has two calls with a pick. `right` is the share of right answers among those
    `rows` whose right skill stood there.
    """
    groups = listed if listed <= SINGLE else _GROUPS
    edges = [at * listed // groups for at in range(groups + 1)] if groups else []
    picked, expected = _picked(tables)
    calls = picked.total()
    found = []
    for before, last in pairwise(edges):
        here = range(before + 1, last + 1)
        there = [row for row in rows if row.result.target_position in here]
        n = sum(picked[place] for place in here)
        found.append({
            "first": before + 1, "last": last, "calls": n, "picked": n / calls if calls else None,
            "expected": _expected(expected, here) / calls if calls else None,
            "right": number(proportion(there, lambda row: row.right, _NOBODY)),
        })  # fmt: skip
    return found


def _picked(tables: Tables) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """How often each place was picked, and how often it stands in tables of each size."""
    picked: Counter[int] = Counter()
    expected: Counter[tuple[int, int]] = Counter()
    for table in tables:
        # As in the test of the distance: with one call there is no order to exchange.
        if len(table) > 1:
            picked.update(row[at] for at, row in enumerate(table))
            expected.update((len(table), place) for row in table for place in row)
    return picked, expected


def _expected(counts: Counter[tuple[int, int]], here: Iterable[int]) -> float:
    """How many picks of these places are expected: each of a table's columns weighs one of its calls."""
    sizes = sorted({size for size, _ in counts})
    among = list(here)
    return sum(sum(counts[size, place] for place in among) / size for size in sizes)
