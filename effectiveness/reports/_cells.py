"""Numbers of a report as short text, and what several formats say of it alike; nothing in here escapes anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from skill_health.documents.effect_report import (
    ArmContrast,
    ArmFigures,
    EffectReport,
    EffectVerdict,
    EquivalenceContrast,
    LeaderboardRow,
    ModelEffectReport,
    TaskReport,
)
from skill_health.documents.effect_result import SCORED
from skill_health.effectiveness.records import CONTROL, TARGET
from skill_health.text.numbers import NOTHING, amount, bracket, count, p_value, quantity, share

MEASURES = {
    "input_tokens": "tokens read", "output_tokens": "tokens written", "cached_tokens": "tokens from a cache",
    "cost_usd": "US dollars", "duration_ms": "ms", "turns": "turns", "tool_calls": "tool calls",
}  # fmt: skip
"""What is measured beside success, as it is called, each per trial."""
KINDS = {"discovery": "discovery penalty", "knowledge": "knowledge quality", "delivery": "delivery"}
"""What contrasts between hints and between deliveries are about."""
_OVER = {"controls": "controls", "all": "all tasks", None: "all tasks"}
WHOLE = "(the whole collection)"
SIMULATED = "SIMULATED: a script stood in for the agent, so these numbers say nothing about any model or any skill."
INTENTION = (
    "Every scored trial counts in the arm that it was planned for, whether or not the agent opened the skill (intention "
    "to treat). Rates given that a skill was opened compare trials that chose themselves: they describe, no more."
)
READING = (
    "Differences are means over tasks of the difference of their mean success, in percentage points; brackets are 95 % "
    "intervals, resampled by task or Student's, widened by one more task that differs. What is not testable is no "
    "finding, neither for nor against a skill."
)


def name_of(contrast: ArmContrast) -> str:
    """A contrast in words: "target against control"."""
    return f"{contrast.arm} against {contrast.against}"


def label(contrast: ArmContrast) -> str:
    """The same as short as it goes, with what it is about: "target - control", "target+hint - target, discovery penalty"."""
    word = KINDS.get(contrast.kind, "")
    return f"{contrast.arm} - {contrast.against}{', ' if word else ''}{word}"


def delivered(arms: Sequence[ArmFigures]) -> list[ArmFigures]:
    """The arms that stage skills, where they are delivered in several ways; none else."""
    staged = [arm for arm in arms if arm.arm != CONTROL]
    return staged if any("@" in arm.arm for arm in staged) else []


def delivery_row(arm: ArmFigures) -> list[str]:
    """What a delivery takes: tokens, and calls of the server where there is one."""
    calls = NOTHING if arm.skill_calls is None else quantity(arm.skill_calls)
    return [share(arm.success), quantity(arm.input_tokens), quantity(arm.output_tokens), calls, f"{arm.trials:,}"]


DELIVERY_HEAD = ("arm", "success %", "tokens read", "tokens written", "calls of the server", "n")


def headline(contrasts: Sequence[ArmContrast]) -> ArmContrast | None:
    """The contrast that a part of a report is about: the primary one, else the first against the control."""
    found = [each for each in contrasts if each.kind == "primary"]
    found += [each for each in contrasts if each.against == CONTROL]
    return next(iter(found), None)


def sides(model: ModelEffectReport) -> tuple[str, str]:
    """The two arms that flips of tasks are about, the control first."""
    found = headline(model.contrasts)
    return (found.against, found.arm) if found else (CONTROL, TARGET)


def tested(contrast: ArmContrast) -> str:
    """What the test of a contrast says: a corrected p with the correction's name, or why there is none."""
    if not contrast.testable:
        return reason(contrast) or "not testable"
    if contrast.correction == "none":
        return f"p {p_value(contrast.sign_flip_p)}"
    return f"p {p_value(contrast.p_adjusted)} ({contrast.correction})"


def student(contrast: ArmContrast) -> str:
    """Student's interval in a few words, where it stands beside the other; "" where it does not."""
    found = bracket(contrast.t)
    return "" if found == NOTHING else f", Student's interval {found}"


def reason(contrast: ArmContrast) -> str:
    """Why a contrast cannot be tested, or what else there is to say of it; "" for nothing."""
    return contrast.note or contrast.delta.note


def why(verdict: EffectVerdict) -> str:
    """The reason of a verdict without the verdict's own word in front; "" for none."""
    return verdict.reason.removeprefix(f"{verdict.word}: ")


def spent(part: EffectReport | ModelEffectReport) -> str:
    """What a run or a model of it cost, in words: what is not known is no zero, and made-up dollars are no money."""
    models = part.models if isinstance(part, EffectReport) else (part,)
    real = [each for each in models if not each.simulated]
    known = [each.cost_usd for each in real or models if each.cost_usd is not None]
    if not known:
        return "cost not known"
    total = fsum(known)
    if not real:
        return f"{amount(total)} simulated US dollars"
    lacking = any(each.cost_usd is None and each.scored for each in real)
    return f"{'at least ' if lacking else ''}{amount(total)} US dollars"


def place(leader: LeaderboardRow) -> tuple[str, str]:
    """The rank of a line of the leaderboard, and what it is about."""
    rank = NOTHING if leader.rank is None else str(leader.rank)
    return rank, WHOLE if leader.skill is None else leader.skill


def over(contrast: EquivalenceContrast) -> str:
    """An equivalence in short: what it is over, and whether it marks the run."""
    said = f"{label(contrast)} ({_OVER[contrast.over]})"
    return f"{said}: FAILED" if contrast.failed else said


def outcomes(part: EffectReport | ModelEffectReport) -> str:
    """How many trials ended in which way: "pass 20, fail 9, infrastructure 1"; the scored ones first."""
    found = {name: n for name, n in part.outcomes.items() if n}
    order = [*(name for name in SCORED if name in found), *sorted(found.keys() - set(SCORED))]
    return ", ".join(f"{name} {found[name]:,}" for name in order)


def missing(part: EffectReport | ModelEffectReport) -> str:
    """The trials that enter no figure: "2 of 60 trials missing: infrastructure 1, not run 1"; "" for none."""
    absent = part.planned - part.scored
    if absent <= 0:
        return ""
    kinds = {name: n for name, n in sorted(part.outcomes.items()) if name not in SCORED and n}
    unrun = absent - sum(kinds.values())
    said = [f"{name} {n:,}" for name, n in kinds.items()] + ([f"not run {unrun:,}"] if unrun > 0 else [])
    return f"{absent:,} of {count(part.planned, 'trial')} missing: {', '.join(said)}"


def invoked(arm: ArmFigures) -> str:
    """How often an agent opened a staged skill, among the trials where that can be seen."""
    found = arm.invoked
    seen = found.yes + found.no
    hidden = f"{found.not_observable:,} not observable" if found.not_observable else ""
    if not seen:
        return hidden or NOTHING
    return f"{share(found.rate)} n {seen:,}" + (f" ({hidden})" if hidden else "")


def grouped(reasons: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Reasons of several models: equal ones once, each with the models of which it holds."""
    found: dict[str, list[str]] = {}
    for name, said in reasons.items():
        for each in said:
            found.setdefault(each, []).append(name)
    for each, names in found.items():
        yield f"{', '.join(names)}: {each}" if len(reasons) > 1 else each


def flips(model: ModelEffectReport) -> list[TaskReport]:
    """The tasks whose success differs between target and control, those that lost first."""
    found = [task for task in model.tasks if task.flip in ("lost", "gained")]
    return sorted(found, key=lambda task: (task.flip != "lost", task.task_id))


def passes(task: TaskReport, arm: str) -> str:
    """Trials that passed of those scored, such as "2/3"; a dash where the task has no such arm or no scored trial."""
    found = task.arms.get(arm)
    return NOTHING if not found or not found.n else f"{found.passes}/{found.n}"
