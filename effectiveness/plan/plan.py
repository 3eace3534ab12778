"""Tasks x arms x models x replications: which trials there are, and in which order they are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from msgspec.structs import replace as replace_fields

from skill_health.bench import journal
from skill_health.bench.manifest import digest
from skill_health.bench.prices import TieredPrice
from skill_health.bench.run_folder import Kind
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.files import blake2b
from skill_health.documents._record import convert_record, record_values
from skill_health.documents._targets import write_targets
from skill_health.documents.effect_manifest import (
    EffectManifest,
    FrozenAuthoring,
    FrozenSandbox,
    FrozenSkill,
    FrozenTask,
    LeftOutArm,
)
from skill_health.documents.effect_result import Key, TrialResult
from skill_health.documents.quality_report import AuthoringPattern
from skill_health.effectiveness.agents._load import AgentChoice
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.records import Arm, SkillCopy
from skill_health.effectiveness.run.runs import KIND
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.copies import SKILL, skill_md
from skill_health.effectiveness.workspace.staging import concerns, prompt_of, staged
from skill_health.skill import frontmatter
from skill_health.skill.authoring import find_patterns
from skill_health.skill.decode import decode
from skill_health.skill.parse import parse_skill
from skill_health.skill.rubric import score_quality

Staged = Mapping[tuple[str, Arm], tuple[SkillCopy, ...]]
"""What is staged for a task in an arm; pairs that are left out are not in it."""


def freeze_task(task: Task) -> FrozenTask:
    """A task as a manifest holds it."""
    return FrozenTask(
        id=task.id,
        slug=task.slug,
        target_skill=write_targets(task.target_skills),
        irrelevant_skill=task.irrelevant_skill,
        related_skill=task.related_skill,
        unrelated_skill=task.unrelated_skill,
        category=task.category,
        difficulty=task.difficulty,
        digest=task.digest,
        verifier_digest=task.verifier_digest or "",
        format=task.format,
    )


def freeze_skill(skill: SkillCopy) -> FrozenSkill:
    """A skill of the collection as a manifest holds it."""
    text = skill_md(skill.files)
    return FrozenSkill(
        name=skill.name, digest=skill.digest, description=skill.description, length=len(text), domain=_domain(text)
    )


def freeze_authoring(skill: SkillCopy) -> FrozenAuthoring:
    """How a skill is written, as a manifest holds it."""
    files = tuple(file.path for file in skill.files if file.path != SKILL)
    parsed = parse_skill(skill_md(skill.files), f"{skill.name}/{SKILL}", skill.name, files)
    return FrozenAuthoring(
        points=sum(score.points for score in score_quality(parsed).values()),
        patterns=cast("tuple[AuthoringPattern, ...]", tuple(find_patterns(parsed))),
    )


def skills_digest(skills: Iterable[FrozenSkill]) -> str:
    """A hash of names, contents and descriptions: what else is said of a skill follows from its contents."""
    return digest(list(map(_contents, skills)))


def _contents(skill: FrozenSkill) -> dict[str, Any]:
    return record_values(replace_fields(skill, length=None, domain="", authoring=None))


def _domain(data: bytes) -> str:
    """What a SKILL.md says of its domain, on one line; "" for nothing."""
    return frontmatter.declared_domain(frontmatter.read(decode(data)[0]).matter) if data.strip() else ""


def staged_names(staged: Staged) -> dict[str, dict[str, tuple[str, ...]]]:
    """The names of what is staged, by task and arm: which trials there are, and what they differ in."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for (task, arm), skills in staged.items():
        found.setdefault(task, {})[arm.name] = tuple(skill.name for skill in skills)
    return found


def staged_digest(staged: Staged) -> str:
    """A hash of the contents of what is staged, in listing order."""
    return digest([[task, arm.name, *[skill.digest for skill in skills]] for (task, arm), skills in staged.items()])


def config_digest(routing: RouterSettings, specs: Sequence[str], settings: Mapping[str, Any]) -> str:
    """A hash of the settings that outcomes can depend on: who is asked, and what agents of its choice are told."""
    used = sorted({part for spec in specs for part in spec.split(":")[1:2] if part in routing.providers})
    servers = [[name, routing.providers[name].protocol, routing.providers[name].base_url] for name in used]
    return digest([servers, dict(settings)])


def keys(manifest: EffectManifest) -> Iterator[Key]:
    """Every key that a run wants a result for, in the order of its finished results."""
    for task in manifest.tasks:
        there = manifest.staged.get(task.id, {})
        for model in manifest.models:
            for arm in manifest.arms:
                for replication in range(manifest.replications if arm in there else 0):
                    yield task.id, model.spec, arm, replication


def _keys(values: Mapping[str, Any]) -> Iterator[journal.Key]:
    return iter(keys(convert_record(values, EffectManifest)))


def _covered(values: Mapping[str, Any]) -> Any:
    manifest = convert_record(values, EffectManifest)
    return [*map(record_values, manifest.tasks), *map(_contents, manifest.skills)], manifest.staged


def _settled(values: Mapping[str, Any]) -> bool:
    return convert_record(values, TrialResult).finished


def _compared(key: journal.Key) -> journal.Key:
    """A trial without its arm."""
    task, model, _, replication = key
    return task, model, replication


OF_TRIALS = Kind(KIND, ("task_id", "model", "arm", "replication"), _keys, _covered, _settled, _compared)
"""The runs of this package, for what is the same for all runs."""


MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class AgentModel:
    """An agent with its model, found and priced. `server` names what its trials share the limits of.

    `program` is the absolute path of its executable, "" for an agent of our own; `version` what that says, None where
    it does not. `max_usd` is what one trial may spend at most, None for no cap.
    """

    choice: AgentChoice
    server: str
    program: str = ""
    version: str | None = None
    upstream: Upstream | None = None
    price: TieredPrice | None = None
    max_usd: float | None = None

    @property
    def spec(self) -> str:
        """The name as the user gave it."""
        return self.choice.spec

    @property
    def concurrency(self) -> int:
        """How many of its trials may be under way: the server's own limit, if there is a server."""
        return (self.choice.provider or Provider("")).concurrency if self.choice.protocol else MOST_AT_ONCE

    @property
    def free(self) -> bool:
        """Whether no trial can cost anything, whatever a simulated agent pretends."""
        return self.price is not None and self.price.free

    @property
    def reserved(self) -> float:
        """Dollars to hold back for one trial; 0 where nobody knows."""
        return 0.0 if self.free else self.max_usd or 0.0


@dataclass(frozen=True, slots=True)
class Planned:
    """One (task, model, arm, replication) that a result is wanted for; replications count from 0."""

    task: Task
    model: AgentModel
    arm: Arm
    replication: int

    @property
    def key(self) -> Key:
        """The key of its result."""
        return (self.task.id, self.model.spec, self.arm.name, self.replication)


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """Everything that a run tries, and how. `staged` has the pairs of task and arm that there are, in their order.

    `tasks` are in the order of their ids, whatever order they were given in. `secrets` must be in no file. `different`
    are the skills that are not the same for all tasks that bring one of the name, by name and task.
    """

    tasks: tuple[Task, ...]
    models: tuple[AgentModel, ...]
    skills: tuple[SkillCopy, ...]
    staged: Staged
    left_out: tuple[LeftOutArm, ...]
    choices: TrialChoices
    sandbox: FrozenSandbox
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    different: Mapping[str, Mapping[str, SkillCopy]] = field(default_factory=dict)

    def trials(self) -> Iterator[Planned]:
        """All trials in the order that they are made in, which is the same for all models.

        Replications follow each other, so that a run that ends early is balanced; within one the tasks come in an
        order of their own. All arms of a task follow each other, in an order of their own again: what is compared is
        made at about the same time. Both orders follow from the seed.
        """
        seed = self.choices.seed
        by_task: dict[str, list[Arm]] = {}
        for task_id, arm in self.staged:
            by_task.setdefault(task_id, []).append(arm)
        for replication in range(self.choices.reps):
            for task in sorted(self.tasks, key=lambda task: draw_mark(seed, replication, task.id)):
                drawn = {draw_mark(seed, replication, task.id, arm.name): arm for arm in by_task.get(task.id, ())}
                for mark in sorted(drawn):
                    for model in self.models:
                        yield Planned(task, model, drawn[mark], replication)

    def keys(self) -> Iterator[Key]:
        """The keys of all trials in the order of the finished results."""
        for task in self.tasks:
            for model in self.models:
                for arm in self.choices.arms:
                    for replication in range(self.choices.reps if (task.id, arm) in self.staged else 0):
                        yield task.id, model.spec, arm.name, replication

    def at_once(self, total: int) -> dict[str, int]:
        """How many trials of each server may be under way; none of them more than `total`."""
        return {model.server: min(model.concurrency, total) for model in self.models}

    def cell(self, planned: Planned) -> TrialSpec:
        """All that one trial depends on."""
        task, model, arm = planned.task, planned.model, planned.arm
        skills = self.staged[task.id, arm]
        return TrialSpec(
            task=task,
            arm=arm,
            choice=model.choice,
            replication=planned.replication,
            skills=skills,
            prompt=prompt_of(task, arm, skills),
            collection={skill.name: skill.description for skill in self.skills},
            program=model.program,
            version=model.version,
            back_end=self.sandbox.name,
            limits=replace(self.limits, timeout_sec=self.timeout_of(task)),
            seed=self.choices.seed,
            upstream=model.upstream,
            price=model.price,
            max_usd=model.max_usd,
            secrets=self.secrets,
            image=self.sandbox.image,
            settings=self.choices.settings,
        )

    def timeout_of(self, task: Task) -> float:
        """The seconds that an agent has for a task."""
        asked = self.choices.timeout_sec
        return task.agent_timeout_sec if asked is None else min(asked, task.agent_timeout_sec)


def stage(
    tasks: Sequence[Task], arms: Sequence[Arm], copies: Mapping[str, Mapping[str, SkillCopy]]
) -> tuple[dict[tuple[str, Arm], tuple[SkillCopy, ...]], tuple[LeftOutArm, ...]]:
    """What each arm stages for each task, and which pairs cannot be; `copies` are a task's skills, by its id.

    A task that is left with one arm where several were asked for is not tried at all: there is nothing to compare.
    """
    there: dict[tuple[str, Arm], tuple[SkillCopy, ...]] = {}
    left: list[LeftOutArm] = []
    for task in sorted(tasks, key=lambda task: task.id):
        found = {arm: staged(task, arm, copies[task.id]) for arm in arms if concerns(task, arm, arms)}
        some = {arm: skills for arm, skills in found.items() if not isinstance(skills, str)}
        if len(some) == 1 < len(arms):
            alone = next(iter(some))
            left.append(_left_out(task, alone, "the task has no other arm of this run to compare with"))
            some = {}
        there |= {(task.id, arm): skills for arm, skills in some.items()}
        left += [_left_out(task, arm, why) for arm, why in found.items() if isinstance(why, str)]
    return there, tuple(left)


def _left_out(task: Task, arm: Arm, reason: str) -> LeftOutArm:
    return LeftOutArm(task=task.id, arm=arm.name, reason=reason)


def draw_mark(*parts: object) -> bytes:
    """A number that depends on the parts alone, to sort by."""
    return blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=16).digest()
