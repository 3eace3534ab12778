"""The four questions, each with its answer and its pictures."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import TOPICS, Page

ORDER, TITLE = 30, "Questions"
PLACES = tuple((f"question-{number}", topic) for number, topic in TOPICS.items())


def build(page: Page, drawn: Drawn) -> Mapping[str, object]:
    """The answers by number, and the pictures of the collection."""
    return {"answers": page.answers, "pictures": drawn.whole}
