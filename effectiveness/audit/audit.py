"""Published trials and claims -> the audit, by the estimators, tests and rules of our own runs.

A format is a family: its comparisons are corrected together, as the models of a run are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health import __version__
from skill_health.documents._record import TokenUsage, map_values
from skill_health.documents._targets import NO_SKILL
from skill_health.documents.effect_audit import (
    AuditedComparison,
    AuditedFile,
    AuditedGroup,
    AuditedLabel,
    AuditedRate,
    AuditedRemark,
    ClaimedEffect,
    EffectAudit,
    Standing,
)
from skill_health.documents.effect_manifest import FrozenAgent
from skill_health.documents.effect_report import EffectVerdict
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.arms import CEILING, FLOOR, full_figure
from skill_health.effectiveness.effects.build import VerdictEvidence, settle, verdict
from skill_health.effectiveness.effects.contrasts import (
    ALL,
    LEAST,
    Contrast,
    Families,
    Scope,
    arm_contrast,
    families,
    primary,
)
from skill_health.effectiveness.effects.controls import absence
from skill_health.effectiveness.effects.sheet import ModelTrials, RunTrials, TaskFacts, TrialRunFacts, read_sheet
from skill_health.effectiveness.published._api import PublishedClaim, PublishedTrial
from skill_health.effectiveness.published._load import PublishedGroup, PublishedResults, SidedTrial
from skill_health.effectiveness.records import CONTROL, TARGET, Arm
from skill_health.stats.intervals import clustered_proportion
from skill_health.stats.power import fewest_differing, smallest_p
from skill_health.text.numbers import count, signed

MARGIN = 0.1
_ARMS = {CONTROL: Arm(CONTROL), TARGET: Arm(TARGET)}
_SECONDS = len("2026-01-01T00:00:00")
_ROUNDED = 0.02
"""A claimed difference further than this from that of the trials is remarked on: published figures are rounded."""


def audit(found: PublishedResults, seed: int = 1, full_only: bool = False) -> EffectAudit:
    """What stands of published results.

    With `full_only` a pass that is known to have less than the full reward counts as a failure.
    """
    groups = tuple(_group(group, seed, full_only) for group in found.groups)
    return map_values(
        EffectAudit(
            schema="skill-health/effectiveness-audit/1",
            tool_version=__version__,
            seed=seed,
            full_only=full_only,
            files=tuple(
                AuditedFile(path=file.shown, format=file.title, trials=file.trials, claims=file.claims)
                for file in found.files
            ),
            groups=groups,
            problems=found.problems,
            notes=tuple(_notes(found)),
        ),
        settle,
    )


def _notes(found: PublishedResults) -> Iterator[str]:
    trials = [sided for group in found.groups for sided in group.trials]
    if found.passed_over:
        yield f"{count(found.passed_over, 'JSON file')} that are no results were passed over."
    controls = [sided.trial for sided in trials if sided.side == CONTROL]
    if controls and all(trial.invoked == "not_observable" for trial in controls):
        yield "Whether a control saw the skill cannot be known from what is published."
    if trials:
        yield "No negative control, no placebo: a gain may be that of any text, and a bias of the run cannot be seen."
        yield "Published trials are taken for all that were run; trials that were not published are not known."


@dataclass(frozen=True, slots=True)
class _Audited:
    """The trials of a group as a run of ours would have them, and what each cell was made of."""

    sheet: RunTrials
    families: Families
    cells: Mapping[tuple[str, str, str], tuple[PublishedTrial, ...]]

    def column(self, model: str) -> ModelTrials:
        """All of one configuration."""
        return next(column for column in self.sheet.columns if column.spec == model)


def _group(group: PublishedGroup, seed: int, full_only: bool) -> AuditedGroup:
    trials = _read_trials(group.trials, seed, full_only) if group.trials else None
    waiting = list(group.claims)
    comparisons: list[AuditedComparison] = []
    rates: list[AuditedRate] = []
    if trials:
        strict = _read_trials(group.trials, seed, True) if not full_only and _partial(group.trials) else None
        for column in trials.sheet.columns:
            rates += _rates(trials, column)
            for scope, skill in _scopes(trials.sheet.facts, column):
                claim = _pick_claim(waiting, skill, column.spec)
                comparisons.append(_compare(trials, column, scope, skill, claim, strict))
    comparisons += [_claimed_only(claim) for claim in waiting]
    standings = Counter(each.standing for each in comparisons)
    return AuditedGroup(
        format=group.title,
        rates=tuple(rates),
        labels=tuple(_labels(group.claims)),
        stands=standings["stands"],
        does_not_stand=standings["does not stand"],
        not_testable=standings["not testable"],
        comparisons=tuple(comparisons),
    )


def _partial(trials: Iterable[SidedTrial]) -> bool:
    return any(sided.trial.full is False for sided in trials)


def _read_trials(trials: Sequence[SidedTrial], seed: int, full_only: bool) -> _Audited:
    """The sheet that a run of ours would have. A task of one skill is not that of another with the same name."""
    cells: dict[tuple[str, str, str], list[PublishedTrial]] = defaultdict(list)
    skills: dict[str, str | None] = {}
    for sided in trials:
        skill = None if sided.trial.skill == NO_SKILL else sided.trial.skill
        task = sided.trial.task if skill is None else f"{skill}/{sided.trial.task}"
        skills[task] = skill
        cells[task, sided.trial.model, sided.side].append(sided.trial)
    facts = TrialRunFacts(
        tasks={
            task: TaskFacts(id=task, slug=task, skill=skills[task], category="", difficulty="", arms=tuple(_ARMS))
            for task in sorted(skills)
        },
        arms=_ARMS,
        models=tuple(_agent(name) for name in sorted({model for _, model, _ in cells})),
        replications=max(map(len, cells.values())),
        margin=MARGIN,
        seed=seed,
    )
    results = [_result(key, number, trial, full_only) for key, own in cells.items() for number, trial in enumerate(own)]
    sheet = read_sheet(facts, results)
    return _Audited(sheet, families(sheet, efficiency=False), {key: tuple(own) for key, own in cells.items()})


def _agent(name: str) -> FrozenAgent:
    return FrozenAgent(
        spec=name, agent=name, version=None, model="", protocol="", base_url=None, simulated=False, flags=(), price=None,
        max_usd=None,
    )  # fmt: skip


def _result(key: tuple[str, str, str], number: int, trial: PublishedTrial, full_only: bool) -> TrialResult:
    task, model, arm = key
    return TrialResult(
        task_id=task,
        model=model,
        arm=arm,
        replication=number,
        outcome="fail" if full_only and trial.full is False and trial.outcome == "pass" else trial.outcome,
        reward=trial.reward,
        usage=TokenUsage(
            input_tokens=trial.input_tokens, output_tokens=trial.output_tokens, cached_tokens=trial.cached_tokens
        ),
        cost_usd=trial.cost_usd,
        duration_ms=trial.duration_ms,
        turns=trial.turns,
        tool_calls=trial.tool_calls,
        invoked=trial.invoked,
        attempts=trial.attempts,
        error=trial.error,
    )


def _rates(trials: _Audited, column: ModelTrials) -> Iterator[AuditedRate]:
    for arm in (CONTROL, TARGET):
        published = sum(
            len(own) for (_, model, side), own in trials.cells.items() if (model, side) == (column.spec, arm)
        )
        cells = [cell for task in trials.sheet.facts.tasks if (cell := column.cells.get((task, arm)))]
        passes, scored = [cell.passes for cell in cells], [len(cell.trials) for cell in cells]
        if published:
            yield AuditedRate(
                model=column.spec,
                arm="control" if arm == CONTROL else "target",
                tasks=len(cells),
                trials=sum(scored),
                passes=sum(passes),
                missing=published - sum(scored),
                success=full_figure(clustered_proportion(passes, scored)),
            )


def _scopes(facts: TrialRunFacts, column: ModelTrials) -> Iterator[tuple[Scope, str | None]]:
    """All tasks, and those of each skill that a configuration has trials of; of one skill alone both are the same."""
    own = {facts.tasks[result.task_id].skill for result in column.results}
    skills = sorted(skill for skill in own if skill is not None)
    if len(own) == 1 and skills and len({task.skill for task in facts.tasks.values()}) == 1:
        yield ALL, skills[0]
        return
    if len(own) != 1 or not skills:
        yield ALL, None
    yield from ((Scope("skill", skill), skill) for skill in skills)


def _pick_claim(waiting: list[PublishedClaim], skill: str | None, model: str) -> PublishedClaim | None:
    """The claim on a comparison, which then waits no more."""
    fitting = next((each for each in waiting if each.skill == skill and each.model in (None, model)), None)
    if fitting:
        waiting.remove(fitting)
    return fitting


def _compare(
    trials: _Audited,
    column: ModelTrials,
    scope: Scope,
    skill: str | None,
    claim: PublishedClaim | None,
    strict: _Audited | None,
) -> AuditedComparison:
    facts = trials.sheet.facts
    tasks = [task for task in facts.targets if scope == ALL or task.skill == skill]
    contrast = trials.families.primary(column.spec, scope)
    judged = _judge(trials, column, scope, tasks)
    remarks = list(_remarks(trials, column, tasks, contrast, claim))
    if strict and (other := _judge(strict, strict.column(column.spec), scope, tasks)).word != judged.word:
        remarks.append(
            AuditedRemark(kind="partial-credit", message=f"with full rewards alone: {other.word} ({other.reason})")
        )
    claimed = _claim(claim, contrast)
    contaminated = next((each.message for each in remarks if each.kind == "contaminated-control"), "")
    standing, reason = _stand(claimed, judged, contaminated or _one_sided(column))
    number = contrast.tasks if contrast else 0
    return AuditedComparison(
        model=column.spec,
        skill=skill,
        claim=claimed,
        standing=standing,
        reason=reason,
        tasks=number,
        smallest_p=smallest_p(number),
        contrast=arm_contrast(contrast) if contrast else None,
        verdict=judged,
        remarks=tuple(remarks),
    )


def _judge(trials: _Audited, column: ModelTrials, scope: Scope, tasks: Sequence[TaskFacts]) -> EffectVerdict:
    """The verdict by the rules of a run, with the published trials for the planned ones."""
    sheet, found = trials.sheet, trials.families
    pair = primary(sheet.facts.arms)
    cells = [trials.cells.get((task.id, column.spec, arm), ()) for task in tasks for arm in (CONTROL, TARGET)]
    published = sum(map(len, cells))
    scored = sum(
        len(cell.trials) for task in tasks for arm in (CONTROL, TARGET) if (cell := column.cells.get((task.id, arm)))
    )
    even = len(set(map(len, cells))) == 1
    replications = len(cells[0]) if cells else 0
    return verdict(
        VerdictEvidence(
            primary=found.primary(column.spec, scope),
            family=found.skills if scope.kind else found.models,
            missing=1 - scored / published if published else 1.0,
            margin=sheet.facts.margin,
            # What was planned is not published: only where every cell has as many trials is it known what lacks.
            absent=absence(pair, tasks, column.cells, replications) if pair and even else None,
        )
    )


def _one_sided(column: ModelTrials) -> str:
    """Why a configuration cannot be compared at all: all that is published of it is on one side."""
    sides = {result.arm for result in column.results}
    if len(sides) > 1:
        return ""
    return f"no trial {'without' if TARGET in sides else 'with'} the skill is published"


def _stand(claimed: ClaimedEffect, judged: EffectVerdict, obstacle: str) -> tuple[Standing, str]:
    """Whether a claim stands, and why; `obstacle` is why nothing can be said whatever the figures are."""
    reason = judged.reason.removeprefix("not testable: ")
    if obstacle:
        return "not testable", obstacle
    if judged.word == "not testable":
        return "not testable", reason
    if claimed.direction == judged.word or (claimed.direction == "helps" and judged.word == "unexplained gain"):
        return "stands", reason
    if claimed.direction in ("none", "unknown") and judged.word == "no evidence":
        return "not testable", "no gain is claimed, and that there is none cannot be shown by this"
    return "does not stand", f"{judged.word}: {reason}"


def _claim(claim: PublishedClaim | None, contrast: Contrast | None) -> ClaimedEffect:
    if claim and claim.delta is not None:
        return _claimed("publisher", claim.label, claim.delta)
    delta = contrast.delta.value if contrast else None
    return _claimed("rates" if delta is not None else "nobody", claim.label if claim else "", delta)


def _claimed(by: str, label: str, delta: float | None) -> ClaimedEffect:
    sign = 0 if delta is None else (delta > 0) - (delta < 0)
    return ClaimedEffect(
        by="publisher" if by == "publisher" else "rates" if by == "rates" else "nobody",
        label=label,
        delta=delta,
        direction="unknown" if delta is None else "helps" if sign > 0 else "harmful" if sign < 0 else "none",
    )


def _remarks(
    trials: _Audited,
    column: ModelTrials,
    tasks: Sequence[TaskFacts],
    contrast: Contrast | None,
    claim: PublishedClaim | None,
) -> Iterator[AuditedRemark]:
    by_arm = {
        arm: {task.id: own for task in tasks if (own := trials.cells.get((task.id, column.spec, arm)))}
        for arm in (CONTROL, TARGET)
    }
    control = [trial for own in by_arm[CONTROL].values() for trial in own]
    target = [trial for own in by_arm[TARGET].values() for trial in own]
    if opened := sum(trial.invoked == "yes" for trial in control):
        message = f"contaminated control: {opened} of {count(len(control), 'trial')} without the skill opened one"
        yield AuditedRemark(kind="contaminated-control", message=message)
    elif both := {each.identity for each in control if each.identity} & {each.identity for each in target}:
        message = f"contaminated control: {count(len(both), 'trial')} stand on both sides, such as {min(both)}"
        yield AuditedRemark(kind="contaminated-control", message=message)
    single = by_arm[CONTROL].keys() ^ by_arm[TARGET].keys()
    if single and by_arm[CONTROL] and by_arm[TARGET]:
        message = f"{count(len(single), 'task')} on one side only, and left out, such as {min(single)}"
        yield AuditedRemark(kind="unpaired-tasks", message=message)
    missing = [sum(not _scored(trial) for trial in own) for own in (target, control)]
    if any(missing):
        message = f"{missing[0]} of {len(target)} trials with and {missing[1]} of {len(control)} without are not scored"
        yield AuditedRemark(kind="missing-trials", message=message)
    sizes = {len(own) for side in by_arm.values() for own in side.values()}
    if sizes == {1}:
        message = "one trial for each task and side: the noise of single runs is in every difference"
        yield AuditedRemark(kind="no-replications", message=message)
    elif len(sizes) > 1:
        message = f"{min(sizes)} to {max(sizes)} trials for each task and side"
        yield AuditedRemark(kind="unequal-replications", message=message)
    if late := sum(trial.outcome == "timeout" and (trial.reward or 0) >= 1 for trial in (*control, *target)):
        message = f"{count(late, 'trial')} out of time whose verifier gave the full reward: no success here"
        yield AuditedRemark(kind="late-passes", message=message)
    if apart := _apart(target, control):
        yield AuditedRemark(kind="sides-apart", message=apart)
    if partial := sum(trial.full is False for trial in (*control, *target)):
        passes = sum(trial.outcome == "pass" for trial in (*control, *target))
        message = f"{partial} of {passes} passes have less than the full reward"
        yield AuditedRemark(kind="partial-credit", message=message)
    shown = contrast.delta.value if contrast else None
    if claim and claim.delta is not None and shown is not None and abs(claim.delta - shown) > _ROUNDED:
        message = f"the publisher says {signed(claim.delta)} pp, the trials {signed(shown)} pp"
        yield AuditedRemark(kind="claim-differs", message=message)


def _apart(target: Sequence[PublishedTrial], control: Sequence[PublishedTrial]) -> str:
    """How far the sides lie apart in time, so that what else changed meanwhile looks like an effect; "" if mixed."""
    times = [sorted(trial.started[:_SECONDS] for trial in own) for own in (target, control)]
    if not all(own and own[0] for own in times):
        return ""
    (first, last), (begun, ended) = ((own[0], own[-1]) for own in times)
    if first <= ended and begun <= last:
        return ""
    return f"the sides were not mixed: begun {first} to {last} with the skill, {begun} to {ended} without"


def _scored(trial: PublishedTrial) -> bool:
    return TrialResult(task_id="", model="", arm="", replication=0, outcome=trial.outcome).scored


def _claimed_only(claim: PublishedClaim) -> AuditedComparison:
    """A claim without a single trial: nothing is tested, but what it rests on says what could be."""
    claimed = _claimed("publisher" if claim.label or claim.delta is not None else "nobody", claim.label, claim.delta)
    return AuditedComparison(
        model=claim.model,
        skill=claim.skill,
        claim=claimed,
        standing="not testable",
        reason=_why_untestable(claim),
        tasks=claim.tasks,
        smallest_p=None if claim.tasks is None else smallest_p(claim.tasks),
        contrast=None,
        verdict=None,
        remarks=(),
    )


def _why_untestable(claim: PublishedClaim) -> str:
    one, other = claim.with_rate, claim.without_rate
    if claim.delta is None and claim.tasks is None:
        return "neither trials nor a difference are published"
    if claim.tasks is not None and claim.tasks < LEAST:
        return f"{count(claim.tasks, 'task')}, {LEAST} that differ are needed"
    if other is not None and other >= CEILING:
        return f"ceiling, {100 * other:.1f} % without the skill"
    if one is not None and other is not None and max(one, other) <= FLOOR:
        return f"floor, at most {100 * max(one, other):.1f} % with or without the skill"
    return "only means are published: which tasks differ, and by how much, is not known"


def _labels(claims: Iterable[PublishedClaim]) -> Iterator[AuditedLabel]:
    """The publisher's words, one for each skill; each rests on as many tasks as it is said to."""
    labels: dict[str, str] = {}
    tasks: dict[str, int | None] = {}
    flat: Counter[str] = Counter()
    for claim in claims:
        if claim.label and claim.skill is not None:
            labels.setdefault(claim.skill, claim.label)
            tasks.setdefault(claim.skill, claim.label_tasks)
            flat[claim.label] += claim.delta is not None and claim.delta <= 0
    for label, skills in sorted(Counter(labels.values()).items()):
        own = [tasks[skill] for skill, word in labels.items() if word == label]
        yield AuditedLabel(
            label=label,
            skills=skills,
            one_task=sum(each == 1 for each in own),
            few_tasks=sum(each is not None and each < fewest_differing(1) for each in own),
            unknown_tasks=sum(each is None for each in own),
            no_gain=flat[label],
        )
