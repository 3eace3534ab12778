"""Does an agent see the skills that the plan stages for it, and no others? The rule for probes and for trials."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from skill_health.effectiveness.agents._api import served_tools
from skill_health.effectiveness.records import SELF_GENERATED
from skill_health.effectiveness.trial.spec import TrialSpec


def others(cell: TrialSpec, listed: Collection[str] | None) -> tuple[str, ...] | None:
    """The names that an agent lists beside skills of the run, such as built-in ones; None where it lists nothing."""
    if listed is None:
        return None
    return tuple(sorted(set(listed) - {skill.name for skill in cell.skills} - set(cell.collection)))


def wanted_offers(cell: TrialSpec) -> set[str]:
    """The names that an agent must offer its model at first: of the skills, or of the tools by which it gets them."""
    if cell.arm.served:
        return set(served_tools(cell.choice.agent))
    return {skill.name for skill in cell.skills}


def disagreements(
    cell: TrialSpec,
    listed: Collection[str] | None,
    offered: Collection[str] | None,
    expected: Collection[str] | None = None,
    whole: bool = True,
) -> Iterator[str]:
    """What is wrong with the names that an agent lists and those that it offers to its model, one line each.

    `expected` are the names that it may list beside skills of the run; None where that is not known. Where the agent
    did not come to its first real request (`whole` is False), a skill that is missing in it is not missing.
    """
    staged = {skill.name for skill in cell.skills}
    tools = set(served_tools(cell.choice.agent))
    for names, wanted, verb, said in (
        (listed, {skill.name for skill in cell.placed}, "listed", True),
        (offered, wanted_offers(cell), "offered", whole),
    ):
        if names is None:
            continue
        # Whether it can load what it wrote for itself is a matter of the agent's, and none of the plan's.
        planned = wanted if cell.arm.condition != SELF_GENERATED else set()
        if said and (missing := sorted(planned - set(names))):
            yield f"{_named(missing)} staged and not {verb}"
        # What a server has told of its skills may come back in a summary, or in the task of a helper.
        allowed = wanted | staged if cell.arm.served and verb == "offered" else wanted
        if foreign := sorted((set(names) & (set(cell.collection) | tools)) - allowed):
            yield f"{_named(foreign)} {verb} and not staged"
    found = others(cell, listed)
    if expected is not None and found is not None and (odd := sorted(set(found) ^ set(expected))):
        yield f"beside skills of the run, {_named(odd)} listed in one arm and not in another"


def _named(names: list[str]) -> str:
    shown = ", ".join(name[:64] for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{shown}{more} {'is' if len(names) == 1 else 'are'}"
