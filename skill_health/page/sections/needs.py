"""What the skills of the collection need of their environment, and how many need each category."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.documents.needs_report import NeedFrequency
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.figures import count
from skill_health.page.model import Page, PageCell
from skill_health.text.numbers import with_interval

ORDER, TITLE = 35, "What they need"


def build(page: Page, _: Drawn) -> Mapping[str, object] | None:
    """The categories that some skill needs, the most frequent first; None where no skill needs any."""
    needs = page.needs
    found = [each for each in needs.frequencies if each.count] if needs else []
    rows = [
        (each.title, each.category, count(page.origins, each, "count"), _share(page, each))
        for each in sorted(found, key=lambda each: -each.count)
    ]
    return {"rows": rows, "skills": len(needs.skills), "unneeded": _unneeded(page)} if needs and rows else None


def _share(page: Page, frequency: NeedFrequency) -> PageCell:
    text = f"{with_interval(frequency, ',.1f')} n {frequency.n:,}"
    return PageCell(text, 100 * frequency.value, page.origins.of(frequency))


def _unneeded(page: Page) -> int:
    """How many skills need nothing, as far as their texts say."""
    return sum(not each.needs for each in page.needs.skills) if page.needs else 0
