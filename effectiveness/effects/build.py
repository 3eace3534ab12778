"""Manifest and results -> the report.

Whatever is shown of a run is rendered from the report alone. docs/statistics.md explains every figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import UNSET, structs

from skill_health.documents._record import map_values
from skill_health.documents._targets import bundle
from skill_health.documents.effect_loading import LoadingEffect
from skill_health.documents.effect_manifest import EffectManifest, FrozenAgent
from skill_health.documents.effect_report import (
    ArmContrast,
    ArmFigures,
    CalibrationContrast,
    CategoryContrasts,
    EffectReport,
    EffectVerdict,
    EfficiencyVerdict,
    Flip,
    LeaderboardRow,
    ModelEffectReport,
    SkillEffectReport,
    TaskArmCounts,
    TaskReport,
    VerdictWord,
)
from skill_health.documents.effect_result import SCORED, TrialResult
from skill_health.documents.quality_report import AuthoringAssociation
from skill_health.effectiveness.effects.arms import ALPHA, CEILING, FLOOR, arms, full_figure, invoked_of, say_interval
from skill_health.effectiveness.effects.authoring import (
    LEAST,
    associate_authoring,
    gains_of_skills,
    written_skills,
)
from skill_health.effectiveness.effects.composition import compositions
from skill_health.effectiveness.effects.contrasts import (
    ALL,
    ArmPair,
    Attribution,
    Contrast,
    Families,
    Scope,
    arm_contrast,
    calibration,
    compare,
    explain_untestable,
    families,
    primary,
    scopes,
)
from skill_health.effectiveness.effects.contributions import contributions
from skill_health.effectiveness.effects.controls import Absence, Control, absence, as_table, controls
from skill_health.effectiveness.effects.efficiency import GAINS, judge_efficiency
from skill_health.effectiveness.effects.loading import measure_loading
from skill_health.effectiveness.effects.penalties import compare_penalties
from skill_health.effectiveness.effects.sheet import (
    MEASURES,
    Cells,
    CellTrials,
    ModelTrials,
    RunTrials,
    TaskFacts,
    TrialRunFacts,
    extended,
    read_facts,
    read_sheet,
)
from skill_health.effectiveness.records import AGAIN, NEGATIVE, PLACEBO, condition_of
from skill_health.stats.estimates import Estimate
from skill_health.stats.power import few_replications, fewest_differing, preliminary_reasons
from skill_health.text.numbers import signed

NOT_ATTRIBUTED = Attribution((), (), None)
_NAMES = {PLACEBO: "a placebo of the same length", NEGATIVE: "an irrelevant skill"}


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """What a verdict rests on.

    `primary` is the target against the control, None where the run does not have both. `family` is how many such
    contrasts were tested together, `missing` is the share of the planned trials of these two arms that are not
    scored, and `absent` whether they are missing by chance. `biased` are the negative controls that failed,
    `replications` are the planned trials of each task in each arm, None where nobody planned them, and
    `efficiency` is what the other endpoint came to, None where it was not asked for. `extensions` is how often the run
    was extended, which is how often it could be looked at before.
    """

    primary: Contrast | None
    family: float
    missing: float
    margin: float
    absent: Absence | None = None
    biased: Sequence[Control] = ()
    extensions: int = 0
    replications: int | None = None
    attribution: Attribution = NOT_ATTRIBUTED
    efficiency: EfficiencyVerdict | None = None


def verdict(evidence: VerdictEvidence) -> EffectVerdict:
    """The verdict, the one sentence that decided, what to mind beside it, and why it is preliminary."""
    success, reason = _judged(evidence)
    word, reason = _either(success, reason, evidence.efficiency)
    primary = evidence.primary
    reasons: list[str] = []
    if primary:
        sizes = primary.tasks, primary.half_width, evidence.missing, evidence.margin
        reasons += preliminary_reasons(*sizes, "tasks", "trials")
    uneven = evidence.absent.uneven if evidence.absent else ""
    reasons += filter(None, [few_replications(evidence.replications), uneven, extended(evidence.extensions)])
    return EffectVerdict(
        word=word, reason=reason, notes=tuple(_notes(evidence, word, success)), preliminary=tuple(reasons)
    )


_RANKS: tuple[VerdictWord, ...] = ("biased", "harmful", "helps", "cheaper", "any text helps", "unexplained gain")


def _either(word: VerdictWord, reason: str, efficiency: EfficiencyVerdict | None) -> tuple[VerdictWord, str]:
    """The verdict of both endpoints: that of success, unless the other one shows more."""
    if efficiency is None or efficiency.word not in GAINS:
        return word, reason
    other: VerdictWord = efficiency.word  # type: ignore[assignment]
    if word not in _RANKS or (other == "cheaper" and _RANKS.index(word) > _RANKS.index(other)):
        return other, efficiency.reason
    return word, reason


def _judged(evidence: VerdictEvidence) -> tuple[VerdictWord, str]:
    primary = evidence.primary
    found = _significant(primary) if primary else 0
    if evidence.biased:
        # Where whatever is staged gains, the target does too: that is a result, and none of the skill.
        anything = found > 0 and all((each.contrast.delta.value or 0) > 0 for each in evidence.biased)
        return "any text helps" if anything else "biased", evidence.biased[0].why()
    if primary is None:
        return "not testable", "not testable: the run does not have both the target and the control of these tasks"
    if found > 0:
        return _attributed(evidence.attribution), _said(primary)
    if found < 0:
        return "harmful", _said(primary)
    if reason := _extreme(primary):
        return "not testable", reason
    if not primary.testable:
        return "not testable", explain_untestable(primary)
    if primary.differing < (needed := fewest_differing(max(evidence.family, 1), ALPHA)):
        together = f"{needed} are needed with {evidence.family:g} tested together"
        return "not testable", f"not testable: {primary.differing} of {primary.tasks} tasks differ, {together}"
    return "no evidence", _said(primary)


def _attributed(attribution: Attribution) -> VerdictWord:
    """Whose a gain over the control is."""
    if _below(attribution.p_adjusted) and all(map(_is_gain, attribution.gains)):
        return "helps"
    if any(_below(each.delta.p_adjusted) and _is_gain(each) for each in attribution.useless):
        return "any text helps"
    return "unexplained gain"


def _below(p: float | None) -> bool:
    return p is not None and p < ALPHA


def _is_gain(contrast: Contrast) -> bool:
    """Whether the interval that decides is above zero; where all tasks differ by the same, whether that is."""
    low = contrast.interval.low
    return (contrast.delta.value or 0.0) > 0 if low is None else low > 0


def _significant(primary: Contrast) -> int:
    """1 for a gain, -1 for a loss, 0 for neither: the p-value after correction, and an interval without zero.

    Where all tasks differ by the same there is no interval, and nothing that it could say beside the p-value.
    """
    p, low, high = primary.delta.p_adjusted, primary.interval.low, primary.interval.high
    if p is None or p >= ALPHA:
        return 0
    if low is None or high is None:
        low = high = primary.delta.value or 0.0
    return (low > 0) - (high < 0)


def _said(primary: Contrast) -> str:
    p = primary.delta.p_adjusted
    return _figures(primary, "" if p is None else f", p = {p:.2g} after correction")


def _figures(contrast: Contrast, chance: str = "") -> str:
    ends = say_interval(contrast.interval)
    return f"{signed(contrast.delta.value or 0)} pp over {contrast.tasks} tasks ({ends}{chance})"


def _extreme(primary: Contrast) -> str:
    """Why the control leaves no room for a difference; "" where it does."""
    target, control = primary.shares
    if control is not None and control >= CEILING:
        return f"not testable: ceiling, {100 * control:.1f} % of the trials pass without the skill"
    if control is not None and target is not None and max(control, target) <= FLOOR:
        return f"not testable: floor, at most {100 * max(control, target):.1f} % of the trials pass with or without the skill"
    return ""


def _notes(evidence: VerdictEvidence, word: VerdictWord, success: VerdictWord) -> Iterator[str]:
    """What to mind; `success` is what that endpoint alone comes to."""
    primary = evidence.primary
    sign = _significant(primary) if primary and success != "biased" else 0
    if sign and evidence.absent and (unsure := evidence.absent.unsure(sign)):
        yield unsure
    if sign > 0 and primary:
        yield from _compared(evidence.attribution, success)
        if (primary.shares[0] or 0) >= CEILING:
            yield "the target is at the ceiling: the gain may be larger on harder tasks"
    if word != success and primary:
        yield f"success alone: {_judged(evidence)[1]}"
    if word == "no evidence":
        yield "no evidence of an effect is not evidence of none: the interval says what is still possible"


def _compared(attribution: Attribution, word: VerdictWord) -> Iterator[str]:
    """What the texts that are of no use say of a gain."""
    for each in attribution.gains:
        yield f"against {_NAMES[condition_of(each.pair.against)]}: {_figures(each)}"
    p = attribution.p_adjusted
    chance = "not testable" if p is None else f"p = {p:.2g} after correction"
    if word == "helps":
        yield f"better than whatever was staged that is of no use ({chance})"
    elif word == "any text helps":
        yield "what is of no use gains, too, or the run favours whatever is staged: the gain need not be the skill's"
    elif attribution.gains:
        yield f"not shown to be better than whatever was staged that is of no use ({chance})"
    else:
        yield "neither a placebo nor an irrelevant skill was staged: any text of this length may help as much"


def notes(sheet: RunTrials, manifest: EffectManifest, models: Sequence[ModelEffectReport]) -> Iterator[str]:
    """The notes on a run; none says what a verdict says already. `models` are those of the report."""
    facts = sheet.facts
    if simulated := [model.spec for model in facts.models if model.simulated]:
        yield f"Simulated: the figures of {', '.join(simulated)} say nothing about any model."
    for agent in facts.models:
        if agent.unproved:
            yield f"Weaker proof: of all figures of {agent.spec}, {agent.unproved}."
    if not manifest.sandbox.isolates:
        yield "Not isolated: the agents could read and change what is outside their workspaces."
    if sheet.foreign:
        yield f"{sheet.foreign} results belong to no planned trial, or are a second one for the same; they are left out."
    yield from _of_extension(sheet, manifest)
    planned = facts.planned(facts.tasks.values())
    known = [column.spec for column in sheet.columns if column.cost_usd is not None]
    for column in sheet.columns:
        yield from _of_column(column, planned, [spec for spec in known if spec != column.spec])
    for model in models:
        if (again := model.calibration) and again.verdict == "differs":
            found = f"{again.name}, p = {again.sign_flip_p:.2g}"
            yield f"{model.model}: the target differs from itself ({found}); one run in 20 does so by chance."
    if not facts.controls:
        yield "No negative-control task was run: only the arm negative can show that the run is biased."
    conditions = {arm.condition for arm in facts.arms.values()}
    if PLACEBO not in conditions:
        yield "No placebo: a gain may be that of any text of this length."
    if AGAIN not in conditions:
        yield "No A/A arm: the run's own noise is known from the replications alone."


def _taken_over(sheet: RunTrials) -> list[TrialResult]:
    return [result for column in sheet.columns for result in column.results if result.taken_from is not UNSET]


def _of_extension(sheet: RunTrials, manifest: EffectManifest) -> Iterator[str]:
    """The notes on what was taken over from other runs."""
    taken = _taken_over(sheet)
    if not taken:
        return
    every = sum(len(column.results) for column in sheet.columns)
    known = [result.cost_usd for result in taken if result.cost_usd is not None]
    paid = f" All figures count them, their ${math.fsum(known):.2f} too." if known else " All figures count them."
    runs = ", ".join(sorted({str(result.taken_from) for result in taken}))
    yield f"Extended: {len(taken)} of {every} trials were made by {runs} and are counted here, not made again.{paid}"
    yield (
        f"Extended: whoever looks, and then goes on, tests {len(manifest.extends) + 1} times. Where there is no effect, "
        "one look finds one in 2 to 4 % of runs, two in 5 to 6 %, five in 8 to 11 %."
    )
    if mixed := _mixed(sheet):
        yield (
            f"Extended: in {mixed} task{'s' * (mixed != 1)} a replication has arms that were taken over and arms that "
            "were made later: what changed meanwhile at the model's server is in their difference."
        )


def _mixed(sheet: RunTrials) -> int:
    """In how many tasks of a model some arms of a replication were taken over and others were not."""
    found: dict[tuple[str, str, int], set[bool]] = {}
    for column in sheet.columns:
        for result in column.results:
            key = (column.spec, result.task_id, result.replication)
            found.setdefault(key, set()).add(result.taken_from is UNSET)
    return len({key[:2] for key, both in found.items() if len(both) > 1})


def _of_column(column: ModelTrials, planned: int, others: Sequence[str]) -> Iterator[str]:
    """The notes on one model; `others` are those whose trials' cost is known."""
    spec, results = column.spec, len(column.results)
    if results < planned:
        yield f"{spec}: {planned - results} of {planned} planned trials have no result."
    if missing := results - column.scored:
        kinds = {word: n for word, n in column.outcomes.items() if word not in SCORED}
        said = ", ".join(f"{n} {word}" for word, n in kinds.items())
        yield f"{spec}: {missing} trials are missing data, not failures ({said})."
    scored = [result for result in column.results if result.scored]
    unknown = sum(MEASURES["cost_usd"](result) is None for result in column.results)
    if 0 < unknown < results:
        yield f"{spec}: the cost of {unknown} of {results} trials is not known; the sum is of the others."
    elif unknown and others:
        yield f"{spec}: what its trials cost is not known; the sum is of the other models' alone."
    if again := sum(result.attempts > 1 for result in column.results):
        yield f"{spec}: {again} trials were tried again; what their earlier attempts took is in no figure."
    if scored and not any(result.invoked != "not_observable" for result in scored):
        yield f"{spec}: whether a skill was opened cannot be observed."


def tasks(facts: TrialRunFacts, cells: Cells) -> tuple[TaskReport, ...]:
    """Every task under all its arms; `flip` is by the contrast that decides verdicts."""
    pair = primary(facts.arms)
    return tuple(
        TaskReport(
            task_id=task.id,
            slug=task.slug,
            skill=task.skill,
            category=task.category,
            difficulty=task.difficulty,
            arms={arm: _cell(cells.get((task.id, arm))) for arm in task.arms},
            flip=_flip(task, cells, pair),
            invoked=invoked_of(task, cells),
        )
        for task in facts.tasks.values()
    )


def _cell(cell: CellTrials | None) -> TaskArmCounts:
    if cell is None:
        return TaskArmCounts(n=0, passes=0, success=None, reward=None)
    reward = sum(cell.rewards) / len(cell.rewards) if cell.rewards else None
    return TaskArmCounts(n=len(cell.trials), passes=cell.passes, success=cell.success, reward=reward)


def _flip(task: TaskFacts, cells: Cells, pair: ArmPair | None) -> Flip | None:
    """What the target did to a task; None for one that has no such arm."""
    if pair is None or pair.arm not in task.arms:
        return None
    one, other = cells.get((task.id, pair.arm)), cells.get((task.id, pair.against))
    if one is None or other is None:
        return "missing"
    change = one.passes * len(other.trials) - other.passes * len(one.trials)
    return "gained" if change > 0 else "lost" if change < 0 else "same"


def leaderboard(models: Sequence[ModelEffectReport]) -> tuple[LeaderboardRow, ...]:
    """Models with the whole collection, then pairs of model and skill, each from the greatest gain to the least.

    Equal gains share a rank. What is biased or has no difference comes last, without one.
    """
    whole = [_row(model, None, model) for model in models]
    single = [_row(model, skill.skill, skill) for model in models for skill in model.skills]
    return (*_ranked(whole), *_ranked(single))


def _row(model: ModelEffectReport, skill: str | None, among: ModelEffectReport | SkillEffectReport) -> LeaderboardRow:
    primary = next((each for each in among.contrasts if each.kind == "primary"), None)
    missing = full_figure(Estimate(None, note="the run has no such contrast"))
    return LeaderboardRow(
        rank=None,
        model=model.model,
        skill=skill,
        delta=primary.delta if primary else missing,
        verdict=among.verdict.word,
    )


def _ranked(rows: Sequence[LeaderboardRow]) -> Iterator[LeaderboardRow]:
    fair = sorted(filter(_is_fair, rows), key=lambda row: (-_gain(row), row.model, row.skill or ""))
    gains = list(map(_gain, fair))
    for row in fair:
        yield structs.replace(row, rank=gains.index(_gain(row)) + 1)
    yield from (row for row in rows if not _is_fair(row))


def _is_fair(row: LeaderboardRow) -> bool:
    return row.verdict not in ("biased", "any text helps") and row.delta.value is not None


def _gain(row: LeaderboardRow) -> float:
    return row.delta.value or 0.0


_DIGITS = 6


def build_report(manifest: EffectManifest, results: Sequence[TrialResult]) -> EffectReport:
    """Everything that is known of a run; the order of `results` does not matter.

    Floats are rounded to 6 significant digits, so that the bytes are the same everywhere.

    Raises UsageError for an arm in the manifest that there is not.
    """
    facts = read_facts(manifest)
    sheet = read_sheet(facts, results)
    found, checked = families(sheet), controls(sheet)
    models = tuple(
        _model(column, model, facts, found, checked[column.spec])
        for column, model in zip(sheet.columns, facts.models, strict=True)
    )
    pairs = compositions(
        sheet, manifest.pairs, {spec: [each.why() for each in own if each.failed] for spec, own in checked.items()}
    )
    models = tuple(structs.replace(model, composition=pairs[model.model]) for model in models)
    report = EffectReport(
        version=1,
        kind="effectiveness",
        run_id=manifest.run_id,
        created=manifest.created,
        tool_version=manifest.tool_version,
        simulated=any(model.simulated for model in models),
        sandbox=manifest.sandbox.name,
        seed=facts.seed,
        replications=facts.replications,
        margin=facts.margin,
        planned=sum(model.planned for model in models),
        scored=sum(model.scored for model in models),
        outcomes=_summed([model.outcomes for model in models]),
        cost_usd=_cost(sheet, facts),
        biased=tuple(f"{model.model}: {reason}" for model in models for reason in model.biased),
        preliminary=_preliminary(models),
        notes=tuple(notes(sheet, manifest, models)),
        models=models,
        leaderboard=leaderboard(models),
        extends=manifest.extends,
        taken_over=len(_taken_over(sheet)),
        authoring=_authoring(manifest, models),
    )
    return map_values(report, settle)


def _model(
    column: ModelTrials, model: FrozenAgent, facts: TrialRunFacts, found: Families, checked: Sequence[Control]
) -> ModelEffectReport:
    failed = tuple(each for each in checked if each.failed)
    biased = tuple(each.why() for each in failed)
    parts = scopes(facts).items()
    whole = _part(ALL, facts.targets, column, facts, found, failed)
    skills = [
        (scope, own, _part(scope, own, column, facts, found, failed)) for scope, own in parts if scope.kind == "skill"
    ]
    return ModelEffectReport(
        model=column.spec,
        agent=model.agent,
        agent_version=model.version,
        resolved=tuple(sorted({result.resolved_model for result in column.results if result.resolved_model})),
        simulated=model.simulated,
        unproved=model.unproved,
        planned=facts.planned(facts.tasks.values()),
        scored=column.scored,
        outcomes=column.outcomes,
        retried=sum(result.attempts > 1 for result in column.results),
        cost_usd=column.cost_usd,
        biased=biased,
        arms=whole.arms,
        contrasts=whole.contrasts,
        verdict=whole.verdict,
        efficiency=whole.efficiency,
        loading=whole.loading,
        skills=tuple(
            SkillEffectReport(
                skill=scope.name, skills=bundle(own[0].skills), tasks=tuple(task.id for task in own), **part._asdict()
            )
            for scope, own, part in skills
        ),
        categories=tuple(
            CategoryContrasts(
                category=scope.name,
                tasks=len(own),
                contrasts=tuple(map(arm_contrast, found.table[column.spec, scope])),
            )
            for scope, own in parts
            if scope.kind == "category"
        ),
        controls=as_table(column, checked, facts),
        calibration=_calibration(column, facts),
        tasks=tasks(facts, column.cells),
        penalties=compare_penalties(facts, column.cells),
        contributions=contributions(facts, found.table[column.spec, ALL], column.cells),
    )


class _Part(NamedTuple):
    """The arms, contrasts and verdict over some tasks."""

    arms: tuple[ArmFigures, ...]
    contrasts: tuple[ArmContrast, ...]
    verdict: EffectVerdict
    efficiency: EfficiencyVerdict | None
    loading: LoadingEffect | None


def _part(
    scope: Scope,
    own: Sequence[TaskFacts],
    column: ModelTrials,
    facts: TrialRunFacts,
    found: Families,
    biased: Sequence[Control],
) -> _Part:
    table = arms(facts, own, column.cells)
    pair = primary(facts.arms)
    sides = (pair.arm, pair.against) if pair else ()
    planned = facts.planned(own, sides)
    absent = absence(pair, own, column.cells, facts.replications) if pair else None
    amounts = found.efficiencies.get((column.spec, scope))
    efficiency = judge_efficiency(amounts, biased[0].why() if biased else "") if amounts else None
    evidence = VerdictEvidence(
        primary=found.primary(column.spec, scope),
        family=found.skills if scope.kind else found.models,
        missing=sum(arm.missing for arm in table if arm.arm in sides) / planned if planned else 1.0,
        absent=absent,
        margin=facts.margin,
        replications=facts.replications,
        biased=biased,
        extensions=len(facts.extends),
        attribution=found.attributions[column.spec, scope] if scope.kind != "category" else NOT_ATTRIBUTED,
        efficiency=efficiency,
    )
    return _Part(
        table,
        tuple(map(arm_contrast, found.table[column.spec, scope])),
        verdict(evidence),
        efficiency,
        measure_loading(pair, own, facts, column.cells),
    )


def _calibration(column: ModelTrials, facts: TrialRunFacts) -> CalibrationContrast | None:
    """The target against itself; None where no task has both arms."""
    pair = calibration(facts.arms)
    contrast = compare(pair, facts.targets, column.cells, facts.seed) if pair else None
    if contrast is None:
        return None
    p = contrast.delta.p
    return CalibrationContrast(
        **structs.asdict(arm_contrast(contrast)),
        verdict="not testable" if p is None else "differs" if p < ALPHA else "no difference shown",
    )


def _authoring(manifest: EffectManifest, models: Sequence[ModelEffectReport]) -> AuthoringAssociation | None:
    found = associate_authoring(written_skills(manifest.skills), gains_of_skills(models))
    return found if found.skills >= LEAST else None


def _preliminary(models: Sequence[ModelEffectReport]) -> tuple[str, ...]:
    """The reasons of all models, each once; with the model's name where there are several."""
    reasons = [(model.model, reason) for model in models for reason in model.verdict.preliminary]
    return tuple(f"{spec}: {reason}" if len(models) > 1 else reason for spec, reason in reasons)


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    words = sorted({word for each in counts for word in each})
    return {word: sum(each.get(word, 0) for each in counts) for word in words}


def _cost(sheet: RunTrials, facts: TrialRunFacts) -> float | None:
    """Dollars that were spent: made-up ones of a simulated model are no part of them."""
    pairs = zip(sheet.columns, facts.models, strict=True)
    known = [one.cost_usd for one, model in pairs if one.cost_usd is not None and not model.simulated]
    return math.fsum(known) if known else None


def settle(value: Any) -> Any:
    """A value as JSON can hold it: rounded, without NaN, half surrogate pairs and numpy's own numbers."""
    kind = type(value)
    if kind is float:
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    return settle(value.item())
