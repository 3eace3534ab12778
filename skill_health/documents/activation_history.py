"""A line of the history of activation runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from skill_health.core.files import has_entry
from skill_health.documents._history import MOST, HistoryTail
from skill_health.documents._record import Amount, CommitText, Count, Figure, Name, Record, RunIdText, TimeText

HISTORY = "activation-history.jsonl"
SCHEMA: Literal["skill-health/activation-history/1"] = "skill-health/activation-history/1"


class ActivationHistoryLine(Record, frozen=True, kw_only=True):
    """One line of activation-history.jsonl: an agent of a finished run, over all skills or with one of them."""

    ID: ClassVar = "skill-health/activation-history/1"

    schema: Literal["skill-health/activation-history/1"]
    time: TimeText
    """When the run began, in UTC."""
    run_id: RunIdText
    manifest: str
    """A hash of the manifest."""
    commit: CommitText | None
    dirty: bool | None
    version: str
    """The version of skill-health."""
    model: Name
    """The agent with its model."""
    agent: str
    agent_version: str | None
    resolved: tuple[str, ...]
    """The models that the provider named."""
    simulated: bool
    skill: Name | None
    """The skill; null for the whole collection."""
    skills: Count
    """How many skills were staged."""
    prompts: str | None
    """A hash of the prompts."""
    catalogue: str | None
    """A hash of the listing."""
    content: str | None
    """A hash of the skill's files, of all skills where no skill is named."""
    replications: Count
    turns: Count
    planned: Count
    """Requests that expect the skill; of all skills all requests."""
    known: Count
    """Those of which it is known what was opened."""
    recall: Figure
    precision: Figure
    false_fire_none: Figure | None
    """Of the whole collection only."""
    false_fire_near: Figure
    calibration: Mapping[str, Figure]
    """Of the whole collection: by router, how often the place of a loaded skill is ahead of that of one that was not.
    """
    cost_usd: Amount | None


@dataclass(frozen=True, slots=True)
class ActivationHistory:
    """What the last run of each agent found. `lines` are the last of each agent and skill, the latest run first.

    `lost` is the damage that left no line.
    """

    lines: tuple[ActivationHistoryLine, ...] = ()
    problems: tuple[str, ...] = ()
    lost: str = ""

    def of_skill(self, skill: str) -> tuple[ActivationHistoryLine, ...]:
        """The lines of one skill, the latest first; simulated agents are among them."""
        return tuple(line for line in self.lines if line.skill == skill)


def read_activation_history(folder: str) -> ActivationHistory:
    """The last line of each agent and skill in a folder of reports. Raises UsageError for an unreadable file."""
    import os

    if not has_entry(os.path.join(folder, HISTORY)):
        return ActivationHistory()
    tail = HistoryTail(folder, HISTORY, ActivationHistoryLine, {"schema": SCHEMA}, _is_sound)
    last: dict[tuple[str, str | None], ActivationHistoryLine] = {}
    for line in tail:
        last.setdefault((line.model, line.skill), line)
    return ActivationHistory(tuple(last.values()), tail.problems, tail.lost)


def _is_sound(line: ActivationHistoryLine) -> bool:
    figures = (
        line.recall,
        line.precision,
        line.false_fire_near,
        *([line.false_fire_none] if line.false_fire_none else []),
    )
    shares = all(figure.value is None or 0 <= figure.value <= 1 for figure in figures)
    return shares and max(line.planned, line.known, line.skills) < MOST
