"""A judging as its folder holds it -> its report, with arms compared by task; the same from the same files."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skill_health.bench.run_folder import load_manifest_record, load_result_records
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, read_small, write_text
from skill_health.documents._record import decode_record, encode_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.judge_calibration import CalibratedJudge, CalibratedPanel, JudgeCalibration
from skill_health.documents.judge_manifest import JudgeManifest, LeftOutTrial
from skill_health.documents.judge_report import (
    CalibrationSummary,
    JudgeFigures,
    JudgeReport,
    RubricScore,
    ScoreContrast,
    ScoreSides,
    ScoreVerdict,
    SkillScores,
)
from skill_health.documents.judge_result import JudgedCall, JudgeResult
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.effects.contrasts import LEAST, ArmPair, calibration, pairs, primary, within
from skill_health.effectiveness.effects.sheet import read_facts
from skill_health.effectiveness.judge.carry import count_carried
from skill_health.effectiveness.judge.prepare import JUDGING, thaw_rubrics
from skill_health.effectiveness.judge.scores.agreement import agree, flip_rate, to_figure
from skill_health.effectiveness.judge.scores.markdown import to_markdown
from skill_health.effectiveness.judge.scores.votes import VoteSheet, planned_votes, read_votes, score_trial
from skill_health.effectiveness.rubric.model import WHOLE
from skill_health.effectiveness.run.runs import load_manifest
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.intervals import clustered_mean
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.stats.power import FEW_CLUSTERS
from skill_health.stats.resampling import RESAMPLES, paired_bootstrap, paired_t

CALIBRATION = "calibration.json"


@dataclass(frozen=True, slots=True)
class Judging:
    """A judging as its folder holds it; `calibration` is None where there is none."""

    folder: str
    manifest: JudgeManifest
    results: tuple[JudgeResult, ...]
    calibration: JudgeCalibration | None = None

    def sheet(self) -> VoteSheet:
        """Its votes."""
        names = [judge.spec for judge in self.manifest.models]
        return read_votes(thaw_rubrics(self.manifest), names, self.manifest.votes, self.results)


def load_judging(folder: str) -> Judging:
    """A judging with its results, as many as there are. Raises UsageError where a file of it is missing or damaged."""
    manifest = load_manifest_record(folder, JUDGING, JudgeManifest)
    return Judging(folder, manifest, load_result_records(folder, JudgeResult), _calibration(folder))


def _calibration(folder: str) -> JudgeCalibration | None:
    path = os.path.join(folder, CALIBRATION)
    if not is_there(path, links=False):
        return None
    try:
        return decode_record(read_small(path) or b"", JudgeCalibration)
    except ValueError as error:
        raise UsageError(f"{path} is damaged ({error}): calibrate again, or remove it") from None


def panel_of(judging: Judging) -> CalibratedPanel:
    """Who judged, as far as a calibration depends on it."""
    found: dict[str, set[str]] = defaultdict(set)
    for result in judging.results:
        if result.resolved_model:
            found[result.judge].add(result.resolved_model)
    judges = (
        CalibratedJudge(
            judge=each.spec,
            protocol=each.protocol,
            base_url=each.base_url,
            models=tuple(sorted(found[each.spec])) or (each.spec.partition(":")[2],),
            agent=f"{each.agent.name} {each.agent.version or ''}".strip() if each.agent else "",
        )
        for each in judging.manifest.models
    )
    return CalibratedPanel(
        prompt=judging.manifest.hashes.get("prompt", ""), votes=judging.manifest.votes, judges=tuple(judges)
    )


def other_panel(calibrated: CalibratedPanel | None, judging: CalibratedPanel) -> str:
    """Why a calibration by one panel does not hold for a judging by another; "" where it does."""
    if calibrated is None:
        return "it does not say who judged: calibrate again"
    if calibrated.prompt != judging.prompt:
        return "its judges were given other rules"
    if calibrated.votes != judging.votes:
        return f"its judges voted {calibrated.votes} times, not {judging.votes}"
    before, now = (
        sorted((each.protocol, each.base_url, each.agent, *each.models) for each in panel.judges)
        for panel in (calibrated, judging)
    )
    if before != now:
        names = (", ".join(" ".join(filter(None, each[2:])) for each in panel) for panel in (before, now))
        return "its judges were {}, not {}, or on another server".format(*names)
    return ""


def read_calibration(path: str) -> JudgeCalibration:
    """A calibration from a file. Raises UsageError where it is none."""
    raw = read_small(path)
    if raw is None:
        raise UsageError(f"cannot read {path}, or it is larger than 1 MiB")
    try:
        return decode_record(raw, JudgeCalibration)
    except ValueError as error:
        raise UsageError(f"{path} is no calibration of ours ({error}); `effectiveness calibrate` writes one") from None


def borrow_calibration(folder: str, found: JudgeCalibration) -> str:
    """Let a judging have the calibration of another one by the same panel; why that cannot be, "" where it can.

    A calibration of its own stays. Raises UsageError if it cannot be written.
    """
    judging = load_judging(folder)
    own = judging.calibration
    if own is not None and own.run_id == judging.manifest.run_id:
        return "it has a calibration of its own"
    if why := other_panel(found.panel, panel_of(judging)):
        return why
    write_text(os.path.join(folder, CALIBRATION), encode_record(found))
    return ""


def build_judge_report(run: EffectManifest, judging: Judging) -> JudgeReport:
    """The report of a judging of a run."""
    manifest, sheet = judging.manifest, judging.sheet()
    names = [judge.spec for judge in manifest.models]
    trials = tuple(score_trial(sheet, trial) for trial in manifest.trials)
    return JudgeReport(
        version=1,
        kind="judging-report",
        run_id=manifest.run_id,
        of_run=manifest.of_run,
        created=manifest.created,
        calibration=calibration_of(judging),
        votes_planned=planned_votes(manifest.trials, len(names), manifest.votes),
        votes_read=sum(bool(result.verdicts) for result in judging.results),
        judges=tuple(_judge(name, judging, sheet) for name in names),
        agreement=agree(sheet, manifest.trials, manifest.seed),
        repeats=to_figure(flip_rate(sheet, manifest.trials, names)),
        contrasts=score_contrasts(run, trials),
        trials=trials,
        left_out=manifest.left_out,
        cost_usd=sum_dollars(judging.results),
        skills=skill_scores(run, trials, manifest.left_out),
        skill_shown=sum(trial.skill_shown for trial in manifest.trials),
        taken_over=count_carried(judging.results),
    )


def calibration_of(judging: Judging) -> CalibrationSummary | None:
    """What is known of the verdicts; a calibration that is of another panel after all is none."""
    calibration = judging.calibration
    if calibration is None:
        return None
    own = calibration.run_id == judging.manifest.run_id
    if not own and other_panel(calibration.panel, panel_of(judging)):
        return None
    counted = calibration.counted
    return CalibrationSummary(
        judging="" if own else calibration.run_id,
        labels=calibration.labels,
        accuracy=counted.accuracy,
        kappa=counted.kappa,
        leniency=counted.leniency,
    )


def _judge(name: str, judging: Judging, sheet: VoteSheet) -> JudgeFigures:
    own = [result for result in judging.results if result.judge == name]
    verdicts = [verdict for result in own for verdict in result.verdicts]
    return JudgeFigures(
        judge=name,
        resolved=tuple(sorted({result.resolved_model for result in own if result.resolved_model})),
        asked=len(own),
        read=sum(bool(result.verdicts) for result in own),
        void=sum(bool(verdict.void) for verdict in verdicts),
        verdicts=len(verdicts),
        unread=dict(sorted(Counter(result.status for result in own if not result.verdicts).items())),
        repeats=to_figure(flip_rate(sheet, judging.manifest.trials, [name])),
        cost_usd=sum_dollars(own),
    )


def sum_dollars(results: Sequence[JudgedCall]) -> float | None:
    """Dollars of results; None where nobody knows those of one."""
    costs = [result.cost_usd for result in results]
    return None if None in costs else round(math.fsum(each for each in costs if each is not None), 9)


def write_judge_report(run_folder: str, judging: Judging) -> tuple[JudgeReport, tuple[str, str]]:
    """Write the report of a judging into its folder; the report, and the paths. Raises UsageError if that fails."""
    report = build_judge_report(load_manifest(run_folder), judging)
    paths = (os.path.join(judging.folder, "report.json"), os.path.join(judging.folder, "report.md"))
    write_text(paths[0], encode_record(report))
    write_text(paths[1], to_markdown(report))
    return report, paths


ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class _Compared:
    model: str
    pair: ArmPair
    delta: Estimate


def compare_scores(differences: Sequence[float], seed: int) -> Estimate:
    """The mean difference over tasks: Student's interval with few of them, the bootstrap's with many, sign-flip p.

    Differences are of shares of all points. With fewer than six tasks that differ there is neither interval nor p.
    """
    if not differences:
        return Estimate(None, note="not testable: no task has a score in both arms")
    few = len(differences) < FEW_CLUSTERS
    found = paired_t(differences) if few else paired_bootstrap(differences, None, RESAMPLES, seed)
    differing = sum(abs(each) > 1e-12 for each in differences)
    if differing < LEAST:
        note = f"not testable: {differing} of {len(differences)} tasks differ, {LEAST} are needed"
        return replace(found, low=None, high=None, method="", note=note)
    return replace(within(found, 1.0), p=sign_flip(differences, seed=seed))


def score_verdict(delta: Estimate) -> ScoreVerdict:
    """What a corrected difference says."""
    if delta.value is None or delta.p is None:
        return "not_testable"
    p = delta.p if delta.p_adjusted is None else delta.p_adjusted
    one_side = delta.low is None or delta.high is None or delta.low > 0 or delta.high < 0
    if p < ALPHA and one_side and delta.value:
        return "higher" if delta.value > 0 else "lower"
    return "no_evidence"


def score_contrasts(manifest: EffectManifest, trials: Iterable[RubricScore]) -> tuple[ScoreContrast, ...]:
    """Every contrast of the run's arms, model by model: the primary ones corrected by Holm, the others together.

    A trial without a weighted score is missing; so is a task without one on either side. Negative controls, which no
    skill should help with, are left out as they are of the contrasts of success.
    """
    facts = read_facts(manifest)
    scores: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for trial in trials:
        if trial.weighted is not None:
            scores[trial.model, trial.task_id, trial.arm].append(trial.weighted / WHOLE)
    again = calibration(facts.arms)
    wanted = [*pairs(facts.arms), *([again] if again else [])]
    tasks = [task.id for task in facts.targets]
    found = [
        _Compared(model.spec, pair, compare_scores(_differences(scores, model.spec, pair, tasks), facts.seed))
        for model in facts.models
        for pair in wanted
        if any((model.spec, task, arm) in scores for task in tasks for arm in (pair.arm, pair.against))
    ]
    return tuple(map(_to_record, _corrected(found)))


def _differences(
    scores: Mapping[tuple[str, str, str], Sequence[float]], model: str, pair: ArmPair, tasks: Iterable[str]
) -> list[float]:
    both = ((scores.get((model, task, pair.arm)), scores.get((model, task, pair.against))) for task in tasks)
    return [round(_mean(one) - _mean(other), 9) for one, other in both if one and other]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _corrected(found: Sequence[_Compared]) -> list[_Compared]:
    adjusted: dict[int, float | None] = {}
    for decides, method in ((True, holm), (False, benjamini_hochberg)):
        places = [
            at
            for at, each in enumerate(found)
            if (each.pair.kind == "primary") == decides and each.pair.kind != "calibration"
        ]
        adjusted |= dict(zip(places, method([found[at].delta.p for at in places]), strict=True))
    return [replace(each, delta=replace(each.delta, p_adjusted=adjusted.get(at))) for at, each in enumerate(found)]


def _to_record(each: _Compared) -> ScoreContrast:
    return ScoreContrast(
        model=each.model,
        name=each.pair.name,
        arm=each.pair.arm,
        against=each.pair.against,
        kind=each.pair.kind,
        delta=full_figure(each.delta),
        verdict=score_verdict(each.delta) if each.pair.kind == "primary" else None,
    )


ScoreKind = Literal["goal", "instruction", "weighted"]
_GROUPS: tuple[ScoreKind, ...] = ("goal", "instruction")


def skill_scores(
    manifest: EffectManifest, trials: Iterable[RubricScore], left_out: Iterable[LeftOutTrial]
) -> tuple[SkillScores, ...]:
    """Every skill of which a trial with it or without was judged, by name and then in the order of models.

    Empty where the run does not have both arms. A trial that was left out has all its judged points missing.
    """
    facts = read_facts(manifest)
    pair = primary(facts.arms)
    if pair is None:
        return ()
    skill_of = {task.id: task.skill for task in facts.targets if task.skill is not None}
    sides = (pair.arm, pair.against)
    judged: dict[tuple[str, str], list[RubricScore]] = defaultdict(list)
    for trial in trials:
        if trial.task_id in skill_of and trial.arm in sides:
            judged[skill_of[trial.task_id], trial.model].append(trial)
    gone = Counter(
        (skill_of[each.task_id], each.model) for each in left_out if each.task_id in skill_of and each.arm in sides
    )
    order = {model.spec: at for at, model in enumerate(facts.models)}
    places = sorted(judged, key=lambda place: (place[0], order.get(place[1], len(order)), place[1]))
    deltas = [_differ(judged[place], "weighted", pair, facts.seed) for place in places]
    adjusted = holm([delta.p for delta in deltas])
    return tuple(
        _skill(place, judged[place], gone[place], pair, replace(delta, p_adjusted=p), facts.seed)
        for place, delta, p in zip(places, deltas, adjusted, strict=True)
    )


def _skill(
    place: tuple[str, str], own: Sequence[RubricScore], gone: int, pair: ArmPair, weighted: Estimate, seed: int
) -> SkillScores:
    settled = math.fsum(trial.coverage for trial in own)
    # What decides is the weighted score: the other two describe it, so that they have no test of their own.
    goal, instruction = (replace(_differ(own, kind, pair, seed), p=None) for kind in _GROUPS)
    return SkillScores(
        skill=place[0],
        model=place[1],
        arm=pair.arm,
        against=pair.against,
        trials=len(own),
        left_out=gone,
        missing=round(max(0.0, 1 - settled / (len(own) + gone)), 9),
        goal=_sides(own, "goal", pair, goal),
        instruction=_sides(own, "instruction", pair, instruction),
        weighted=_sides(own, "weighted", pair, weighted),
        verdict=score_verdict(weighted),
    )


def _sides(own: Sequence[RubricScore], kind: ScoreKind, pair: ArmPair, delta: Estimate) -> ScoreSides:
    one, other = (_scores_by_task(own, kind, arm) for arm in (pair.arm, pair.against))
    return ScoreSides(with_skill=to_figure(_level(one)), without=to_figure(_level(other)), delta=full_figure(delta))


def _level(scores: Mapping[str, Sequence[float]]) -> Estimate:
    found = clustered_mean([math.fsum(each) for each in scores.values()], [len(each) for each in scores.values()])
    return found if scores else replace(found, note="no trial has this score")


def _differ(own: Sequence[RubricScore], kind: ScoreKind, pair: ArmPair, seed: int) -> Estimate:
    one, other = (_scores_by_task(own, kind, arm) for arm in (pair.arm, pair.against))
    return compare_scores([round(_mean(one[task]) - _mean(other[task]), 9) for task in one if task in other], seed)


def _scores_by_task(own: Iterable[RubricScore], kind: ScoreKind, arm: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for trial in own:
        score = {"goal": trial.goal, "instruction": trial.instruction, "weighted": trial.weighted}[kind]
        if trial.arm == arm and score is not None:
            found[trial.task_id].append(score / WHOLE)
    return dict(sorted(found.items()))
