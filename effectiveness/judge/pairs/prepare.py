"""A finished run, two arms and judges -> everything that is settled before the first comparison is asked for."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from skill_health import __version__
from skill_health.bench import journal
from skill_health.bench.run_folder import Kind, find_place
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.pairwise_manifest import LeftOutPair, PairwiseManifest, TieRule
from skill_health.documents.pairwise_result import PairwiseResult
from skill_health.effectiveness.judge.carry import VoteMarks, find_carried, mark_vote
from skill_health.effectiveness.judge.pairs.plan import (
    PairPlan,
    PlannedComparison,
    answer_key,
    freeze_pairs,
    pair_keys,
    shown_criteria,
    votes_on_pair,
)
from skill_health.effectiveness.judge.pairs.question import PAIR_RULES_DIGEST, PairAnswer
from skill_health.effectiveness.judge.plan import VoteKey, forecast_votes
from skill_health.effectiveness.judge.prepare import (
    VOTE_FIELDS,
    JudgeChoices,
    PreparedJudging,
    at_stored_prices,
    freeze_judge,
    open_panel,
    told_of,
)
from skill_health.effectiveness.rubric.model import Rubric
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.executors.shards import Shard

PAIRWISE = "pairwise"
"""The kind of a judging in pairs in its manifest, and the folder below its run's where it lies."""


def _keys(values: Mapping[str, Any]) -> Iterator[journal.Key]:
    manifest = convert_record(values, PairwiseManifest)
    for pair in manifest.pairs:
        for judge in manifest.models:
            yield from pair_keys(pair, judge.spec, manifest.votes)


OF_PAIRS = Kind(
    PAIRWISE,
    VOTE_FIELDS,
    _keys,
    lambda values: values.get("pairs"),
    lambda values: convert_record(values, PairwiseResult).scored,
)
"""Judgings in pairs, for what is the same for all journals."""


@dataclass(frozen=True, slots=True)
class PairChoice:
    """Which arms are compared, the first by its win rate against the second, and what a tie is to that."""

    arm: str
    against: str
    ties: TieRule = "half"


def prepare_pairs(
    run: EffectRun,
    rubrics: Mapping[str, Rubric],
    pair: PairChoice,
    choices: JudgeChoices,
    routing: RouterSettings,
    time: datetime,
    *,
    named: str = "",
    anew: bool = False,
    keyless: bool = False,
    shard: Shard | None = None,
) -> PreparedJudging[PlannedComparison, PairAnswer]:
    """Open the judges, freeze the pairs, and find the folder below the run's; nothing is written or asked.

    Raises UsageError for everything that the user can fix.
    """
    judges, prices, keys, share = open_panel(run, choices, routing, keyless)
    criteria = shown_criteria(rubrics)
    pairs, left_out = freeze_pairs(run, (pair.arm, pair.against), criteria, choices.seed, share)
    if not pairs:
        why = left_out[0].reason if left_out else f"no task was tried in both {pair.arm} and {pair.against}"
        raise UsageError(f"there is nothing to compare in {run.run_id}: {why}")
    plan = PairPlan(run.folder, criteria, pairs, judges, choices.votes, choices.seed)
    manifest = PairwiseManifest(
        version=1,
        kind="pairwise",
        run_id="new",
        created=f"{time:%Y-%m-%dT%H:%M:%SZ}",
        tool_version=__version__,
        python=platform.python_version(),
        of_run=run.run_id,
        arm=pair.arm,
        against=pair.against,
        ties=pair.ties,
        seed=choices.seed,
        votes=choices.votes,
        repeat_share=share,
        hashes={"prompt": PAIR_RULES_DIGEST, "prices": prices.digest},
        models=tuple(map(freeze_judge, judges)),
        price_table=prices.version,
        pairs=pairs,
        left_out=left_out,
    )
    place = find_place(run.folder, record_values(manifest), time, OF_PAIRS, named, anew, keys, shard)
    if place.stored is not None:
        stored = convert_record(place.stored, PairwiseManifest)
        plan = replace(plan, judges=at_stored_prices(judges, stored.models))
    both = (pair.arm, pair.against)
    carried = {} if anew else find_carried(
        run, PAIRWISE, mark_answers(manifest), lambda key: [(*key[:2], arm, key[3]) for arm in both], _marks,
        PairwiseResult,
    )  # fmt: skip
    done = cast("frozenset[VoteKey]", place.settled) | carried.keys()
    forecast = forecast_votes(plan, prices.version, done, [*_notes(plan, left_out), *told_of(carried)])
    return PreparedJudging(plan, place, prices, forecast, keys, carried)


def mark_answers(manifest: PairwiseManifest) -> VoteMarks:
    """A hash of what each answer of a judging in pairs depends on."""
    return {
        answer_key(pair, first, judge.spec, vote): mark_vote(manifest, judge, side.digest)
        for pair in manifest.pairs
        for first, side in enumerate(pair.sides)
        for judge in manifest.models
        for vote in range(votes_on_pair(pair, manifest.votes))
    }


def _marks(values: Mapping[str, Any]) -> VoteMarks:
    return mark_answers(convert_record(values, PairwiseManifest))


def _notes(plan: PairPlan, left_out: Sequence[LeftOutPair]) -> list[str]:
    """What somebody should know before anything is spent."""
    found = [f"{len(plan.pairs)} pairs, each in both orders"]
    of = f"of {len(plan.pairs)} pairs"
    if flagged := sum(any(side.flags for side in pair.sides) for pair in plan.pairs):
        found.append(f"{flagged} {of} hold text that is written for a judge: see the manifest")
    if cut := sum(any(side.left_out for side in pair.sides) for pair in plan.pairs):
        found.append(f"{cut} {of} are too long to be shown whole: judges see how much is left out")
    if known := sum(any(side.skill_shown for side in pair.sides) for pair in plan.pairs):
        found.append(f"{known} {of} show a judge that a skill was there: it may know the arm")
    reasons = Counter(each.reason for each in left_out)
    return found + [f"left out: {count} pairs, {reason}" for reason, count in sorted(reasons.items())]
