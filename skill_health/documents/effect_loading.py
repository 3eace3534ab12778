"""What is reached, what an offer does, and what loading does: the part of an effectiveness report about loading."""

from __future__ import annotations

from typing import Literal

from skill_health.documents._record import Count, FullFigure, Record


class SelectedFigure(FullFigure, frozen=True, kw_only=True, omit_defaults=False):
    """A figure over trials that chose themselves."""

    bias: Literal["selection"] = "selection"
    """Why it compares with nothing: trials that open a skill by themselves are others than those that do not."""


class LoadingEffect(Record, frozen=True, kw_only=True):
    """What loading a skill does, beside what its offer does: the arm of the target against the control.

    How often it is loaded stands in `invoked` of the arms, what the offer does in the primary contrast, and what forced
    loading does in the contrasts of the kind `loading`.
    """

    arm: str
    """The arm whose trials are offered the skill, and load it or not."""
    forced: str | None
    """The arm whose trials are ordered to load it; null where the run has none."""
    unknown: Count
    """Scored trials of `arm` of which it cannot be told whether they loaded a skill."""
    complier: FullFigure
    """The complier average effect, as a difference of success: what loading changes in the trials that load by
    themselves. The offer is the instrument: the mean over tasks of the difference of success, over the mean share that
    loaded. The interval is Fieller's, which holds however seldom that is; without bounds there is none, and no value.
    """
    testable: bool
    """Whether there is an interval."""
    assumptions: tuple[str, ...]
    """What has to hold for it, one sentence each."""
    selection: FullFigure | None
    """What the offer gained less what it would have if loading did for these trials what it does for forced ones: the
    difference of success, less the share that loaded times the gain of the forced arm. Null without a forced arm.
    """
    differs: Literal["more", "less", "not shown"] | None
    """Whether trials that load by themselves gain more by it than forced ones, or less; null where there is no interval
    of `selection`.
    """
