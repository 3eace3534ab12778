"""The negative controls of several runs of agents together."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import Count, Record, Share
from skill_health.documents.effect_report import EquivalenceContrast


class EffectValidation(Record, frozen=True, kw_only=True):
    """What `skill-health effectiveness validate --format json` prints."""

    ID: ClassVar = "skill-health/effectiveness-validation/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["effectiveness-validation"]
    """What the document is."""
    pools: tuple[PooledControls, ...]
    """By model, the one with most runs first."""


class PooledControls(Record, frozen=True, kw_only=True):
    """Runs of one version of one agent with one model on the same skills, in the same sandbox."""

    model: str
    """The whole name of agent and model, as it was given."""
    agent_version: str | None
    """The version of the agent's program; null where nobody knows."""
    simulated: bool
    """True where the results say nothing about any model."""
    sandbox: str
    """What the trials were isolated by."""
    skills: str
    """A hash of all skills of the collection: runs on other skills are another pool."""
    runs: tuple[str, ...]
    """The runs, by their ids."""
    tasks: Count
    """Negative-control tasks; one that was run again is counted once, one that was edited is another."""
    trials: Count
    """Scored trials of these tasks."""
    margin: Share
    """The largest difference that counts as none: the least that any of the runs declared."""
    contrasts: tuple[EquivalenceContrast, ...]
    passed: bool | None
    """True where every difference is shown to lie within the margin, false where one fails, null where neither is
    shown.
    """
    note: str
    """What could be shown, and what could not."""
