"""A badge: what one question comes to, in a label, a message and a colour; as SVG and as an endpoint for shields.

The SVG is our own, because a badge may hold a skill's or a model's name: the library that was tried (anybadge) lets
control characters through, which makes the file ill-formed, rewrites messages that look like numbers, and has no title
for a screen reader. An element tree is well formed whatever the texts hold. A number of a simulated run always says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from skill_health.core.errors import UsageError
from skill_health.documents.skill_grades import SkillGrade, count_grades, grade_all, grade_word
from skill_health.documents.skill_record import RouterRunRecord, SkillRecord, SkillRouted
from skill_health.page.drawing.theme import BAD, GOOD, UNKNOWN, WARN
from skill_health.page.figures import escape_text, estimate_text, score_text
from skill_health.page.model import GRADE_TONES, Page, Tone
from skill_health.page.verdict.ranking import effect_first
from skill_health.text.numbers import Interval, with_interval
from skill_health.text.terminal import cut

What = Literal["health", "routing", "effect", "verdict"]
COLORS: Mapping[Tone, str] = {"good": GOOD, "warn": WARN, "bad": BAD, "unknown": UNKNOWN}
GROUND, TEXT = "#3d3d45", "#ffffff"
_LABEL, _MESSAGE, _NAME = 34, 112, 24
_FONT = "Verdana, DejaVu Sans, Liberation Sans, sans-serif"
_NARROW, _BROAD = frozenset("fijlrtI.,:;|!'[](){} -/\\"), frozenset("mwMW%@")


@dataclass(frozen=True, slots=True)
class Badge:
    """A label and a message, both of one short line that is safe to show, and the tone of the message."""

    label: str
    message: str
    tone: Tone


def badge(page: Page, what: What, path: str | None = None) -> Badge:
    """The badge of the collection, or of the skill whose SKILL.md has this path. Raises KeyError for an unknown one.

    Raises UsageError where something that the answer rests on is damaged: nobody sees that of a badge.
    """
    if why := page.lost.get(what):
        raise UsageError(f"no badge is made: {why}; restore the file, or move it away")
    skill = next((each for each in page.status.skills if each.path == path), None)
    if path is not None and skill is None:
        raise KeyError(path)
    message, tone = {"health": _health, "routing": _routing, "effect": _effect, "verdict": _verdict}[what](page, skill)
    lead = "skill" if skill is None else cut(escape_text(skill.name), _NAME)
    name = "skills" if skill is None and what == "verdict" else lead if what == "verdict" else f"{lead} {what}"
    return Badge(cut(name, _LABEL), cut(escape_text(message), _MESSAGE), tone)


def _health(page: Page, skill: SkillRecord | None) -> tuple[str, Tone]:
    if skill is not None:
        return _graded(skill.health.grade, "", skill.health.score)
    grade = page.answers[1].grade if 1 in page.answers else SkillGrade.NOT_MEASURED
    n = sum(each.health.grade is grade for each in page.status.skills)
    counted = (
        f"{n:,} of {len(page.status.skills):,} " if grade in (SkillGrade.FAIL, SkillGrade.NEEDS_WORK) and n else ""
    )
    return _graded(
        grade, f"{counted}{grade.predicate(n).partition(' ')[2]}" if counted else "", page.lint.summary.score
    )


def _graded(grade: SkillGrade, text: str, value: float | None) -> tuple[str, Tone]:
    """The grade, or `text` for it, with the score where that says more than the grade."""
    score = f", {score_text(value)}" if value is not None and grade is not SkillGrade.FAIL else ""
    return f"{text or grade}{score}", GRADE_TONES[grade]


def _routing(page: Page, skill: SkillRecord | None) -> tuple[str, Tone]:
    """How often the right skill comes first by the best model that was really asked, or this skill where it is due."""
    if skill is not None and skill.routing.state == "fix first":
        return "fix lint first", "unknown"
    runs: list[tuple[RouterRunRecord | SkillRouted, Interval, int]] = [
        *((each, each.top1, each.n) for each in (page.status.routing if skill is None else ())),
        *((each, each.recall, each.recall.n) for each in (skill.routing.models if skill else ())),
    ]
    # How well routers do that compute on this machine says little of a model.
    local = {each.model for one in page.status.skills for each in one.routing.models if each.local}
    known = [each for each in runs if each[1].value is not None]
    known.sort(key=lambda each: (each[0].simulated, each[0].trusted is False, each[0].model in local))
    if not known:
        return "not measured", "unknown"
    best, number, n = known[0]
    figure = f"{with_interval(number, unit=' %')} n {n:,}, {cut(escape_text(best.model), _NAME)}"
    if best.simulated:
        return f"simulated: {figure}", "unknown"
    doubts = (
        ("not to be trusted", best.trusted is False), ("some prompts only", best.selection != "all"),
        ("out of date", bool(best.changed)),
    )  # fmt: skip
    said = [word for word, there in doubts if there]
    if said or best.model in local:
        return ", ".join([figure, *said]), "unknown"
    answer = page.answers.get(2)
    grade = skill.routing.grade if skill else answer.grade if answer else SkillGrade.NOT_MEASURED
    return f"{grade}, {figure}", GRADE_TONES[grade]


def _effect(page: Page, skill: SkillRecord | None) -> tuple[str, Tone]:
    """The verdict that decides, of an agent that was really run; one that is preliminary has no colour of its own."""
    if skill is not None and skill.effect.state == "fix first":
        return "fix the rest first", "unknown"
    last = effect_first(page.status.effect if skill is None else skill.effect.models)
    if last is None:
        return "not measured", "unknown"
    figure = ""
    if last.verdict != "not testable":
        figure = f" {estimate_text(last.delta, '+,.1f', unit=' points')}"
    doubts = (("out of date", last.changed), ("preliminary", last.preliminary))
    said = ", ".join([f"{last.verdict}{figure}", *(each for each, there in doubts if there)])
    if last.simulated:
        return f"simulated: {said}", "unknown"
    grade = SkillGrade.NOT_MEASURED if last.changed else grade_word(last.verdict, bool(last.preliminary))
    return said, GRADE_TONES[grade]


def _verdict(page: Page, skill: SkillRecord | None) -> tuple[str, Tone]:
    if skill is not None:
        own = page.verdicts.get(skill.path)
        return (own.word, own.tone) if own else ("not measured", "unknown")
    counts = Counter(each.grade for each in page.verdicts.values())
    if not counts:
        return "not measured", "unknown"
    return count_grades(counts.elements()), GRADE_TONES[grade_all(counts)]


def endpoint(made: Badge) -> str:
    """The badge as a shields endpoint tells it: JSON in ASCII, on one line."""
    told = {"schemaVersion": 1, "label": made.label, "message": made.message, "color": COLORS[made.tone].lstrip("#")}
    return json.dumps(told, ensure_ascii=True) + "\n"


def svg(made: Badge) -> str:
    """The badge as an SVG file: no font, style sheet, script or id of its own, and a title that says it all."""
    from xml.etree.ElementTree import Element, SubElement, tostring

    left, right = _width(made.label) + 12, _width(made.message) + 12
    said = f"{made.label}: {made.message}"
    whole = {"xmlns": "http://www.w3.org/2000/svg", "width": str(left + right), "height": "20", "role": "img"}
    root = Element("svg", whole | {"viewBox": f"0 0 {left + right} 20", "aria-label": said})
    SubElement(root, "title").text = said
    SubElement(root, "rect", {"width": str(left + right), "height": "20", "rx": "3", "fill": GROUND})
    side = f"M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z"
    SubElement(root, "path", {"d": side, "fill": COLORS[made.tone]})
    texts = SubElement(root, "g", {"fill": TEXT, "font-family": _FONT, "font-size": "11", "aria-hidden": "true"})
    for at, width, text in ((6, left - 12, made.label), (left + 6, right - 12, made.message)):
        # The glyphs are made to fit, so that the badge is right in whatever font there is.
        fitted = {"x": str(at), "y": "14", "textLength": str(width), "lengthAdjust": "spacingAndGlyphs"}
        SubElement(texts, "text", fitted).text = text
    return tostring(root, encoding="unicode") + "\n"


def _width(text: str) -> int:
    """About how many pixels a text takes at 11 pixels, in a broad font."""
    from unicodedata import category, east_asian_width

    found = 0.0
    for each in text:
        if category(each) in ("Mn", "Me"):
            continue
        wide = 12.0 if east_asian_width(each) in "WF" else 10.0 if each in _BROAD else 6.9
        found += 4.4 if each in _NARROW else wide
    return max(round(found), 8)
