"""Two runs of the same prompts -> what the edit of the descriptions did, with intervals, or why that cannot be said."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import asdict, replace

from skill_health.core.errors import UsageError
from skill_health.documents.router_comparison import (
    CarryOverEvidence,
    ComparedGroup,
    ComparedPrompts,
    ComparedRouter,
    ComparedRouterRun,
    CoverageChange,
    FigureChange,
    FlipKind,
    FlippedAnswer,
    PowerlessGroup,
    PromptFlip,
    ResolvedIdsChange,
    RouterComparisonReport,
    RoutingLoss,
    SkillMetricChange,
)
from skill_health.documents.router_manifest import SweepSelection
from skill_health.router.compare.carry_over import evidence_of
from skill_health.router.compare.comparable import agreeing, changed_skills, differences, obstacles
from skill_health.router.records import NONE, Prompt
from skill_health.router.routers._load import LOCAL
from skill_health.router.runs import RouterRun
from skill_health.router.scores.failures import coverage
from skill_health.router.scores.judge import UNKNOWN, Judged, ModelScores
from skill_health.router.scores.metrics import METRICS, PRIMARY
from skill_health.router.scores.numbers import difference, not_testable, number
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.stats.power import smallest_p
from skill_health.text.near import list_some

ABSTAINED = "abstained"
FLIPS: tuple[FlipKind, ...] = ("lost", "won", "moved")
COMPARED: Mapping[str, tuple[str, Callable[[Judged], float]]] = {
    PRIMARY: (METRICS[PRIMARY].title, METRICS[PRIMARY].value),
    "top3": (METRICS["top3"].title, METRICS["top3"].value),
    "mrr": (METRICS["mrr"].title, METRICS["mrr"].value),
    ABSTAINED: ("abstained", lambda row: row.picked == NONE),
}
"""What is compared: title and value of one call. The first is the primary one, declared beforehand."""


@dataclass(frozen=True, slots=True)
class PairedCalls:
    """The scored calls of one model to one prompt, in the baseline and in the run. `cluster` numbers the family."""

    prompt: Prompt
    cluster: int
    before: tuple[Judged, ...]
    after: tuple[Judged, ...]

    def sides(self, value: Callable[[Judged], float]) -> tuple[float, float]:
        """The mean of a value over the replications, in the baseline and in the run."""
        return fmean(map(value, self.before)), fmean(map(value, self.after))

    def by(self, value: Callable[[Judged], float]) -> float:
        """The difference. Sums of thirds that cancel are 0, not a rounding error with a sign."""
        before, after = self.sides(value)
        return round(after - before, 9)


def pair(before: ModelScores, after: ModelScores, prompts: Collection[str]) -> list[PairedCalls]:
    """The prompts that both runs have a score for, in the run's order; only those that are named."""
    old, new = _by_prompt(before.tested()), _by_prompt(after.tested())
    return [
        PairedCalls(rows[0].prompt, rows[0].cluster, tuple(old[prompt]), tuple(rows))
        for prompt, rows in new.items()
        if prompt in old and prompt in prompts
    ]


def _by_prompt(rows: Iterable[Judged]) -> Mapping[str, list[Judged]]:
    found: defaultdict[str, list[Judged]] = defaultdict(list)
    for row in rows:
        found[row.prompt.prompt_id].append(row)
    return found


def change(pairs: Sequence[PairedCalls], value: Callable[[Judged], float], seed: int) -> FigureChange:
    """The mean before and after, and the difference with its interval and its p; each prompt counts once.

    `moved` counts the independent prompts whose difference is not 0: nothing else tells for or against a change.
    """
    sums: dict[int, list[float]] = {}
    for each in pairs:
        total = sums.setdefault(each.cluster, [0.0, 0.0])
        total[0] += each.by(value)
        total[1] += 1
    rows = [sums[cluster] for cluster in sorted(sums)]
    if not rows:
        why = not_testable("no prompt has a score in both runs")
        return FigureChange(before=None, after=None, difference=why, moved=0)
    before, after = zip(*(each.sides(value) for each in pairs), strict=True)
    return FigureChange(
        before=round(fmean(before), 9),
        after=round(fmean(after), 9),
        difference=number(dataclasses.replace(difference(rows, seed), n=len(pairs), clusters=len(rows))),
        moved=sum(round(total, 9) != 0 for total, _ in rows),
    )


def by_skill(pairs: Sequence[PairedCalls], seed: int) -> tuple[SkillMetricChange, ...]:
    """The change of the primary metric for each right answer by itself, corrected by Benjamini and Hochberg (1995)."""
    groups: defaultdict[str, list[PairedCalls]] = defaultdict(list)
    for each in pairs:
        groups[each.prompt.target or ""].append(each)
    found = [(skill, change(groups[skill], COMPARED[PRIMARY][1], seed)) for skill in sorted(groups)]
    adjusted = benjamini_hochberg([row.difference.p for _, row in found])
    return tuple(
        SkillMetricChange(skill=skill, **asdict(_corrected(row, p)))
        for (skill, row), p in zip(found, adjusted, strict=True)
    )


def _corrected(row: FigureChange, p: float | None) -> FigureChange:
    return replace(row, difference=replace(row.difference, p_adjusted=p))


def flips(pairs: Sequence[PairedCalls]) -> tuple[PromptFlip, ...]:
    """The prompts whose most frequent answer is another one now: those lost first, then those won, then the rest."""
    found = []
    for each in pairs:
        old, new = _modal(each.before), _modal(each.after)
        if (old.answer, old.valid) == (new.answer, new.valid):
            continue
        target = each.prompt.target
        kind: FlipKind = "lost" if _is(old, target) else "won" if _is(new, target) else "moved"
        found.append(PromptFlip(prompt_id=each.prompt.prompt_id, expected=target, kind=kind, before=old, after=new))
    return tuple(sorted(found, key=lambda flip: FLIPS.index(flip.kind)))


def _is(side: FlippedAnswer, target: str | None) -> bool:
    return side.valid and side.answer == target


def _modal(rows: Sequence[Judged]) -> FlippedAnswer:
    """The most frequent answer, `calls` of `of`; the kind of failure where there is no valid one.

    Of equally frequent ones the right one is taken, then the first by name, so that noise makes few flips.
    """
    counts = Counter((row.picked or row.result.status, row.picked is not None) for row in rows)
    target = rows[0].prompt.target
    (answer, valid), calls = min(counts.items(), key=lambda item: (-item[1], item[0] != (target, True), item[0]))
    return FlippedAnswer(answer=answer, valid=valid, calls=calls, of=len(rows))


ALL = "all"
ALPHA = 0.05


def losses(models: Sequence[ComparedRouter], max_loss: float, testable: int) -> Iterator[RoutingLoss]:
    """The losses beyond `max_loss`, one or more for a model; `how` says on what they rest.

    In a group of prompts a loss counts where its corrected p is at most 0.05; `by` is a share of the group.

    What a local router answers is computed: nothing about it is chance, and no test is needed to know what it has lost.
    Its loss counts, too, where the prompts that it lost in all groups, less those that it won, are more than
    `max_loss` of the `testable` prompts that there were to select from. One prompt less in 60 is thus within 2 %,
    and a skill that none of its four prompts finds any more is not.
    """
    for model in models:
        found = list(_significant(model, max_loss))
        yield from found or _computed(model, max_loss, testable)


def _significant(model: ComparedRouter, max_loss: float) -> Iterator[RoutingLoss]:
    for group in model.groups:
        found = group.metrics[PRIMARY].difference
        if found.value is None or found.p_adjusted is None or found.p_adjusted > ALPHA:
            continue
        if -found.value > max_loss:
            yield RoutingLoss(
                model=model.model,
                group=group.group,
                how="significant",
                by=-found.value,
                lost=group.worse,
                won=group.better,
                of=group.prompts,
            )


def _computed(model: ComparedRouter, max_loss: float, testable: int) -> Iterator[RoutingLoss]:
    if model.kind != LOCAL:
        return
    lost, won = sum(group.worse for group in model.groups), sum(group.better for group in model.groups)
    if lost - won > max_loss * testable + 1e-9:
        by = round((lost - won) / testable, 9)
        yield RoutingLoss(model=model.model, group=ALL, how="computed", by=by, lost=lost, won=won, of=testable)


def powerless(models: Sequence[ComparedRouter]) -> tuple[PowerlessGroup, ...]:
    """The groups with losses of which none can be significant, because top-1 changed on too few independent prompts.

    `p` is what the corrected p of the group would be if whatever changed, for all models and groups, had been lost.
    """
    groups = [(model.model, group, group.metrics[PRIMARY].moved) for model in models for group in model.groups]
    tested = [(model, group, moved) for model, group, moved in groups if moved]
    return tuple(
        PowerlessGroup(model=model, group=group.group, moved=n, p=p)
        for (model, group, n), p in zip(tested, holm([smallest_p(n) for _, _, n in tested]), strict=True)
        if p is not None and p > ALPHA and group.worse
    )


MISSING = 0.05
"""More missing calls than this share are said."""
LIVE = "Ranking bounds what a description can do; whether a live agent loads the skill is another question."

Groups = Mapping[str, Collection[str]]


def compare(
    run: RouterRun,
    baseline: RouterRun,
    max_loss: float,
    groups: Groups | None = None,
    models: tuple[str, str] | None = None,
) -> RouterComparisonReport:
    """The comparison of the models that both runs asked, or of one of the run with one of the baseline.

    `groups` are prompts by the name of their group, by default all of them in one; each is tested by itself, and Holm's
    correction covers all models and groups. `lost` names the losses of top-1 beyond `max_loss` (see `router.losses`).

    Raises UsageError where the prompts, the mode, the listing or the template differ, or nothing is in common.
    """
    if found := list(obstacles(run, baseline, models)):
        raise UsageError(f"{run.run_id} cannot be compared with {baseline.run_id}: {'; '.join(found)}")
    return contrast(run, baseline, max_loss, groups, models=models)


def contrast(
    run: RouterRun,
    baseline: RouterRun,
    max_loss: float,
    groups: Groups | None = None,
    sweep: SweepSelection | None = None,
    models: tuple[str, str] | None = None,
) -> RouterComparisonReport:
    """The same for runs that are known to be comparable in the prompts that ask and expect the same in both.

    `sweep` says what the groups were selected from, by default the prompts in common.
    """
    common = agreeing(run.facts, baseline.facts)
    parts = {name: set(prompts) & set(common) for name, prompts in (groups or {ALL: common}).items()}
    old = {column.model.spec: column for column in baseline.sheet.columns}
    met = {models[0]: models[1]} if models else {spec: spec for spec in old}
    both = [(old[met[new.model.spec]], new) for new in run.sheet.columns if new.model.spec in met]
    compared = _correct([_model(before, after, run, baseline, parts) for before, after in both])
    untested = {name for name in common if name in run.facts.untested or name in baseline.facts.untested}
    relisted = changed_skills(baseline.facts.shown.values(), run.facts.shown.values())
    return RouterComparisonReport(
        schema="skill-health/router-comparison/1",
        run=side_of(run),
        baseline=side_of(baseline),
        max_loss=max_loss,
        skills=relisted,
        same_skills=len(run.facts.shown) - sum(skill.kind != "removed" for skill in relisted),
        prompts=ComparedPrompts(
            common=len(common),
            only_run=tuple(name for name in run.facts.prompts if name not in set(common)),
            only_baseline=sum(name not in set(common) for name in baseline.facts.prompts),
            not_testable=len(untested),
        ),
        differences=tuple(differences(run, baseline)),
        cautions=(
            *_trust(run, baseline, both),
            *_taken(run, baseline),
            *_gaps(run, baseline, both),
            *_unlisted(run, baseline, common),
        ),
        models=compared,
        lost=tuple(losses(compared, max_loss, sweep.testable if sweep else len(common) - len(untested))),
        powerless=powerless(compared),
        untrusted=tuple(model.model for model in compared if run.trusted(model.model) is False),
        note=LIVE,
        sweep=sweep,
        carry_over=_carry_over(compared, run),
    )


def _carry_over(models: Sequence[ComparedRouter], run: RouterRun) -> CarryOverEvidence | None:
    """How far the routers speak for models, where there are only routers."""
    if not models or any(model.kind != LOCAL for model in models):
        return None
    return evidence_of({model.model for model in models}, run.manifest.index)


def side_of(run: RouterRun) -> ComparedRouterRun:
    """A run as a comparison names it."""
    return ComparedRouterRun(**{name: getattr(run.manifest, name) for name in ComparedRouterRun.__struct_fields__})


def _model(
    before: ModelScores, after: ModelScores, run: RouterRun, baseline: RouterRun, parts: Groups
) -> ComparedRouter:
    tested = {prompt.prompt_id for prompt in run.facts.tested} & {prompt.prompt_id for prompt in baseline.facts.tested}
    none = run.facts.none_allowed
    groups = []
    for name, prompts in parts.items():
        pairs = pair(before, after, prompts)
        primary = [each.by(COMPARED[PRIMARY][1]) for each in pairs]
        groups.append(
            ComparedGroup(
                group=name,
                prompts=len(pairs),
                unpaired=len(tested & set(prompts)) - len(pairs),
                better=sum(by > 0 for by in primary),
                worse=sum(by < 0 for by in primary),
                metrics={
                    key: change(pairs, value, run.facts.seed)
                    for key, (_, value) in COMPARED.items()
                    if none or key != ABSTAINED
                },
                skills=by_skill(pairs, run.facts.seed),
                flips=flips(pairs),
            )
        )
    return ComparedRouter(
        model=after.model.spec,
        against=before.model.spec if before.model.spec != after.model.spec else None,
        kind=before.model.kind if after.model.kind == LOCAL else after.model.kind,
        resolved=ResolvedIdsChange(before=before.resolved, after=after.resolved),
        coverage=CoverageChange(before=coverage(before, baseline.facts), after=coverage(after, run.facts)),
        groups=tuple(groups),
    )


def _correct(models: Sequence[ComparedRouter]) -> tuple[ComparedRouter, ...]:
    """Put Holm's corrected p beside each p: one family of tests for each metric."""
    groups = [dict(group.metrics) for model in models for group in model.groups]
    for key in COMPARED:
        tests = [metrics for metrics in groups if key in metrics]
        for metrics, p in zip(tests, holm([metrics[key].difference.p for metrics in tests]), strict=True):
            metrics[key] = _corrected(metrics[key], p)
    left = iter(groups)
    return tuple(
        replace(model, groups=tuple(replace(group, metrics=next(left)) for group in model.groups)) for model in models
    )


def _trust(run: RouterRun, baseline: RouterRun, both: list[tuple[ModelScores, ModelScores]]) -> Iterator[str]:
    for before, after in both:
        spec = after.model.spec
        for side, column in ((run, after), (baseline, before)):
            if side.trusted(column.model.spec) is False:
                yield f"{column.model.spec} is not to be trusted in {side.run_id}: the instrument check failed"
        for simulated in dict.fromkeys(each.model.spec for each in (after, before) if each.model.kind == "simulated"):
            yield f"{simulated} is simulated: no model was asked"
        old, new = before.resolved, after.resolved
        if spec == before.model.spec and old and new and old != new:
            yield f"{spec} is another model now: {', '.join(old)} -> {', '.join(new)}"


def _taken(run: RouterRun, baseline: RouterRun) -> Iterator[str]:
    """Which answers of the run cannot differ from those of the baseline, as they are the same."""
    same = {result.key for result in baseline.results if result.scored}
    taken = sum(result.taken_from == baseline.run_id and result.key in same for result in run.results)
    if taken:
        yield f"{taken:,} answers of {run.run_id} were taken over from {baseline.run_id}: they are the same, and no evidence of anything"


def _gaps(run: RouterRun, baseline: RouterRun, both: list[tuple[ModelScores, ModelScores]]) -> Iterator[str]:
    for pair_of in both:
        for side, column in zip((baseline, run), pair_of, strict=True):
            found = coverage(column, side.facts)
            if found.share is not None and 1 - found.share > MISSING:
                kinds = ", ".join(f"{name} {n}" for name, n in found.missing.items())
                share = f"{1 - found.share:.1%} of {found.planned} calls are missing ({kinds})"
                yield f"{column.model.spec} in {side.run_id}: {share}"


def _unlisted(run: RouterRun, baseline: RouterRun, common: Collection[str]) -> Iterator[str]:
    """Which prompts expect a skill that only one of the collections has: one that is new, renamed or gone."""
    for side, other, what in ((run, baseline, "baseline"), (baseline, run, "run")):
        names = [
            each for each in common
            if other.facts.untested.get(each) == UNKNOWN and side.facts.untested.get(each) != UNKNOWN
        ]  # fmt: skip
        if names:
            skills = sorted({str(run.facts.prompts[each].expected) for each in names})
            prompts, expect, them = (
                ("1 prompt", "expects", "it") if len(names) == 1 else (f"{len(names)} prompts", "expect", "them")
            )
            yield (
                f"{prompts} ({list_some(names)}) {expect} {list_some(skills)}, which the "
                f"{what} does not have: there is nothing to compare {them} with"
            )
