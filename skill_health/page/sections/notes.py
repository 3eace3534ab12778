"""What could not be read, and how to read the page."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import Page

ORDER, TITLE = 60, "Notes"


def build(page: Page, _: Drawn) -> Mapping[str, object]:
    """The notes."""
    return {"notes": page.notes}
