"""What so many tasks and replications can show at all, said before anything is spent on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from skill_health.effectiveness.plan.plan import TrialPlan
from skill_health.effectiveness.records import CONTROL, NEGATIVE, TARGET
from skill_health.effectiveness.tasks._api import Task

Rates = Mapping[tuple[str, str | None], float]
"""How often a model passed without a skill in an earlier run, by model and skill (None: all tasks)."""

_RATE, _WITHIN = 0.5, 0.5
# Of twenty tasks some ten do not differ in most runs: they are too easy or too hard.
_USUALLY = 0.5


def study_notes(plan: TrialPlan, rates: Rates) -> list[str]:
    """What can be detected, the least p, and where no verdict can be reached; the best case each time."""
    return [*_collection(plan, rates), *_skills(plan), *_controls(plan)]


def _both(plan: TrialPlan, condition: str) -> list[Task]:
    """The tasks that have the control and this condition, with or without the hint as far as the run has both."""
    arms = [arm for arm in plan.choices.arms if arm.condition == condition]
    name = min((arm.name for arm in arms), key=len, default="")
    names: dict[str, set[str]] = {}
    for task_id, arm in plan.staged:
        names.setdefault(task_id, set()).add(arm.name)
    return [task for task in plan.tasks if {name, CONTROL} <= names.get(task.id, set())]


def _collection(plan: TrialPlan, rates: Rates) -> Iterator[str]:
    from skill_health.effectiveness.effects.contrasts import pairs
    from skill_health.stats.power import fewest_differing, smallest_p

    targets = [task for task in _both(plan, TARGET) if not task.is_control]
    count, models = len(targets), len(plan.models)
    others = sum(task.is_control for task in plan.tasks)
    yield f"tasks: {count} with and without the skill that should help, {others} negative control{'s' * (others != 1)}"
    if not count:
        yield f"warning: no task has both {TARGET} and {CONTROL}, so no verdict can be reached"
        return
    reps = f"{plan.choices.reps} replication{'s' * (plan.choices.reps != 1)}"
    best = _detectable(count, plan.choices.reps, models)
    found = "no difference" if best is None else f"at best a difference of {100 * best:.0f} points"
    yield f"detectable: {found} ({count} tasks, {reps}, 80 % power)"
    least = smallest_p(count)
    others = models * (len(pairs({arm.name: arm for arm in plan.choices.arms})) - 1)
    holm = f"{_p(least * models)} after Holm's correction for {models} agent{'s' * (models != 1)}"
    one = f", {_p(least * others)} for one other contrast alone among {others} (Benjamini and Hochberg)"
    yield f"smallest p: {_p(least)} where all {count} tasks differ; {holm}{one if others else ''}"
    needed = fewest_differing(models)
    if count < needed:
        yield f"warning: no verdict can be reached: {needed} tasks must differ, and there are {count}"
    elif count * _USUALLY < needed:
        yield f"warning: {needed} of {count} tasks must differ for a verdict, and usually about half of them do"
    if best is not None:
        yield from _room(plan, rates, best)


def _room(plan: TrialPlan, rates: Rates, best: float) -> Iterator[str]:
    """Where an earlier control leaves no room for what could be detected."""
    from skill_health.effectiveness.effects.arms import CEILING

    for model in plan.models:
        found = {skill: rate for (spec, skill), rate in rates.items() if spec == model.spec}
        rate = found.get(None)
        if rate is not None and 1 - rate < best:
            yield (
                f"warning: {model.spec} passed {100 * rate:.0f} % without a skill when it was last tried: a gain "
                f"of the {100 * best:.0f} points that could be detected has no room"
            )
        elif rate is not None and rate < best:
            yield (
                f"warning: {model.spec} passed {100 * rate:.0f} % without a skill when it was last tried: a loss "
                f"of the {100 * best:.0f} points that could be detected has no room"
            )
        full = sorted(skill for skill, each in found.items() if skill is not None and each >= CEILING)
        if full:
            yield f"warning: {model.spec} passed nearly always without {_some(full)} when it was last tried"


def _skills(plan: TrialPlan) -> Iterator[str]:
    """What can be said of single skills."""
    from skill_health.stats.power import fewest_differing

    targets = [task for task in _both(plan, TARGET) if not task.is_control]
    counts = Counter(task.target_skill or "" for task in targets)
    alone = fewest_differing(1)
    enough = sorted(skill for skill, count in counts.items() if count >= alone)
    tests = max(1, len(enough) * len(plan.models))
    needed = fewest_differing(tests)
    for skill in enough:
        best = _detectable(counts[skill], plan.choices.reps, tests)
        points = "" if best is None else f", at best {100 * best:.0f} points"
        short = "" if counts[skill] >= needed else f"; no verdict: {needed} must differ with {tests} tested together"
        yield f"skill {skill}: {counts[skill]} tasks{points}{short}"
    few = sorted((skill for skill in counts if counts[skill] < alone), key=lambda skill: (-counts[skill], skill))
    if few:
        said = _some([f"{skill} ({counts[skill]} task{'s' * (counts[skill] != 1)})" for skill in few])
        yield f"warning: no verdict on single skills can be reached for {said}: each needs {alone} tasks that differ"


def _controls(plan: TrialPlan) -> Iterator[str]:
    """Whether the negative controls can be shown to do nothing."""
    from skill_health.stats.hypothesis_tests import least_half_width
    from skill_health.stats.power import mde_from_sd

    margin, tasks = plan.choices.margin, _both(plan, NEGATIVE)
    # Over all tasks and over the negative controls: both must be shown, and fewer tasks show less.
    count = sum(task.is_control for task in tasks) or len(tasks)
    if not count:
        yield f"warning: no task has the arm {NEGATIVE}, so nothing shows that an irrelevant skill does nothing"
        return
    # Without a share for power what is left is half of the 90 % interval, which equivalence is judged by.
    half = mde_from_sd(count, _spread(plan.choices.reps), alpha=0.1, power=0.5)
    half = None if half is None else max(half, least_half_width(count))
    if half is None or half > margin:
        about = "" if half is None else f", whose interval will be about +-{100 * half:.0f} points"
        kind = "negative control" if any(task.is_control for task in tasks) else "task"
        yield f"note: a margin of {100 * margin:g} points cannot be shown with {count} {kind}{'s' * (count != 1)}{about}"


def _detectable(tasks: int, reps: int, tests: int) -> float | None:
    from skill_health.stats.power import simulated_mde

    return simulated_mde(tasks, reps, tests)


def _spread(reps: int) -> float:
    """The standard deviation of a task's difference of two means, where only the replications' own noise is left."""
    return math.sqrt(2 * _RATE * (1 - _RATE) * (1 - _WITHIN) / reps)


def _p(value: float) -> str:
    return f"{min(1.0, value):.2g}"


def _some(names: list[str], most: int = 6) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
