"""Trials: the tasks of each run against its arms, from where each trial is looked at in full."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import Page
from skill_health.page.trials.grid import build_grids
from skill_health.trials.find import SIGNS, STATES

ORDER, TITLE = 32, "Trials"


def build(page: Page, drawn: Drawn) -> Mapping[str, object] | None:
    """The grids of the runs, the latest first; None where no run has trials."""
    grids = list(build_grids(page))
    return {"grids": grids, "signs": SIGNS, "states": STATES} if grids else None
