"""What a run tries, and how: the command line's settings over the configuration's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.config.settings import Effectiveness
from skill_health.documents.effect_composition import TriedPair
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.effectiveness.records import Arm
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, NetworkChoice, network_choice, read_network
from skill_health.effectiveness.workspace.staging import parse_arms


@dataclass(frozen=True, slots=True)
class TrialChoices:
    """What a run tries, with the configuration filling in what the command line leaves open.

    `sandbox` is "" for the first that works. `timeout_sec` is None where the tasks' own limits hold, `max_usd` of one
    trial None where it follows from the price. `weaker_proof` are agents that may run although nobody sees what they
    are offered; only the command line says so. `settings` are what the configuration says to agents of its choice,
    `pairs` the skills that are tried alone and together.
    """

    agents: tuple[str, ...]
    arms: tuple[Arm, ...]
    reps: int = 3
    seed: int = 1
    margin: float = 0.10
    sandbox: str = ""
    image: str = ""
    timeout_sec: float | None = None
    max_usd: float | None = None
    weaker_proof: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    network: NetworkChoice = GATEWAY_ONLY
    pairs: tuple[TriedPair, ...] = ()


def choices_of(manifest: EffectManifest, configured: Effectiveness) -> TrialChoices:
    """The choices that a run was made with; what agents of one's choice are told is what the configuration says now."""
    return TrialChoices(
        agents=tuple(model.spec for model in manifest.models),
        arms=parse_arms(manifest.arms),
        reps=manifest.replications,
        seed=manifest.seed,
        margin=manifest.margin,
        sandbox=manifest.sandbox.name,
        image=manifest.sandbox.image,
        timeout_sec=manifest.limits.timeout_sec,
        max_usd=manifest.limits.max_usd_per_trial,
        weaker_proof=tuple(dict.fromkeys(model.agent for model in manifest.models if model.unproved)),
        settings=_settings(configured),
        network=read_network(manifest.sandbox.network),
        pairs=manifest.pairs,
    )


def _settings(configured: Effectiveness) -> Mapping[str, Any]:
    return {"acp-command": configured.acp_command, "acp-env": dict(configured.acp_env)}


def choices(options: Mapping[str, Any], configured: Effectiveness) -> TrialChoices:
    """The settings in force: the command line's, else the configuration's. Raises UsageError for an unknown arm."""

    def pick(name: str, otherwise: Any) -> Any:
        given = options.get(name)
        return otherwise if given is None or given == () else given

    return TrialChoices(
        agents=tuple(pick("agents", configured.agents)),
        arms=parse_arms(
            pick("arms", configured.arms), pick("hint", configured.hint), pick("delivery", configured.delivery)
        ),
        reps=pick("reps", configured.reps),
        seed=pick("seed", configured.seed),
        margin=pick("margin", configured.margin),
        sandbox=pick("sandbox", configured.sandbox),
        image=configured.image,
        timeout_sec=options.get("timeout"),
        max_usd=options.get("max_usd_per_trial"),
        weaker_proof=tuple(options.get("weaker_proof") or ()),
        settings=_settings(configured),
        network=network_choice(options.get("network"), options.get("hosts") or (), configured),
    )
