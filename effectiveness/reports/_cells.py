"""Numbers of a report as short text, and what several formats say of it alike; nothing in here escapes anything."""

from __future__ import annotations

from collections import Counter
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
    PenaltyContrast,
    TaskReport,
)
from skill_health.documents.effect_result import SCORED
from skill_health.effectiveness.records import (
    CONTROL,
    FILES,
    FORCED,
    FORCED_PLACEBO,
    FULL,
    ORDER,
    SELF_GENERATED,
    TARGET,
    condition_of,
    delivery_of,
)
from skill_health.text.near import list_some
from skill_health.text.numbers import (
    NOTHING,
    amount,
    bracket,
    count,
    format_number,
    p_value,
    points,
    quantity,
    share,
    with_n,
)

MEASURES = {
    "input_tokens": "tokens read", "output_tokens": "tokens written", "cached_tokens": "tokens from a cache",
    "cost_usd": "US dollars", "duration_ms": "ms", "turns": "turns", "tool_calls": "tool calls",
}  # fmt: skip
"""What is measured beside success, as it is called, each per trial."""
KINDS = {
    "loading": "loading by order",
    "discovery": "discovery penalty",
    "knowledge": "knowledge quality",
    "delivery": "delivery",
}
"""What contrasts of hints, deliveries and forced loading are about."""
_OVER = {"controls": "controls", "all": "all tasks", None: "all tasks"}
WHOLE = "(the whole collection)"
SIMULATED = "SIMULATED: a script stood in for the agent, so these numbers say nothing about any model or any skill."
INTENTION = (
    "Every scored trial counts in the arm that it was planned for, whether or not the agent opened the skill (intention "
    "to treat). Rates given that a skill was opened are biased by selection: these trials chose themselves."
)
READING = (
    "Differences are means over tasks of the difference of their mean success, in percentage points; brackets are 95 % "
    "intervals, resampled by task or Student's, widened where most tasks are alike. What is not testable is no "
    "finding, neither for nor against a skill."
)


BEST_OF = "Several tries, the best of k (of k trials drawn from each task's, mean over tasks)"
BEST_OF_HEAD = ("arm", "tries", "pass@k %", "best reward of k", "n/tasks", "mean of one try %")


def best_of(arms: Sequence[ArmFigures]) -> Iterator[list[str]]:
    """A row for each arm and number of tries, with the success of single ones beside it."""
    for arm in arms:
        for each in arm.best_of:
            found = each.pass_at_k
            yield [
                arm.arm, f"k {each.k}", share(found), format_number(each.reward), f"{found.n:,}/{found.clusters:,}",
                share(arm.success),
            ]  # fmt: skip


def tests(arm: ArmFigures) -> str:
    """The passed share of the tests with the number of trials that report theirs."""
    return with_n(share(arm.tests), arm.tests) if arm.tests else NOTHING


def name_of(contrast: ArmContrast) -> str:
    """A contrast in words: "target against control"."""
    return f"{contrast.arm} against {contrast.against}"


def label(contrast: ArmContrast) -> str:
    """The same as short as it goes: "target - control"."""
    return f"{contrast.arm} - {contrast.against}"


def delivered(arms: Sequence[ArmFigures]) -> list[ArmFigures]:
    """The arms that stage skills, where they are delivered in several ways; none else."""
    staged = [arm for arm in arms if arm.arm != CONTROL]
    return staged if any(delivery_of(arm.arm) != FILES for arm in staged) else []


def delivery_row(arm: ArmFigures) -> list[str]:
    """What a delivery takes: tokens, and calls of the server where there is one."""
    calls = NOTHING if arm.skill_calls is None else quantity(arm.skill_calls)
    return [share(arm.success), quantity(arm.input_tokens), quantity(arm.output_tokens), calls, f"{arm.trials:,}"]


DELIVERY_HEAD = ("arm", "success %", "tokens read", "tokens written", "calls of the server", "n")


def creations(arm: ArmFigures) -> str:
    """What agents wrote for themselves, and what that took of what the arm took; "" for an arm where they do not."""
    made = arm.creation
    if made is None:
        return ""
    lacking = [
        f"{n:,} {said}"
        for n, said in ((made.nothing, "wrote none"), (made.unusable, "wrote none that could be used"))
        if n
    ]
    rest = f" ({', '.join(lacking)}: done without)" if lacking else ""
    took = ", ".join(
        f"{MEASURES[name]} {quantity(getattr(made, name))} n {getattr(made, name).n:,}" for name in WRITING
    )
    return f"{arm.arm}: skills written in {made.written:,} of {count(arm.trials, 'trial')}{rest}. Of what a trial took, the writing took: {took}."


WRITING = ("input_tokens", "output_tokens", "cost_usd", "duration_ms")
_MEANINGS = {
    (FULL, TARGET): "crowding, what the rest of the collection adds to the target or takes from it",
    (ORDER, FULL): "the effect of the order in which skills are listed",
    (SELF_GENERATED, CONTROL): "what an agent gains by a skill that it wrote for itself, from the task's text alone",
    (
        FORCED,
        CONTROL,
    ): "what the skill does where the agent is ordered to load it first; trials that do not obey count, too",
    (FORCED, FORCED_PLACEBO): "what its text does there, less what the order to load any text does",
    (FORCED, TARGET): "what the order to load adds to the offer",
    (TARGET, SELF_GENERATED): "what the skill adds to one that the agent writes for itself",
}


def explained(report: EffectReport) -> Iterator[str]:
    """What contrasts mean that are not called what they are, one sentence for all."""
    pairs = [(each.arm, each.against) for model in report.models for each in model.contrasts]
    there = {(condition_of(arm), condition_of(against)) for arm, against in pairs}
    said = [
        f"{arm} - {against} is {meaning}" for (arm, against), meaning in _MEANINGS.items() if (arm, against) in there
    ]
    if said:
        yield f"{'; '.join(said)}."


PENALTIES = "Discovery penalties against each other"
PENALTY_HEAD = ("penalty of", "less that of", "points", "tasks that differ", "p sign flip", "p corrected")


def penalty_row(each: PenaltyContrast) -> list[str]:
    """The difference of two penalties; no p-value is shown where it is not testable."""
    ps = [p_value(p) if each.testable else NOTHING for p in (each.delta.p, each.delta.p_adjusted)]
    return [each.arm, each.against, points(each.delta), f"{each.differing} of {each.tasks}", *ps]


CONTRIBUTIONS = "What is lost without each skill"


def told_apart(model: ModelEffectReport) -> str:
    """Which skills are shown to contribute more than others, in a sentence; "" where there is nothing to compare."""
    found = model.contributions
    by_whole = Counter(each.against for each in found)
    pairs = sum(n * (n - 1) // 2 for n in by_whole.values())
    if not pairs:
        return ""
    above = [f"{each.skill} above {list_some(each.above, 6)}" for each in found if each.above]
    told = sum(len(each.above) for each in found)
    if not told:
        return f"No two of these skills can be told apart ({count(pairs, 'pair')}, sign-flip, Holm): their order may be chance."
    rest = "" if told == pairs else "; the order of the others may be chance"
    return f"Told apart, {told} of {count(pairs, 'pair')} (sign-flip, Holm): {'; '.join(above)}{rest}."


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


def weaker_proof(model: ModelEffectReport) -> str:
    """What to say of an agent of which nobody sees what it is offered; "" for all others."""
    return f"WEAKER PROOF: {model.unproved}." if model.unproved else ""


def marked(report: EffectReport, name: str) -> str:
    """The name of a model, with its mark where the proof of its figures is a weaker one."""
    weaker = {model.model for model in report.models if model.unproved}
    return f"{name} (weaker proof)" if name in weaker else name


def why(verdict: EffectVerdict) -> str:
    """The reason of a verdict without the verdict's own word in front; "" for none."""
    return verdict.reason.removeprefix(f"{verdict.word}: ")


def efficiency(model: ModelEffectReport) -> str:
    """The second endpoint in one line, what the verdict says already left out; "" for a report without it."""
    found = model.efficiency
    if found is None:
        return ""
    p = found.ratio.p_adjusted
    said = [] if found.reason == model.verdict.reason else [found.reason.removeprefix(f"{found.word}: ")]
    said += (
        [] if p is None else [f"p {p_value(p)} of fewer {found.measure} and no loss, corrected together with success"]
    )
    more = f" ({'; '.join(said)})" if said else ""
    return f"Efficiency at equal success: {found.word}{more}"


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
