"""What to do next, in the order of the questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import Page, anchor

ORDER, TITLE = 12, "What to do"
_NAMED = 24


def build(page: Page, _: Drawn) -> Mapping[str, object]:
    """Every step that is due, once, and where each skill that it is for has its part of the page, "" for nowhere."""
    times = Counter(skill.name for skill in page.status.skills)
    # A name that several skills share leads to none of them.
    places = {skill.name: anchor(skill.path) if times[skill.name] == 1 else "" for skill in page.status.skills}
    steps = [
        (step, [(name, places.get(name, "")) for name in step.skills[:_NAMED]], max(0, len(step.skills) - _NAMED))
        for step in page.due
    ]
    return {"steps": steps}
