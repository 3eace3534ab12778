"""Of several models' figures of one skill, which to show first: the most telling one. Everything sorts by this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.skill_record import SkillRouted
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import CollectionStatus

VERDICTS = (
    "harmful", "helps", "cheaper", "biased", "any text helps", "unexplained gain", "no evidence", "not testable",
)  # fmt: skip
"""The verdicts on an effect in the order in which one of several models decides; harm comes first."""


def route_rank(
    simulated: bool, known: bool, local: bool, changed: bool | None, trusted: bool | None
) -> tuple[bool, ...]:
    """Sorts routing figures: those of models before those of scripts, current and trusted ones before others."""
    return simulated, not known, local, bool(changed), trusted is False


def effect_rank(simulated: bool, changed: bool | None, verdict: str, preliminary: bool) -> tuple[bool, bool, int, bool]:
    """Sorts effects: those of agents before those of scripts, current ones first, and then the one that decides."""
    # The verdict on what a skill was says little of it now: there the latest stands first.
    place = VERDICTS.index(verdict) if verdict in VERDICTS and not changed else len(VERDICTS)
    return simulated, bool(changed), place, preliminary


def routed_first(models: Sequence[SkillRouted]) -> SkillRouted | None:
    """The routing figures of a skill to show; None where there are none."""

    def rank(each: SkillRouted) -> tuple[bool, ...]:
        return route_rank(each.simulated, each.recall.value is not None, each.local, each.changed, each.trusted)

    return min(models, key=rank, default=None)


def effect_first(models: Sequence[ModelEffect]) -> ModelEffect | None:
    """The effect of a skill to show; None where there is none."""

    def rank(each: ModelEffect) -> tuple[bool, bool, int, bool]:
        return effect_rank(each.simulated, each.changed, each.verdict, bool(each.preliminary))

    return min(models, key=rank, default=None)


def asking_again(status: CollectionStatus) -> CommandBuilder:
    """How commands ask the model and the agent that were asked before, where one was."""
    routes = [each for skill in status.records for each in skill.routing.models]
    real = {each.model for each in routes if not each.simulated and not each.local}
    ranked = (each.model for each in (status.routed.models if status.routed else ()) if each.model in real)
    lines = [
        *(status.effects.of(None) if status.effects else ()),
        *(each for skill in status.records for each in skill.effect.models),
    ]
    latest = max((each for each in lines if not each.simulated), key=lambda each: each.time, default=None)
    place = replace(status.place, model=next(ranked, ""))
    return replace(place, agent=latest.model) if latest else place
