"""A check of tasks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Name, Record
from skill_health.documents._targets import TargetSkill

DigestText = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
VerifiedOutcome = Literal["pass", "fail", "infrastructure", "unjudged"]
FindingKind = Literal[
    "unpinned-install",
    "few-tests",
    "runs-agents-code",
    "answers-in-tests",
    "skill-overlap",
    "prompt-overlap",
    "unmet-need",
]
FaultKind = Literal[
    "leak",
    "no-op-passes",
    "no-oracle",
    "not-runnable",
    "oracle-error",
    "oracle-fails",
    "oracle-reward",
    "reward",
    "skill-named",
    "skills",
    "verifier-bought",
    "verifier-changes",
    "verifier-error",
    "verifier-varies",
    "visible",
]


class TaskCheckReport(Record, frozen=True, kw_only=True):
    """What `skill-health effectiveness check --format json` prints."""

    ID: ClassVar = "skill-health/effectiveness-check/1"

    schema: Literal["skill-health/effectiveness-check/1"]
    tasks: tuple[CheckedTask, ...]
    """The tasks, in the order of their paths."""
    bad: tuple[UnreadableTask, ...]
    """What is no task."""
    ok: bool
    """Whether all tasks are fit to use."""


class CheckedTask(Record, frozen=True, kw_only=True):
    """What was found of one task."""

    id: Name
    """The task's id."""
    path: str
    """The task's folder or file, relative to the root."""
    format: str
    """The loader that read it."""
    target_skill: TargetSkill
    """The skill that should help, or several together, "none" for a negative control; null where nothing says which."""
    digest: DigestText
    """Of what a trial depends on before it is verified."""
    verifier_digest: DigestText | None
    """Of the verifier; null without one."""
    runnable: bool
    """Whether the task can be run here."""
    ok: bool
    """Whether a run may use the task."""
    problems: tuple[TaskFault, ...]
    """Why a run must not use it."""
    notes: tuple[str, ...]
    """What is left out of the task."""
    findings: tuple[TaskFinding, ...] = ()
    """What is to be known of its verifier, and what it shares with skills and prompt."""
    nothing_done: tuple[VerifierVerdict, ...] | None
    """The verdicts of the verifications, in order; null where the task was not run."""
    solved: tuple[VerifierVerdict, ...] | None
    """The same after the oracle; null also where there is none."""


class TaskFault(Record, frozen=True):
    """Why a task must not be used."""

    kind: FaultKind
    """A stable word."""
    message: str
    """A sentence."""


class TaskFinding(Record, frozen=True):
    """Something to know of a task, by reading it; it does not keep a run from the task."""

    kind: FindingKind
    """A stable word."""
    level: Literal["warning", "info"]
    """A warning is a fact that can change a verdict."""
    message: str
    """A sentence."""


class VerifierVerdict(Record, frozen=True, kw_only=True):
    """What one verification came to."""

    outcome: VerifiedOutcome
    """What the verification says."""
    reward: float | None
    """The reward; null where there is none."""


class UnreadableTask(Record, frozen=True, kw_only=True):
    """A file that is no task."""

    path: str
    """The file."""
    line: Annotated[int, Meta(ge=1)]
    """Its line, from 1."""
    message: str
    """What is wrong."""
    help: str
    """What to do."""
