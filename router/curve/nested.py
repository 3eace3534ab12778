"""Nested libraries of growing size that all hold the skills which the prompts are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skill_health.core.errors import UsageError
from skill_health.discovery.hosts import OMITTED, Host
from skill_health.router.listing import relist
from skill_health.router.plan.orders import base_order
from skill_health.router.records import Catalogue, ListedSkill, Prompt

USUAL = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
"""The sizes where none are given: those between the skills that prompts are about and the whole library."""


def nested_libraries(
    catalogue: Catalogue, prompts: Iterable[Prompt], sizes: Sequence[int], seed: int, hosts: Sequence[Host] = ()
) -> list[Catalogue]:
    """One catalogue for each size, the smallest first; each holds all skills of the one before.

    All hold the skills that the prompts expect, accept or reject. The others follow in an order that the seed and their
    names decide, whatever order the files were found in. Each is listed as its host would list a library of that size.
    Without `sizes` they are the usual ones, from the skills of the prompts alone to all.

    Raises UsageError for a size that is smaller than the skills of the prompts, or larger than the library.
    """
    pool = _pool(catalogue)
    wanted = {name for prompt in prompts for name in (prompt.expected, *prompt.acceptable, *prompt.rejected)}
    kept = [skill.name for skill in pool if skill.name in wanted]
    others = base_order([skill.name for skill in pool if skill.name not in wanted], seed)
    chosen = _sizes(sizes, len(kept), len(pool))
    return [relist(catalogue, {*kept, *others[: size - len(kept)]}, hosts) for size in chosen]


def _pool(catalogue: Catalogue) -> list[ListedSkill]:
    """The skills that a listing of all would show, if its host had the room."""
    return [*catalogue.shown, *(skill for skill in catalogue.omitted if skill.state == OMITTED)]


def _sizes(sizes: Sequence[int], least: int, most: int) -> list[int]:
    if not sizes:
        return sorted({max(least, 1), *(size for size in USUAL if least < size < most), most})
    for size in sizes:
        if not least <= size <= most:
            raise UsageError(
                f"a library of {size:,} skills cannot be made: prompts are about {least:,}, which all of them hold, and "
                f"there are {most:,}"
            )
    return sorted(set(sizes))
