"""A comparison of two activation runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import field

from skill_health.documents._record import (
    CommitText,
    Count,
    Difference,
    Figure,
    Name,
    Record,
    RunIdText,
    Share,
    TimeText,
)

LoadFlip = Literal["lost", "won", "moved"]


class ActivationComparison(Record, frozen=True, kw_only=True):
    """What has changed between two runs of the same prompts: another model, another date, another description."""

    ID: ClassVar = "skill-health/activation-comparison/1"

    schema: Literal["skill-health/activation-comparison/1"]
    run: ComparedActivationRun
    baseline: ComparedActivationRun
    max_loss: Share
    """A significant loss beyond this share is an alarm."""
    prompts: Count
    """Prompts that ask and expect the same in both."""
    only_run: tuple[str, ...]
    """Prompts of the run that the baseline does not have, or has with another text or label."""
    only_baseline: Count
    clustering: Literal["skill", "prompt"]
    """What is taken to be independent."""
    differences: tuple[str, ...]
    """What else is not the same, and may be behind a change just as well."""
    cautions: tuple[str, ...]
    models: tuple[ComparedAgent, ...]
    alarms: tuple[ActivationAlarm, ...]


class ComparedActivationRun(Record, frozen=True, kw_only=True):
    """One of the two runs."""

    run_id: RunIdText
    created: TimeText
    commit: CommitText | None
    dirty: bool | None


class ComparedAgent(Record, frozen=True, kw_only=True):
    """One agent of the run beside itself, or another one, in the baseline."""

    model: Name
    against: Name
    resolved: tuple[tuple[str, ...], tuple[str, ...]]
    """The models that the provider named, in the baseline and in the run."""
    versions: tuple[str | None, str | None]
    """The versions of the agent's program, likewise."""
    paired: Count
    """Prompts of which it is known in both what was opened."""
    unpaired: Count
    """The others."""
    metrics: Mapping[str, ActivationChange]
    """By the name of the metric, those that some prompts are about."""
    skills: Mapping[str, ActivationChange] = field(default_factory=dict)
    """Recall by the expected skill, corrected by Benjamini and Hochberg."""
    flips: tuple[ActivationFlip, ...]


class ActivationChange(Record, frozen=True, kw_only=True):
    """A metric in the baseline and in the run, over the same prompts, each prompt counting once."""

    before: Share | None
    after: Share | None
    difference: Figure
    """Paired by prompt; its p is of a sign-flip test over what is independent, corrected over agents and metrics."""
    moved: Count
    """How much of what is independent has changed at all."""


class ActivationFlip(Record, frozen=True, kw_only=True):
    """A prompt for which another skill, or none, is opened most often now."""

    prompt_id: Name
    expected: str | None
    """The expected skill; null where none applies, or where the label only names skills that must not fire."""
    kind: LoadFlip
    """lost: it was right before; won: it is right now; moved: neither."""
    before: str
    after: str


class ActivationAlarm(Record, frozen=True, kw_only=True):
    """A metric that is worse than before by more than `max_loss`, with a corrected p of at most 0.05."""

    model: Name
    metric: str
    by: Difference
    p_adjusted: Share
