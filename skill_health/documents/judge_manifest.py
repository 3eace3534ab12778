"""The manifest of a judging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, Count, Name, OpenRecord, RunIdText, Share, TimeText
from skill_health.documents.effect_manifest import FrozenSandbox

EvidencePart = Literal["final_message", "diff", "transcript"]
FlaggedPlace = Literal["final_message", "diff", "transcript", "workspace"]
FlagKind = Literal["addresses_judge", "fake_fence", "fake_verdict", "role_marker"]


class JudgeManifest(OpenRecord, frozen=True, kw_only=True):
    """manifest.json of a judging: which trials of a run are judged, by whom, and by which criteria.

    It is frozen before the first call. The report needs it, the results and the run's own manifest.
    """

    ID: ClassVar = "skill-health/judging-manifest/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["judging"]
    """What is in the folder."""
    run_id: RunIdText
    """The name of the judging, and of its folder."""
    created: TimeText
    """When it began, in UTC."""
    tool_version: str
    """The version of skill-health that wrote the manifest."""
    python: str
    """The version of Python."""
    of_run: RunIdText
    """The run whose trials are judged."""
    seed: Count
    """The seed of the choice of trials that are judged twice, and of resampling."""
    votes: Annotated[int, Meta(ge=1)]
    """How often each judge judges each trial."""
    repeat_share: Share
    """The share of trials that each judge judges once more, only to see whether it says the same."""
    hashes: Mapping[str, str]
    """Hashes of what the judging rests on: tasks (the rubrics), prompt (the rules of judges), prices."""
    models: tuple[FrozenJudge, ...]
    """The judges, in the order of the results."""
    price_table: str | None
    """The version of the table of prices."""
    tasks: tuple[FrozenRubric, ...]
    """The rubrics, in the order of their tasks."""
    trials: tuple[FrozenEvidence, ...]
    """The trials that are judged, in the order of the results."""
    left_out: tuple[LeftOutTrial, ...]
    """Trials of tasks with judged criteria that are not judged, and why."""


class FrozenJudge(OpenRecord, frozen=True, kw_only=True):
    """A judge, as it was found and priced."""

    spec: Name
    """The name as it was given."""
    families: tuple[str, ...]
    """The families of models that it is of; no candidate is of any of them."""
    protocol: str
    """How it is asked."""
    base_url: str
    """Its server."""
    price: Mapping[str, Any] | None
    """Its price, in a batch where it is asked in batches; null where none is known."""
    batch: bool = False
    """Whether it is asked in its provider's batches."""
    agent: FrozenJudgeAgent | None = None
    """The agent's program, where the judge is an agent with tools and no model alone."""


class FrozenJudgeAgent(OpenRecord, frozen=True, kw_only=True):
    """The program of a judge that is an agent, and what it is kept in."""

    name: str
    """The agent."""
    version: str | None
    """What its program says of itself; null where it says nothing."""
    sandbox: FrozenSandbox
    """Where it works; it can read its material there and ask its model, and nothing else."""
    prompt: str
    """A hash of what it is told besides the question."""
    settings: str
    """A hash of the settings of the configuration that agents are given."""


class FrozenRubric(OpenRecord, frozen=True, kw_only=True):
    """The criteria of a task."""

    id: RunIdText
    """The task."""
    goal_weight: Share
    """The share of the goal in the weighted score."""
    criteria: tuple[FrozenCriterion, ...]
    """In the order of the rubric."""


class FrozenCriterion(OpenRecord, frozen=True, kw_only=True):
    """One thing that is asked of a trial."""

    id: Name
    text: str
    points: Amount
    group: Literal["goal", "instruction"]
    judged: bool
    """Whether a judge decides it; false where a check does."""


class FrozenEvidence(OpenRecord, frozen=True, kw_only=True):
    """A trial, as judges are shown it."""

    task_id: str
    model: str
    arm: str
    replication: Count
    folder: str
    """The folder of the trial, relative to the run's."""
    digest: str
    """A hash of the question, which holds all that judges are shown."""
    size: Count
    """Its bytes."""
    length: Count
    """Characters of the work itself: final message, diff and transcript before anything was left out."""
    left_out: Count
    """Characters that judges are not shown."""
    twice: bool
    """Whether each judge judges it once more."""
    flags: tuple[EvidenceFlag, ...]
    """What in the evidence is written for a judge."""
    checked: tuple[CheckedCriterion, ...] = ()
    """What checks decided of it. Whether the skill was used is left out: an arm without it cannot be held to that."""
    workspace: str = ""
    """A hash of the kept workspace, where an agent judges and one was kept; else empty."""
    skill_shown: bool = False
    """Whether what judges are shown names a staged skill, as where the agent opened it: they may know the arm."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The trial: task, model, arm, replication."""
        return (self.task_id, self.model, self.arm, self.replication)


class CheckedCriterion(OpenRecord, frozen=True, kw_only=True):
    """A criterion that a check decided in a trial."""

    criterion: str
    met: bool


class EvidenceFlag(OpenRecord, frozen=True, kw_only=True):
    """A passage of the evidence that is written for a judge. It changes no verdict; whoever reads the score should."""

    part: FlaggedPlace
    """Where it is; only agents that judge are shown the workspace."""
    kind: FlagKind
    """What it is: an instruction, the delimiter of a part, a ready verdict, or a mark of another speaker."""
    line: Annotated[int, Meta(ge=1)]
    """The line of the part, or of the file."""
    excerpt: str
    """The passage, safe to print and cut."""
    path: str = ""
    """The file of the workspace; empty for other parts, and where it is in the paths themselves."""


class LeftOutTrial(OpenRecord, frozen=True, kw_only=True):
    """A trial that is not judged."""

    task_id: str
    model: str
    arm: str
    replication: Count
    reason: str
