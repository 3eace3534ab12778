"""Votes of an earlier judging that need not be asked for again: those on trials that an extended run has taken over."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import UNSET, structs

from skill_health.bench.journal import Journal
from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import earlier_runs, load_result_records
from skill_health.core.errors import SkillHealthError
from skill_health.documents._record import record_values
from skill_health.documents.judge_manifest import FrozenJudge, JudgeManifest
from skill_health.documents.judge_result import JudgedCall
from skill_health.documents.pairwise_manifest import PairwiseManifest
from skill_health.effectiveness.judge.plan import VoteKey
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.text.numbers import count

VoteMarks: TypeAlias = Mapping[VoteKey, str]
"""A hash of all that each answer of a judging depends on, by its key."""


def mark_vote(manifest: JudgeManifest | PairwiseManifest, judge: FrozenJudge, *shown: str) -> str:
    """A hash of all that an answer depends on.

    That are our version, the judge with its server, program and settings, and what it is `shown`, as hashes. Prices,
    batches, the families that a user named and other votes are no part of it.
    """
    return digest(
        [manifest.tool_version, record_values(structs.replace(judge, price=None, families=(), batch=False)), *shown]
    )


def count_carried(votes: Iterable[JudgedCall]) -> dict[str, int]:
    """How many of these answers were taken over, by the judgings that asked."""
    return dict(sorted(Counter(vote.taken_from for vote in votes if vote.taken_from is not UNSET).items()))


def carried_lines(judgings: Mapping[str, int], what: str) -> Iterator[str]:
    """For people: how many of `what` were taken over, in the order of the judgings."""
    for name, number in judgings.items():
        yield f"taken over from the judging {name}: {count(number, what)}, on trials that the run has taken over"


def find_carried(
    run: EffectRun,
    kind: str,
    wanted: VoteMarks,
    trials_of: Callable[[VoteKey], Iterable[tuple[str, str, str, int]]],
    marks_of: Callable[[Mapping[str, object]], VoteMarks],
    record: type[JudgedCall],
) -> dict[VoteKey, JudgedCall]:
    """The answers of judgings of this kind, of the runs that a run extends, that are answers to what is asked now.

    Both the trial and all that the answer depends on must be the same; the latest judging goes first. `trials_of` are
    the trials that an answer is about, `marks_of` the marks of a manifest. What of an earlier judging cannot be read is
    asked for again.
    """
    taken = {result.key for result in run.results if result.taken_from is not UNSET}
    open_ = {key: mark for key, mark in wanted.items() if taken.issuperset(trials_of(key))}
    found: dict[VoteKey, JudgedCall] = {}
    reports = os.path.dirname(os.path.abspath(run.folder))
    for name in reversed(run.manifest.extends):
        for folder, values in earlier_runs(os.path.join(reports, name), kind):
            try:
                marks, results = marks_of(values), load_result_records(folder, record)
            except (SkillHealthError, ValueError):
                continue
            for result in results:
                key = (*result.trial, result.judge, result.vote)
                if result.scored and key not in found and key in open_ and marks.get(key) == open_[key]:
                    maker = str(values["run_id"]) if result.taken_from is UNSET else result.taken_from
                    found[key] = structs.replace(result, taken_from=maker)
    return found


async def carry_over(carried: Mapping[VoteKey, JudgedCall], journal: Journal) -> None:
    """Take over answers. Raises AbortedError where they cannot be written."""
    for vote in carried.values():
        await journal.add(record_values(vote))
