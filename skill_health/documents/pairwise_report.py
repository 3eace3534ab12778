"""The report of a judging in pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import field

from skill_health.documents._record import Amount, Count, Figure, FullFigure, OpenRecord, TimeText
from skill_health.documents.judge_report import JudgeAgreement, ScoreVerdict
from skill_health.documents.pairwise_manifest import LeftOutPair, TieRule

PairOutcome = Literal["win", "tie", "loss"]


class PairwiseReport(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """report.json of a judging in pairs: how often one arm is preferred to the other, and how far to trust that."""

    ID: ClassVar = "skill-health/pairwise-report/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["pairwise-report"]
    """What it is."""
    run_id: str
    """The judging."""
    of_run: str
    """The run whose trials were judged."""
    created: TimeText
    """When the judging began."""
    arm: str
    """The arm whose win rate this is."""
    against: str
    """The arm that it is held against."""
    ties: TieRule
    """What a tie is to the win rate and the verdict."""
    answers_planned: Count
    """Answers of all judges to all pairs in both orders."""
    answers_read: Count
    """Those that could be read; the others are missing."""
    models: tuple[ModelWins, ...]
    """Each model of the run, in its order."""
    judges: tuple[PairJudge, ...]
    """The judges, in the order of the manifest."""
    flips: Figure
    """The position bias: the share of pairs on which a judge says something else when both change places."""
    first_place: Figure
    """The share of preferences that go to the one shown first; one half without a bias, whichever arm is better."""
    repeats: Figure
    """The share of answers that are others when the same judge is asked the same once more."""
    agreement: JudgeAgreement
    """How far the judges agree on pairs, each by its first vote in both orders."""
    pairs: tuple[SettledPair, ...]
    """The pairs, in the order of the manifest."""
    left_out: tuple[LeftOutPair, ...]
    """Pairs that were not judged, and why."""
    cost_usd: Amount | None
    """Dollars of all calls, also of those that were taken over; null where nobody knows."""
    skill_shown: Count
    """Pairs whose evidence names a staged skill, as where the agent opened it: there judges may know the arms."""
    taken_over: Mapping[str, Count] = field(default_factory=dict)
    """Answers that were not asked for here but in a judging of a run that this one extends, by the judging."""


class ModelWins(OpenRecord, frozen=True, kw_only=True):
    """The two arms of one model."""

    model: str
    wins: Count
    """Pairs that the arm wins."""
    ties: Count
    """Pairs that are ties, those among them on which orders or votes disagree; before any rule for ties."""
    losses: Count
    """Pairs that it loses."""
    missing: Count
    """Pairs without an answer that counts in both orders; they are in no figure."""
    win_rate: FullFigure
    """The mean over tasks, by the rule for ties; p is for one half, corrected by Holm's method over models."""
    ties_half: FullFigure
    """The same with each tie as half a win."""
    shorter_wins: FullFigure
    """The same with each tie as a win of the shorter side; half where both are equally long."""
    equal_length: Figure
    """The win rate, with ties as half, that a logistic regression has where both sides are equally long."""
    length_slope: Figure
    """Its slope, in log odds of a win for each doubling of the ratio of lengths: above zero, longer work wins."""
    longer: Figure
    """The share of wins that go to the longer side."""
    verdict: ScoreVerdict
    """What the win rate says."""


class PairJudge(OpenRecord, frozen=True, kw_only=True):
    """One judge."""

    judge: str
    """The name as it was given."""
    resolved: tuple[str, ...]
    """The models that its provider named."""
    asked: Count
    """Answers that have a result."""
    read: Count
    """Those that could be read."""
    void: Count
    """Preferences in these that do not count: what they quote is not there."""
    flips: Figure
    """The share of pairs on which it says something else when both change places."""
    first_place: Figure
    """The share of its preferences that go to the one shown first."""
    repeats: Figure
    """The share of its answers that are others when it is asked the same once more."""
    cost_usd: Amount | None
    """Dollars; null where nobody knows."""


class SettledPair(OpenRecord, frozen=True, kw_only=True):
    """What the votes on one pair come to."""

    task_id: str
    model: str
    replication: Count
    outcome: PairOutcome | None
    """Of the arm: what more than half of the votes that count say, else a tie; null where none counts."""
    wins: Count
    """Votes that count, one of each judge for each time that it was asked in both orders."""
    ties: Count
    losses: Count
    flipped: Count
    """Ties because the two orders disagree."""
    missing: Count
    """Votes without an answer that counts in both orders."""
    longer_by: float
    """The binary logarithm of the ratio of lengths, the arm's to the other's."""
