"""Of several models' figures of one skill, which to show first: the most telling one. Everything sorts by this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skill_health.page.model import JsonNode
from skill_health.status.next_steps import CommandBuilder

VERDICTS = ("harmful", "helps", "biased", "no evidence", "not testable")
"""The verdicts on an effect in the order in which one of several models decides; harm comes first."""
_NAMED = {"skill-health router run": "--models", "skill-health effectiveness run": "--agents"}
_UNNAMED = ("PROVIDER:MODEL", "AGENT:MODEL")


def route_rank(
    simulated: bool, known: bool, local: bool, changed: bool | None, trusted: bool | None
) -> tuple[bool, ...]:
    """Sorts routing figures: those of models before those of scripts, sound and current ones before others."""
    return simulated, not known, local, bool(changed), trusted is False


def effect_rank(simulated: bool, changed: bool | None, verdict: str, preliminary: bool) -> tuple[bool, bool, int, bool]:
    """Sorts effects: those of agents before those of scripts, current ones first, and then the one that decides."""
    # The verdict on what a skill was says little of it now: there the latest stands first.
    place = VERDICTS.index(verdict) if verdict in VERDICTS and not changed else len(VERDICTS)
    return simulated, bool(changed), place, preliminary


def routed_first(models: JsonNode) -> JsonNode | None:
    """The item of `routing.models` of a skill's record to show; None where there is none."""
    return min(models, key=lambda each: _route(each.value), default=None)


def effect_first(models: JsonNode) -> JsonNode | None:
    """The item of `effect.models` of a skill's record to show; None where there is none."""
    return min(models, key=lambda each: _effect(each.value), default=None)


def _route(told: Mapping[str, Any]) -> tuple[bool, ...]:
    known = told["recall"]["value"] is not None
    return route_rank(
        bool(told.get("simulated")), known, bool(told.get("local")), told.get("changed"), told.get("trusted")
    )


def _effect(told: Mapping[str, Any]) -> tuple[bool, bool, int, bool]:
    return effect_rank(bool(told.get("simulated")), told.get("changed"), told["verdict"], bool(told.get("preliminary")))


def naming(command: str, model: str) -> str:
    """A command that measures anew, with the model that was asked before; the same for any other command or model "".

    Without it the router would ask nobody but those that count words.
    """
    option = next((option for start, option in _NAMED.items() if command.startswith(start)), "")
    if not model or not option:
        return command
    kept = command
    for unnamed in _UNNAMED:
        kept = kept.removesuffix(f" {option} {unnamed}")
    return command if f" {option} " in kept else f"{kept} {option}{CommandBuilder().words(model)}"


def named_anew(command: str, status: JsonNode) -> str:
    """A command of the joined record, with the model that was asked before where one was."""
    skills = status.value["skills"]
    if command.startswith("skill-health router run"):
        asked = [each for skill in skills for each in skill["routing"]["models"]]
        real = {each["model"] for each in asked if not each["simulated"] and not each["local"]}
        ranked = [each["model"] for each in status.value["routing"] if each["model"] in real]
        return naming(command, ranked[0] if ranked else "")
    lines = [*status.value["effect"], *(each for skill in skills for each in skill["effect"]["models"])]
    latest = max((each for each in lines if not each["simulated"]), key=lambda each: each["time"], default=None)
    return naming(command, latest["model"] if latest else "")
