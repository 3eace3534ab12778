"""What agents were seen to be offered."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import OpenRecord


class AgentProbes(OpenRecord, frozen=True, kw_only=True):
    """probe.json of a run: what each agent listed for each set of staged skills, before anything was spent."""

    ID: ClassVar = "skill-health/effectiveness-probe/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["effectiveness-probe"]
    probes: tuple[AgentProbe, ...]
    """One for each agent and set of skills."""


class AgentProbe(OpenRecord, frozen=True, kw_only=True):
    """What one agent with one set of skills was seen to be offered."""

    id: str
    """A hash of all that the probe depends on: it is not repeated where that is unchanged."""
    agent: str
    """The agent."""
    version: str | None
    """The version that the agent says."""
    skills: tuple[tuple[str, str], ...]
    """The staged skills in listing order, each with its digest."""
    arms: tuple[str, ...]
    """The arms that stage this set."""
    listed: tuple[str, ...] | None
    """The names that the agent told when it began to work, else those of its own listing command; null where it tells
    none.
    """
    own: tuple[str, ...] | None
    """Those of its own listing command; null where it has none."""
    offered: tuple[str, ...] | None
    """The skills of the collection, and the tools of a server of skills, that stood in its first request to a model;
    null where it sent none.
    """
    request: str
    """The hash of the first request, which is kept beside; empty for none."""
    tools: tuple[str, ...] | None = None
    """The tools that its first request offered the model; null where that cannot be read."""
    problems: tuple[str, ...]
    """What disagrees with the plan; nothing where all is as it should be."""
