"""Manifests and results of activation runs that nobody made: for tests of what is reckoned and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_result import LoadResult
from skill_health.documents.effect_manifest import FrozenAgent, FrozenSandbox, FrozenSkill
from skill_health.documents.router_manifest import CatalogueSkill, FrozenSelection, Prompt

AGENT = "codex:some-model-1"


def made_manifest(
    prompts: Sequence[Prompt], skills: Iterable[str], agents: Sequence[str] = (AGENT,), **more: Any
) -> ActivationManifest:
    names = tuple(sorted(skills))
    about = {name: f"Does {name.replace('-', ' ')}. Use when {name.replace('-', ' ')} is needed." for name in names}
    manifest = ActivationManifest(
        version=1, kind="activation", run_id="20260301T000000Z-0123abcd", created="2026-03-01T00:00:00Z", tool_version="0.1.0",
        python="3.11.7", commit=None, dirty=None, seed=1, replications=1, turns=4, timeout_sec=60.0, sizes=(len(names),),
        delivery="files", listing="full", hashes={}, price_table=None,
        sandbox=FrozenSandbox(name="bubblewrap", version="0.8", isolates=("files", "network", "processes"), image=""),
        models=tuple(
            FrozenAgent(
                spec=spec, agent=spec.partition(":")[0], version="1.2.3", model="m", protocol="openai", base_url=None,
                simulated=False, flags=(), price=None, max_usd=None,
            )
            for spec in agents
        ),
        skills=tuple(FrozenSkill(name=name, digest=name, description=about[name]) for name in names),
        catalogue=tuple(
            CatalogueSkill(name=name, text=about[name], state="full", description=about[name], path=f"skills/{name}/SKILL.md")
            for name in names
        ),
        prompts=tuple(prompts), selection=FrozenSelection(kind="all"),
    )  # fmt: skip
    return replace(manifest, **more)


def made_result(
    prompt_id: str, first: str | None, size: int, agent: str = AGENT, replication: int = 0, **more: Any
) -> LoadResult:
    result = LoadResult(
        prompt_id, agent, size, replication, "loaded" if first else "answered", "yes" if first else "no", first,
        (first,) if first else (), tree="t", request="r", duration_ms=1000.0, cost_usd=0.01,
    )  # fmt: skip
    return replace(result, **more)


def made_results(
    manifest: ActivationManifest, firsts: Mapping[str, Sequence[str | None]], agent: str = AGENT, **more: Any
) -> list[LoadResult]:
    """A result for each replication of each prompt."""
    size = len(manifest.skills)
    return [
        made_result(prompt_id, first, size, agent, nth, **more)
        for prompt_id, own in firsts.items()
        for nth, first in enumerate(own)
    ]
