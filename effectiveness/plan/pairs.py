"""Which two skills a run tries alone and together: those that somebody names, or that the collection declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.documents.effect_composition import TriedPair
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.check.declared import declared_pairs
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.inputs import TrialInputs
from skill_health.effectiveness.records import CONTROL, HINT, JOIN, SUBSET, Arm
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.workspace.staging import parse_arms
from skill_health.text.near import did_you_mean, list_some

DECLARED = "declared"


def find_pairs(asked: Sequence[str], inputs: TrialInputs, tasks: Sequence[Task]) -> tuple[TriedPair, ...]:
    """The pairs that are asked for, sorted: A+B by name, or "declared" for those that the collection declares.

    Of declared ones those count that a task is meant for. Raises UsageError for a pair of something else than two
    skills of the collection, for one that no task is meant for, and where nothing is left.
    """
    said = {pair.skills: pair for pair in declared_pairs(inputs.skills)}
    meant = {name for task in tasks for name in task.target_skills or ()}
    known = inputs.everything
    found: dict[tuple[str, str], TriedPair] = {}
    for text in asked:
        if text == DECLARED:
            found |= {names: pair for names, pair in said.items() if meant & {*names}}
            continue
        names = _two(text, known)
        if not meant & {*names}:
            raise UsageError(f"the pair {text!r} cannot be tried: no task is meant for {names[0]} or {names[1]}")
        found[names] = said.get(names, TriedPair(skills=names))
    if asked and not found:
        raise UsageError(
            f"no task is meant for any of the {len(said)} pairs that the collection declares; name pairs, such as A+B"
            if said
            else "no skill says that it works with another one; name pairs, such as A+B"
        )
    return tuple(found[names] for names in sorted(found))


def _two(text: str, known: Collection[str]) -> tuple[str, str]:
    names = text.split(JOIN)
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"the pair {text!r} must name two skills, such as A{JOIN}B, or be {DECLARED!r}")
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"the pair {text!r} names {name!r}, which is not a skill of the collection{hint}")
    return min(names), max(names)


def with_pairs(
    chosen: TrialChoices,
    pairs: Sequence[TriedPair],
    routing: RouterSettings,
    more: Iterable[str],
    hints: str,
    deliveries: Sequence[str],
) -> TrialChoices:
    """The choices with the arms of these pairs, after `more` arms; both orders if every agent lists skills as given.

    They are crossed with hints and deliveries as all arms are.

    Raises UsageError for a skill whose name an arm cannot have.
    """
    both = all(resolve(spec, routing).agent.ORDERED for spec in chosen.agents)
    names: list[str] = [*more]
    for pair in pairs:
        first, second = pair.skills
        if odd := next((name for name in pair.skills if JOIN in name or f"{JOIN}{name}" == HINT), None):
            raise UsageError(f"the skill {odd!r} cannot be tried in a pair: its name means something else in an arm")
        orders = [f"{first}{JOIN}{second}", f"{second}{JOIN}{first}"][: 1 + both]
        names += [Arm(SUBSET, each).name for each in (first, second, *orders)]
    return replace(chosen, arms=parse_arms([CONTROL, *names], hints, deliveries), pairs=tuple(pairs))


def pair_notes(pairs: Sequence[TriedPair], tasks: Sequence[Task], arms: Sequence[Arm], agents: int) -> list[str]:
    """What the forecast says of pairs: how many tasks each has, and whether a verdict can be reached."""
    from skill_health.stats.power import fewest_differing

    both_orders = any(arm.subset == pair.skills[::-1] for arm in arms for pair in pairs)
    # Each delivery, and each hint, is a pair of its own.
    ways = {(arm.delivery, arm.hint) for arm in arms if any({*arm.subset} == {*pair.skills} for pair in pairs)}
    together = len(pairs) * len(ways) * agents
    needed = fewest_differing(max(1, together))
    lines, few = [], []
    for pair in pairs:
        wanted = [{*(task.target_skills or ())} & {*pair.skills} for task in tasks]
        count, joint = sum(map(bool, wanted)), sum(len(each) == 2 for each in wanted)
        name = JOIN.join(pair.skills)
        lines.append(f"pair {name}: {count} task{'s' * (count != 1)}, {joint} of them for both skills")
        if count < needed:
            few.append(name)
    if few:
        lines.append(
            f"warning: no verdict on {list_some(few, 6)} can be reached: {needed} tasks must differ with "
            f"{together} tested together"
        )
    if pairs and not both_orders:
        lines.append(
            "note: pairs are tried in one order of listing, since an agent lists skills in an order of its own"
        )
    return lines
