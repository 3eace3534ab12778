"""What the reports say of how skills are written, beside what each adds; nothing in here escapes anything."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents.quality_report import AuthoringAssociation, PatternEffect
from skill_health.effectiveness.effects.authoring import LEAST
from skill_health.text.numbers import p_value, points, with_interval

TITLE = "How the skills are written, and what they add"
PATTERNS = "Gains of skills that show a pattern, less those of the others"
HEAD = ("pattern", "went with", "showing", "others", "points", "p corrected")


def rows(found: AuthoringAssociation) -> list[list[str]]:
    """The patterns that could be tested, as rows below HEAD."""
    return [
        [
            _name(each), each.side, str(each.showing), str(each.others), points(each.difference),
            p_value(each.difference.p_adjusted),
        ]
        for each in found.patterns
        if each.difference.value is not None
    ]  # fmt: skip


def sentences(found: AuthoringAssociation) -> Iterator[str]:
    """How the points go with the gains, which patterns could not be tested, and what a difference is not."""
    ranks = found.correlation
    shown = with_interval(ranks, "+.2f", 1.0) if ranks.value is not None else ranks.note
    yield f"points for writing (of twelve) against gain, rank correlation: {shown}, n {found.skills}"
    untested = [each for each in found.patterns if each.difference.value is None]
    if untested:
        listed = ", ".join(f"{_name(each)} ({each.showing} and {each.others})" for each in untested)
        yield f"not testable, with fewer than {LEAST} skills that show it or that do not: {listed}"
    yield "authors chose the patterns, nobody drew them by lot: a difference is no effect of a pattern"


def _name(each: PatternEffect) -> str:
    return each.pattern.replace("_", " ")
