"""What a run starts from: a collection as it is staged and as it is listed, and labelled requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from skill_health.activation.scores.routing import ROUTERS
from skill_health.bench.collection import read_collection
from skill_health.config.settings import Config, Effectiveness
from skill_health.core.errors import UsageError
from skill_health.documents.activation_manifest import SkillDelivery
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.workspace.copies import copies
from skill_health.lint.pipeline import find_readable
from skill_health.registries.records import BadRecord
from skill_health.router.inputs import load_inputs
from skill_health.router.records import Catalogue, Prompt
from skill_health.text.numbers import count

TURNS, TIMEOUT = 4, 120.0


@dataclass(frozen=True, slots=True)
class ActivationChoices:
    """What a run asks, and how. `sizes` are those of smaller collections, `max_usd` is what one request may cost.

    `sandbox` is "" for the first that works. `settings` are what the configuration says to agents of its choice.
    `routers` stand beside the results and are no part of the run.
    """

    agents: tuple[str, ...]
    reps: int = 1
    seed: int = 1
    turns: int = TURNS
    timeout_sec: float = TIMEOUT
    sizes: tuple[int, ...] = ()
    delivery: SkillDelivery = "files"
    sandbox: str = ""
    image: str = ""
    max_usd: float | None = None
    weaker_proof: tuple[str, ...] = ()
    routers: tuple[str, ...] = ROUTERS
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_choices(options: Mapping[str, Any], configured: Effectiveness) -> ActivationChoices:
    """The command line's settings over those of the configuration for agents."""

    def pick(name: str, otherwise: Any) -> Any:
        given = options.get(name)
        return otherwise if given is None or given == () else given

    return ActivationChoices(
        agents=tuple(pick("agents", configured.agents)),
        reps=pick("reps", 1),
        seed=pick("seed", configured.seed),
        turns=pick("turns", TURNS),
        timeout_sec=pick("timeout", TIMEOUT),
        sizes=tuple(sorted(set(options.get("sizes") or ()))),
        delivery=pick("delivery", "files"),
        sandbox=pick("sandbox", configured.sandbox),
        image=configured.image,
        max_usd=options.get("max_usd_per_request"),
        weaker_proof=tuple(options.get("weaker_proof") or ()),
        routers=tuple(pick("routers", ROUTERS)),
        settings={"acp-command": configured.acp_command, "acp-env": dict(configured.acp_env)},
    )


@dataclass(frozen=True, slots=True)
class ActivationInputs:
    """A collection and its requests. `skills` are what agents get, `catalogue` how routers see the same skills.

    `prompts` are those that the filters left, `total` is how many there were; `problems` are records that are none.
    """

    root: str
    config: Config
    skills: Mapping[str, SkillCopy] = field(repr=False)
    catalogue: Catalogue
    prompts: tuple[Prompt, ...]
    total: int
    problems: tuple[BadRecord, ...] = ()
    notes: tuple[str, ...] = ()


def load_activation_inputs(
    paths: Sequence[str],
    config_file: str | None = None,
    prompt_files: Sequence[str] = (),
    listing: str | None = None,
    *,
    field_map: str | None = None,
    prompt_ids: Sequence[str] = (),
    skills: Sequence[str] = (),
    splits: Sequence[str] = (),
    namesakes: str | None = None,
) -> ActivationInputs:
    """Find and read the collection, and its prompts in every format that the router reads.

    Skills that no host offers to a model by itself (`disable-model-invocation`) are staged nowhere, and neither are
    those that cannot be read. Raises UsageError for what the user got wrong.
    """
    found = load_inputs(
        paths, config_file, prompt_files, listing, prompt_ids=prompt_ids, skills=skills, splits=splits,
        namesakes=namesakes, plain=True, field_map=field_map,
    )  # fmt: skip
    discovery = find_readable(tuple(paths) or (".",), found.config, found.root)
    discovery, named = read_collection(discovery, namesakes or found.config.router.namesakes, plain=True)
    listed = {skill.path for skill in found.catalogue.shown}
    staged = copies([skill for skill in named.skills if skill.path in listed], discovery.root)
    if sorted(staged) != sorted(found.catalogue.names):
        odd = sorted(set(staged) ^ set(found.catalogue.names))
        raise UsageError(f"{odd[0]!r} is staged and listed by different names: rename the skill, or leave it out")
    usable, notes = _about_staged(found.prompts, set(staged))
    return ActivationInputs(
        root=found.root,
        config=found.config,
        skills=staged,
        catalogue=found.catalogue,
        prompts=usable,
        total=found.total,
        problems=found.problems,
        notes=(*found.notes, *notes),
    )


def _about_staged(prompts: Sequence[Prompt], staged: set[str]) -> tuple[tuple[Prompt, ...], list[str]]:
    """The prompts that say something about skills that are staged, and what there is to note of the others.

    Raises UsageError where none is left.
    """
    kept = [prompt for prompt in prompts if prompt.expected is None or prompt.expected in staged]
    told = [prompt for prompt in kept if prompt.known or staged.intersection(prompt.rejected)]
    kept = [_relabelled(prompt, staged) for prompt in told if len(prompt.text.strip()) > 0]
    gone = len(prompts) - len(kept)
    if not kept:
        raise UsageError("no prompt is about a skill that can be staged")
    lines = [f"{count(gone, 'prompt')} left out: what they expect or reject is not staged"] if gone else []
    return tuple(kept), lines


def _relabelled(prompt: Prompt, staged: set[str]) -> Prompt:
    """A prompt whose labels name staged skills only."""
    return replace(
        prompt,
        acceptable=tuple(name for name in prompt.acceptable if name in staged),
        rejected=tuple(name for name in prompt.rejected if name in staged),
    )
