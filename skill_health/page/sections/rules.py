"""What lint found, by rule: what it is, in which skills, and the command that shows or fixes it."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.core.extras import rule_page
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import Page, anchor
from skill_health.page.verdict.rules import count_rules, titles

ORDER, TITLE = 15, "Rules"
_NAMED = 12


def build(page: Page, _: Drawn) -> Mapping[str, object] | None:
    """The rules that found something, each with the first of its skills; None where none did."""
    names = {skill.path: skill.name for skill in page.status.skills}
    rules = [
        (
            each,
            rule_page(each.code) if each.code in titles() else "",
            [(names[path], anchor(path)) for path in each.skills[:_NAMED]],
            max(0, len(each.skills) - _NAMED),
        )
        for each in count_rules(page)
    ]
    return {"rules": rules} if rules else None
