"""A result of a judging."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from skill_health.documents._record import Amount, Count, OpenRecord, TokenUsage
from skill_health.documents.router_result import Status

JudgeVerdict = Literal["met", "not_met", "cannot_tell"]
VoidReason = Literal["", "no_evidence", "evidence_not_found", "evidence_planted", "contradiction"]


class JudgedCriterion(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """What a judge says of one criterion."""

    criterion: str
    """The id of the criterion in its rubric."""
    verdict: JudgeVerdict
    """What the judge says."""
    points: Amount
    """What it gives, from 0 to the points of the criterion."""
    evidence: tuple[str, ...]
    """What it quotes."""
    void: VoidReason = ""
    """Why this verdict does not count: it quotes nothing, what it was not given, or only what a trial planted for it;
    or its points contradict it. Empty where it counts.
    """


class JudgedCall(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """What a result holds of the calls behind it, whatever was asked."""

    task_id: str
    """The task of the trial."""
    model: str
    """The agent with its model that did the trial."""
    arm: str
    """The condition of the trial; of a pair, of the trial that is shown as A."""
    replication: Count
    """The replication of the trial."""
    judge: str
    """The name of the judge as the manifest has it."""
    vote: Count
    """Counted from 0."""
    status: Status
    """finished: the answer could be read. With every other status this judge says nothing here."""
    kinds: tuple[str, ...] = ()
    """What is wrong with the form of the last answer, sorted."""
    attempts: Annotated[int, Meta(ge=0)] = 1
    """How often the judge was asked: an answer that cannot be read is asked for once more."""
    resolved_model: str | None = None
    """The model that the provider named."""
    usage: TokenUsage = TokenUsage()
    """Tokens of all attempts."""
    duration_ms: Amount | None = None
    """Of the last request."""
    cost_usd: Amount | None = None
    """Dollars of all attempts; null where nobody knows."""
    error: str = ""
    """Why there is no answer, in one line."""
    taken_from: str | UnsetType = UNSET
    """The judging that asked, where the answer was taken over from one of a run that this one extends."""
    batch: str | UnsetType = UNSET
    """Our name of the batch that the last attempt was part of, as in batches.jsonl; only there."""

    @property
    def scored(self) -> bool:
        """Whether the judge answered, well or badly; everything else is asked again when the judging goes on."""
        return self.status in ("finished", "format_failure", "refusal", "truncated")

    @property
    def trial(self) -> tuple[str, str, str, int]:
        """The trial that was judged, or is shown as A: task, model, arm, replication."""
        return (self.task_id, self.model, self.arm, self.replication)


class JudgeResult(JudgedCall, frozen=True, kw_only=True, omit_defaults=False):
    """One line of results.jsonl: one vote of one judge on one trial, of which a judging has exactly one."""

    ID: ClassVar = "skill-health/judging-result/1"

    verdicts: tuple[JudgedCriterion, ...] = ()
    """One for each judged criterion, in the order of the rubric; empty unless the answer could be read."""
