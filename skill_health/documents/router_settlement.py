"""What a sweep that stopped when it knew enough has settled."""

from __future__ import annotations

from typing import ClassVar, Literal

from skill_health.documents._record import Count, Record
from skill_health.documents.router_comparison import ComparedRouterRun

SettledVerdict = Literal["kept", "lost", "open"]


class RouterSettlement(Record, frozen=True, kw_only=True):
    """What `router sweep --settle X --format json` prints where it stopped early: settlement.json of the run."""

    ID: ClassVar = "skill-health/router-settlement/1"

    schema: Literal["skill-health/router-settlement/1"]
    """The version of this form."""
    run: ComparedRouterRun
    """The run, as far as it was made."""
    baseline: ComparedRouterRun
    """What it is compared with."""
    margin: float
    """The question: has top-1 fallen by more than this?"""
    alpha: float
    """The chance of a wrong verdict on any of the models, at most, however often is looked."""
    calls: Count
    """How many calls were made."""
    planned: Count
    """How many the whole run has."""
    models: tuple[SettledRouter, ...]
    """The models that were asked through a server or are simulated."""


class SettledRouter(Record, frozen=True, kw_only=True):
    """One model: what was settled, and on what it rests."""

    model: str
    """The name as the user gave it."""
    verdict: SettledVerdict
    """kept: top-1 has not fallen by more than the margin; lost: it has; open: that is not settled."""
    prompts: Count
    """How many prompts were asked in both runs."""
    clusters: Count
    """How many of them are independent: families of prompts count as one."""
    moved: Count
    """How many of these have another share of right answers than before."""
    of: Count
    """How many independent prompts there are in both runs."""
    difference: float | None
    """The mean of their differences of top-1; null without any."""
    low: float | None
    """The lower end of an interval that holds at every moment at once, at a level of 1 - alpha over all models."""
    high: float | None
    """The upper end."""
