"""A finished run, rubrics and judges -> everything that is settled before the first call: plan, manifest, forecast."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, NamedTuple, cast

from skill_health import __version__
from skill_health.bench import journal
from skill_health.bench.manifest import digest
from skill_health.bench.prices import PriceTable, price_from, price_table
from skill_health.bench.run_folder import Kind, RunLocation, find_place
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.judge_manifest import (
    FrozenCriterion,
    FrozenJudge,
    FrozenRubric,
    JudgeManifest,
    LeftOutTrial,
)
from skill_health.documents.judge_result import JudgedCall, JudgeResult
from skill_health.effectiveness.judge.asking.answer import JudgeAnswer
from skill_health.effectiveness.judge.asking.question import RULES_DIGEST
from skill_health.effectiveness.judge.by_agent import USUAL, AgentSurroundings
from skill_health.effectiveness.judge.carry import VoteMarks, carried_lines, count_carried, find_carried, mark_vote
from skill_health.effectiveness.judge.families import parse_families
from skill_health.effectiveness.judge.opening import OpenJudge, judge_keys, open_judges, refuse_relatives
from skill_health.effectiveness.judge.plan import (
    AnyAnswer,
    JudgeForecast,
    JudgePlan,
    PlannedVote,
    SomeVote,
    VoteKey,
    VotePlan,
    forecast_votes,
    freeze_trials,
    votes_on,
    with_workspaces,
)
from skill_health.effectiveness.plan.plan import keys as trial_keys
from skill_health.effectiveness.rubric.model import Check, Criterion, Rubric
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.executors.shards import Shard

JUDGING = "judging"
"""The kind of a judging in its manifest, and the folder below its run's where it lies."""
VOTE_FIELDS = ("task_id", "model", "arm", "replication", "judge", "vote")
"""The key of a judge's answer, in a judging of either kind."""


def _keys(values: Mapping[str, Any]) -> Iterator[journal.Key]:
    manifest = convert_record(values, JudgeManifest)
    for trial in manifest.trials:
        for judge in manifest.models:
            for vote in range(votes_on(trial, manifest.votes)):
                yield (*trial.key, judge.spec, vote)


OF_JUDGING = Kind(
    JUDGING,
    VOTE_FIELDS,
    _keys,
    lambda values: values.get("tasks"),
    lambda values: convert_record(values, JudgeResult).scored,
)
"""Judgings, for what is the same for all journals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChoices:
    """What a user asks for. `families` are MODEL=FAMILY each, `surroundings` those of judges that are agents.

    With `batch` judges are asked in batches.
    """

    judges: tuple[str, ...]
    families: tuple[str, ...] = ()
    votes: int = 1
    repeat_share: float = 0.0
    seed: int = 1
    surroundings: AgentSurroundings = USUAL
    batch: bool = False


@dataclass(frozen=True, slots=True)
class PreparedJudging(Generic[SomeVote, AnyAnswer]):
    """A judging that can begin. `keys` are kept out of files; `carried` are answers that need not be asked for."""

    plan: VotePlan[SomeVote, AnyAnswer]
    place: RunLocation
    prices: PriceTable
    forecast: JudgeForecast
    keys: tuple[str, ...]
    carried: Mapping[VoteKey, JudgedCall]


def prepare_judging(
    run: EffectRun,
    rubrics: Mapping[str, Rubric],
    choices: JudgeChoices,
    routing: RouterSettings,
    time: datetime,
    *,
    named: str = "",
    anew: bool = False,
    keyless: bool = False,
    shard: Shard | None = None,
) -> PreparedJudging[PlannedVote, JudgeAnswer]:
    """Open the judges, freeze what is judged, and find its folder below the run's; nothing is written or asked.

    `rubrics` are those of tasks by their ids. That folder is the judging that is `named`, else an unfinished one of the
    same identity (not when `anew`), else a new one. Unless `anew`, answers of judgings of the runs that it
    extends are taken over where nothing has changed. Raises UsageError for everything that the user can fix.
    """
    judges, prices, keys, share = open_panel(run, choices, routing, keyless)
    mine = {task.id: rubrics[task.id] for task in run.manifest.tasks if task.id in rubrics and rubrics[task.id].judged}
    if not mine:
        raise UsageError(
            f"there is nothing to judge: no task of {run.run_id} has criteria that only a judge can decide"
        )
    trials, left_out = freeze_trials(run, mine, choices.seed, share)
    if any(judge.agent for judge in judges):
        trials, left_out = with_workspaces(run.folder, trials, left_out)
    if not trials:
        why = left_out[0].reason if left_out else "it has no trials of these tasks"
        raise UsageError(f"there is nothing to judge in {run.run_id}: {why}")
    plan = JudgePlan(run.folder, mine, trials, judges, choices.votes, choices.seed)
    manifest = to_judge_manifest(plan, run, share, left_out, prices, time)
    place = find_place(run.folder, record_values(manifest), time, OF_JUDGING, named, anew, keys, shard)
    if place.stored is not None:
        plan = replace(plan, judges=at_stored_prices(judges, convert_record(place.stored, JudgeManifest).models))
    carried = (
        {} if anew else find_carried(run, JUDGING, mark_votes(manifest), lambda key: [key[:4]], _marks, JudgeResult)
    )
    done = cast("frozenset[VoteKey]", place.settled) | carried.keys()
    told_before = forecast_votes(plan, prices.version, done, [*_notes(plan, left_out), *told_of(carried)])
    return PreparedJudging(plan, place, prices, told_before, keys, carried)


def mark_votes(manifest: JudgeManifest) -> VoteMarks:
    """A hash of what each answer of a judging depends on; of the workspace, where an agent judges."""
    return {
        (*trial.key, judge.spec, vote): mark_vote(manifest, judge, trial.digest, trial.workspace if judge.agent else "")
        for trial in manifest.trials
        for judge in manifest.models
        for vote in range(votes_on(trial, manifest.votes))
    }


def _marks(values: Mapping[str, Any]) -> VoteMarks:
    return mark_votes(convert_record(values, JudgeManifest))


def told_of(carried: Mapping[VoteKey, JudgedCall]) -> Iterator[str]:
    """What a forecast says of answers that are taken over."""
    return carried_lines(count_carried(carried.values()), "call")


class JudgePanel(NamedTuple):
    """Who judges: `keys` are kept out of files, `share` of what is judged each of them judges twice."""

    judges: tuple[OpenJudge, ...]
    prices: PriceTable
    keys: tuple[str, ...]
    share: float


def open_panel(run: EffectRun, choices: JudgeChoices, routing: RouterSettings, keyless: bool) -> JudgePanel:
    """The judges of a finished run. Raises UsageError where it is not finished, or a judge is not to be had."""
    _refuse_unfinished(run)
    told = parse_families(choices.families)
    prices = price_table(routing)
    judges = open_judges(choices.judges, routing, prices, told, keyless, choices.surroundings, choices.batch)
    refuse_relatives(judges, run, told)
    # With several votes of each judge, the second already says whether the first holds.
    share = choices.repeat_share if choices.votes == 1 else 0.0
    return JudgePanel(judges, prices, judge_keys(judges, routing), share)


def _refuse_unfinished(run: EffectRun) -> None:
    there = {result.key for result in run.results}
    if left := sum(key not in there for key in trial_keys(run.manifest)):
        raise UsageError(f"{run.folder} is not finished: {left} trials have no result; finish it, then judge it")


def to_judge_manifest(
    plan: JudgePlan,
    run: EffectRun,
    share: float,
    left_out: Sequence[LeftOutTrial],
    prices: PriceTable,
    time: datetime,
) -> JudgeManifest:
    """The manifest of a plan; its name comes with its folder."""
    rubrics = tuple(freeze_rubric(task, rubric) for task, rubric in sorted(plan.rubrics.items()))
    return JudgeManifest(
        version=1,
        kind="judging",
        run_id="new",
        created=f"{time:%Y-%m-%dT%H:%M:%SZ}",
        tool_version=__version__,
        python=platform.python_version(),
        of_run=run.run_id,
        seed=plan.seed,
        votes=plan.votes,
        repeat_share=share,
        hashes={
            "tasks": digest([record_values(each) for each in rubrics]),
            "prompt": RULES_DIGEST,
            "prices": prices.digest,
        },
        models=tuple(map(freeze_judge, plan.judges)),
        price_table=prices.version,
        tasks=rubrics,
        trials=plan.trials,
        left_out=tuple(left_out),
    )


def freeze_judge(judge: OpenJudge) -> FrozenJudge:
    """A judge as a manifest holds it."""
    return FrozenJudge(
        spec=judge.spec,
        families=tuple(sorted(judge.families)),
        protocol=judge.protocol.name,
        base_url=judge.where,
        price=judge.price.to_json() if judge.price else None,
        agent=judge.agent.freeze() if judge.agent else None,
        batch=judge.batched,
    )


def freeze_rubric(task: str, rubric: Rubric) -> FrozenRubric:
    """A rubric as a manifest holds it."""
    criteria = tuple(
        FrozenCriterion(id=each.id, text=each.text, points=each.points, group=each.group, judged=each.check is None)
        for each in rubric.criteria
    )
    return FrozenRubric(id=task, goal_weight=rubric.goal_weight, criteria=criteria)


def thaw_rubrics(manifest: JudgeManifest) -> dict[str, Rubric]:
    """The rubrics of a manifest by task. What a check is given is not in there, only that a check decides."""
    return {task.id: Rubric(tuple(map(_thaw, task.criteria)), task.goal_weight) for task in manifest.tasks}


def _thaw(criterion: FrozenCriterion) -> Criterion:
    check = None if criterion.judged else Check("")
    return Criterion(criterion.id, criterion.text, criterion.points, criterion.group, check)


def at_stored_prices(judges: Sequence[OpenJudge], models: Iterable[FrozenJudge]) -> tuple[OpenJudge, ...]:
    """The judges at the prices that a judging began with. Raises UsageError where its manifest holds none of ours."""
    try:
        stored = {each.spec: each.price for each in models}
        return tuple(
            replace(judge, price=None if (price := stored[judge.spec]) is None else price_from(price))
            for judge in judges
        )
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"the manifest of the judging to resume is damaged: no price of each judge ({error})"
        ) from None


def _notes(plan: JudgePlan, left_out: Sequence[LeftOutTrial]) -> list[str]:
    """What somebody should know before anything is spent."""
    found = []
    if flagged := sum(bool(trial.flags) for trial in plan.trials):
        found.append(f"{flagged} of {len(plan.trials)} trials hold text that is written for a judge: see the report")
    if cut := sum(trial.left_out > 0 for trial in plan.trials):
        found.append(
            f"{cut} of {len(plan.trials)} trials are too long to be shown whole: judges see how much is left out"
        )
    if known := sum(trial.skill_shown for trial in plan.trials):
        found.append(f"{known} of {len(plan.trials)} trials show a judge that a skill was there: it may know the arm")
    reasons = Counter(each.reason for each in left_out)
    return found + [f"left out: {count} trials, {reason}" for reason, count in sorted(reasons.items())]
