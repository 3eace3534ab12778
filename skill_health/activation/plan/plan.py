"""Requests x agents x sizes of the collection x replications: which calls there are, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec.structs import replace as with_fields

from skill_health.activation.plan.inputs import ActivationChoices
from skill_health.bench import journal
from skill_health.bench.run_folder import Kind
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_result import LoadKey, LoadResult
from skill_health.documents.effect_manifest import FrozenSandbox
from skill_health.documents.router_manifest import Prompt
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.plan import AgentModel, Planned, TrialPlan, draw_mark
from skill_health.effectiveness.records import CONTROL, FULL, Arm, SkillCopy
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.router.plan.orders import rotated

ACTIVATION = "activation"
"""The kind of these runs in their manifests, and the folder below the reports where they lie."""


def staged_names(names: tuple[str, ...], prompt: Prompt, size: int, seed: int) -> tuple[str, ...] | None:
    """The skills of a collection of this size for a prompt: those of its label, filled up by others by lot.

    None where the label names more. The lot is the same for all prompts, so that many share a set.
    """
    if size >= len(names):
        return names
    labelled = {name for name in (prompt.expected, *prompt.acceptable, *prompt.rejected) if name in set(names)}
    if len(labelled) > size:
        return None
    drawn = sorted(names, key=lambda name: (name not in labelled, draw_mark(seed, size, name)))
    return tuple(sorted(drawn[:size]))


def keys(manifest: ActivationManifest) -> Iterator[LoadKey]:
    """Every key that a run wants a result for, in the order of its finished results."""
    names = tuple(skill.name for skill in manifest.skills)
    for prompt in manifest.prompts:
        there = [size for size in manifest.sizes if staged_names(names, prompt, size, manifest.seed) is not None]
        for model in manifest.models:
            for size in there:
                for replication in range(manifest.replications):
                    yield prompt.prompt_id, model.spec, size, replication


def _keys(values: Mapping[str, Any]) -> Iterator[journal.Key]:
    return iter(keys(convert_record(values, ActivationManifest)))


def _covered(values: Mapping[str, Any]) -> Any:
    manifest = convert_record(values, ActivationManifest)
    prompts = [record_values(with_fields(prompt, reason="", source="")) for prompt in manifest.prompts]
    return [prompts, [record_values(skill) for skill in manifest.skills]]


def _settled(values: Mapping[str, Any]) -> bool:
    return convert_record(values, LoadResult).scored


OF_ACTIVATION = Kind(ACTIVATION, ("prompt_id", "model", "size", "replication"), _keys, _covered, _settled)
"""The runs of this room, for what is the same for all runs."""


@dataclass(frozen=True, slots=True)
class PlannedLoad:
    """One (prompt, model, size, replication) that a result is wanted for; replications count from 0."""

    prompt: Prompt
    model: AgentModel
    size: int
    replication: int

    @property
    def key(self) -> LoadKey:
        """The key of its result."""
        return (self.prompt.prompt_id, self.model.spec, self.size, self.replication)


@dataclass(frozen=True, slots=True)
class ActivationPlan:
    """Everything that a run asks, and how. `skills` are in the order of their names. `secrets` must be in no file."""

    prompts: tuple[Prompt, ...]
    models: tuple[AgentModel, ...]
    skills: Mapping[str, SkillCopy] = field(repr=False)
    sizes: tuple[int, ...]
    choices: ActivationChoices
    sandbox: FrozenSandbox
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def loads(self) -> Iterator[PlannedLoad]:
        """All calls in the order that they are made in: prompts in an order of their own, which the seed decides.

        Replications follow each other, so that a run that ends early is balanced.
        """
        names = tuple(self.skills)
        for replication in range(self.choices.reps):
            for prompt in sorted(
                self.prompts, key=lambda each: draw_mark(self.choices.seed, replication, each.prompt_id)
            ):
                for size in self.sizes:
                    if staged_names(names, prompt, size, self.choices.seed) is not None:
                        for model in self.models:
                            yield PlannedLoad(prompt, model, size, replication)

    def keys(self) -> Iterator[LoadKey]:
        """The keys of all calls in the order of the finished results."""
        names = tuple(self.skills)
        for prompt in self.prompts:
            there = [size for size in self.sizes if staged_names(names, prompt, size, self.choices.seed) is not None]
            for model in self.models:
                for size in there:
                    for replication in range(self.choices.reps):
                        yield prompt.prompt_id, model.spec, size, replication

    def at_once(self, total: int) -> dict[str, int]:
        """How many calls of each server may be under way; none of them more than `total`."""
        return {model.server: min(model.concurrency, total) for model in self.models}

    def cell(self, planned: PlannedLoad) -> TrialSpec:
        """All that one call depends on: what is proved of its agent before, with the prompt and skills of the call.

        An agent that lists skills in the order it is given gets another order with each prompt and replication.
        """
        prompt, names = planned.prompt, tuple(self.skills)
        there = staged_names(names, prompt, planned.size, self.choices.seed) or names
        order = rotated(there, prompt.prompt_id, planned.replication, self.choices.seed)
        skills = tuple(self.skills[name] for name in (order if planned.model.choice.agent.ORDERED else there))
        proved = self.probes()
        cell = proved.cell(Planned(proved.tasks[0], planned.model, proved.choices.arms[1], planned.replication))
        limits = replace(self.limits, timeout_sec=self.choices.timeout_sec)
        return replace(cell, task=_task(prompt), skills=skills, prompt=prompt.text, limits=limits)

    def probes(self) -> TrialPlan:
        """What agents are asked to show before anything is spent: each without a skill, and with all of them."""
        task = Task("request", "request", "request", "prompt", _HELLO, ())
        control, full = Arm(CONTROL), Arm(FULL, delivery=self.choices.delivery)
        return TrialPlan(
            tasks=(task,),
            models=self.models,
            skills=tuple(self.skills.values()),
            staged={(task.id, control): (), (task.id, full): tuple(self.skills.values())},
            left_out=(),
            choices=TrialChoices(
                agents=self.choices.agents, arms=(control, full), reps=1, seed=self.choices.seed,
                settings=self.choices.settings,
            ),
            sandbox=self.sandbox,
            limits=self.limits,
            secrets=self.secrets,
        )  # fmt: skip


_HELLO = "Say hello."


def _task(prompt: Prompt) -> Task:
    """A prompt as an agent's module may see it. Only a simulated agent looks at the label."""
    expected = (prompt.expected,) if prompt.expected else () if prompt.known else None
    near = prompt.rejected[0] if prompt.rejected else None
    return Task(
        prompt.prompt_id, prompt.prompt_id, prompt.prompt_id, "prompt", prompt.text, expected, related_skill=near
    )
