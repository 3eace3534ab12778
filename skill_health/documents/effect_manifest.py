"""The manifest of an effectiveness run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Amount, CommitText, Count, Name, OpenRecord, RunIdText, Share, TimeText
from skill_health.documents._targets import TargetSkill, read_targets, target_name
from skill_health.documents.effect_composition import TriedPair
from skill_health.documents.quality_report import AuthoringPattern, TotalPoints

Isolation = Literal["files", "network", "processes"]


class EffectManifest(OpenRecord, frozen=True, kw_only=True):
    """manifest.json of a run: which tasks are tried by which agents under which conditions.

    It is frozen before the first trial. Reports need it and the results, nothing else.
    """

    ID: ClassVar = "skill-health/effectiveness-manifest/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["effectiveness"]
    """Which benchmark the run is of."""
    run_id: RunIdText
    """The name of the run, and of its folder."""
    created: TimeText
    """When the run began, in UTC."""
    tool_version: str
    """The version of skill-health that wrote the manifest."""
    python: str
    """The version of Python."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    seed: Count
    """The seed of the order of trials, of agents that are simulated, and of resampling."""
    replications: Annotated[int, Meta(ge=1)]
    """How often each task is tried in each arm."""
    margin: Share
    """The difference of success rates below which a skill counts as doing nothing to negative controls."""
    arms: tuple[Name, ...]
    """The conditions, in the order of the results."""
    sandbox: FrozenSandbox
    limits: FrozenTrialLimits
    hashes: Mapping[str, str]
    """Hashes of what the run rests on: tasks, skills, what is staged in which arm, config, prices."""
    models: tuple[FrozenAgent, ...]
    """The agents with their models, in the order of the results."""
    price_table: str | None
    """The version of the table of prices."""
    tasks: tuple[FrozenTask, ...]
    """The tasks, in the order of the results."""
    skills: tuple[FrozenSkill, ...]
    """The collection, by name."""
    staged: Mapping[str, Mapping[str, tuple[str, ...]]]
    """What is staged: by task and arm the names of skills in listing order. Pairs that are not here are not tried."""
    left_out: tuple[LeftOutArm, ...]
    """Pairs of task and arm that cannot be, and why."""
    skipped: tuple[SkippedTask, ...]
    """Tasks that were given and not used, and why."""
    extends: tuple[RunIdText, ...] = ()
    """The runs whose trials were taken over where nothing about them had changed, the first one first; often none."""
    pairs: tuple[TriedPair, ...] = ()
    """Skills that were asked to be tried alone and together, with what the collection says of them."""


class FrozenSandbox(OpenRecord, frozen=True, kw_only=True):
    """What agents and verifiers were kept in."""

    name: str
    """The back end."""
    version: str
    """Its version, as it was found."""
    isolates: tuple[Isolation, ...]
    """What it keeps apart."""
    image: str
    """The image of a container; empty for none, and where tasks have images of their own."""
    network: str = "gateway"
    """To whom hosts beside the gateway were granted: `gateway` for nobody, `scripts`, or `all`; then further hosts."""


class FrozenTrialLimits(OpenRecord, frozen=True, kw_only=True):
    """What one trial may take."""

    timeout_sec: Annotated[float, Meta(gt=0)] | None
    """The most seconds that an agent has, where that is less than its task's own limit; null for the tasks' limits."""
    output_bytes: Count
    """The most bytes of output."""
    disk_bytes: Count
    """The most bytes on disk."""
    files: Count
    """The most files."""
    processes: Count
    """The most processes."""
    max_usd_per_trial: Amount | None
    """The most dollars that one trial may spend, as it was asked for; null where it follows from the price, see
    models.
    """


class FrozenAgent(OpenRecord, frozen=True, kw_only=True):
    """An agent with its model, as it was found and priced."""

    spec: Name
    """The name as it was given."""
    agent: str
    """The agent."""
    version: str | None
    """The version that its program says; null where it does not."""
    model: str
    """The model that it asks; empty for none."""
    protocol: str
    """How that model is asked; empty where it is not asked through us."""
    base_url: str | None
    """The server of the model; null for none."""
    simulated: bool
    """True where results say nothing about any model."""
    flags: tuple[str, ...]
    """The options that its program is started with, without their values; the same in all arms."""
    price: Mapping[str, Any] | None
    """The price of the model; null where none is known."""
    max_usd: Amount | None
    """The most dollars that one trial may spend; null for no cap."""
    unproved: str = ""
    """What nobody sees of an agent that asks servers of its own with a key of its own; empty for all others."""
    config: str = ""
    """A hash of the settings that its results can depend on: its server, and what it is told by the configuration."""


class FrozenTask(OpenRecord, frozen=True, kw_only=True):
    """A task, as far as its results rest on it."""

    id: RunIdText
    slug: str
    target_skill: TargetSkill
    """The skill that should help, or several together; none for a negative control, null where nothing says which."""
    irrelevant_skill: str | None
    related_skill: str | None
    unrelated_skill: str | None
    category: str
    difficulty: str
    digest: str
    """A hash of what a trial depends on before it is verified."""
    verifier_digest: str
    """A hash of the verifier."""
    format: str
    """The form that it was read from."""

    @property
    def target_skills(self) -> tuple[str, ...] | None:
        """The skills that should help, in order; none of them for a negative control."""
        return read_targets(self.target_skill)

    @property
    def target_name(self) -> str | None:
        """The name by which reports know them."""
        return target_name(self.target_skills)


class FrozenSkill(OpenRecord, frozen=True, kw_only=True):
    """A skill of the collection."""

    name: Name
    digest: str
    """A hash of its name and of every file."""
    description: str
    length: Count | None = None
    """The bytes of its SKILL.md; null where that was not written down."""
    domain: str = ""
    """What its frontmatter says: metadata.domain, else metadata.category, else category; empty for nothing."""
    authoring: FrozenAuthoring | None = None
    """How it is written; null for a skill that no task names as its target, and where that was not written down."""
    task: str = ""
    """The task that brings it, where tasks bring different skills of this name; empty for one that all have alike."""


class FrozenAuthoring(OpenRecord, frozen=True, kw_only=True):
    """How a skill is written, as the version that made the run counted it; docs/quality.md says by which signs."""

    points: TotalPoints
    """Of twelve."""
    patterns: tuple[AuthoringPattern, ...]
    """The patterns that show in it."""


class LeftOutArm(OpenRecord, frozen=True, kw_only=True):
    """A pair of task and arm that is not tried, and why."""

    task: str
    arm: str
    reason: str


class SkippedTask(OpenRecord, frozen=True, kw_only=True):
    """A task that was given and not used, and why."""

    task: str
    reasons: tuple[str, ...]


def skills_of(manifest: EffectManifest, task: str) -> dict[str, FrozenSkill]:
    """The skills that there are for a task, by name."""
    return {skill.name: skill for skill in manifest.skills if skill.task in ("", task)}


def digests_over(manifest: EffectManifest, tasks: Iterable[str]) -> dict[str, str]:
    """The digests of the skills that are the same for all of these tasks, by name."""
    found: dict[str, set[str]] = {}
    wanted = {"", *tasks}
    for skill in manifest.skills:
        if skill.task in wanted:
            found.setdefault(skill.name, set()).add(skill.digest)
    return {name: digest for name, digests in found.items() if len(digests) == 1 for digest in digests}
