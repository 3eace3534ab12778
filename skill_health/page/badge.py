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

from skill_health.page.drawing.theme import BAD, GOOD, UNKNOWN, WARN
from skill_health.page.figures import escape_text, points, score, share
from skill_health.page.model import TONES, JsonNode, Page, PageCell, Tone
from skill_health.page.verdict.ranking import effect_first
from skill_health.page.verdict.verdicts import hedged
from skill_health.status.records import LOST
from skill_health.text.terminal import cut

What = Literal["health", "routing", "effect", "verdict"]
COLORS: Mapping[Tone, str] = {"good": GOOD, "warn": WARN, "bad": BAD, "unknown": UNKNOWN}
GROUND, TEXT = "#3d3d45", "#ffffff"
_LABEL, _MESSAGE, _NAME = 34, 112, 24
_FONT = "Verdana, DejaVu Sans, Liberation Sans, sans-serif"
_NARROW, _BROAD = frozenset("fijlrtI.,:;|!'[](){} -/\\"), frozenset("mwMW%@")
_VERDICTS: Mapping[str, Tone] = {"helps": "good", "no evidence": "warn", "harmful": "bad", "biased": "warn"}


@dataclass(frozen=True, slots=True)
class Badge:
    """A label and a message, both of one short line that is safe to show, and the tone of the message."""

    label: str
    message: str
    tone: Tone


def badge(page: Page, what: What, path: str | None = None) -> Badge:
    """The badge of the collection, or of the skill whose SKILL.md has this path. Raises KeyError for an unknown one."""
    skill = None if path is None else page.status["skills"].where("path", path)
    if path is not None and skill is None:
        raise KeyError(path)
    message, tone = {"health": _health, "routing": _routing, "effect": _effect, "verdict": _verdict}[what](page, skill)
    lead = "skill" if skill is None else cut(escape_text(skill["name"].value), _NAME)
    name = "skills" if skill is None and what == "verdict" else lead if what == "verdict" else f"{lead} {what}"
    return Badge(cut(name, _LABEL), cut(escape_text(message), _MESSAGE), tone)


def _health(page: Page, skill: JsonNode | None) -> tuple[str, Tone]:
    if skill is not None:
        health = skill["health"].value
        if health["state"] == "failed":
            return "fails", "bad"
        if health["score"] is None:
            return "not measured", "unknown"
        return score(skill["health"]["score"]).text, "warn" if health["flags"] else "good"
    skills = page.status["skills"].value
    failed = sum(each["health"]["state"] == "failed" for each in skills)
    if failed:
        return f"{failed:,} of {len(skills):,} fail", "bad"
    mean = page.lint["summary"].get("score")
    if mean.value is None:
        return "not measured", "unknown"
    return score(mean).text, "warn" if page.lint["summary"].get("flagged") else "good"


def _routing(page: Page, skill: JsonNode | None) -> tuple[str, Tone]:
    """How often the right skill comes first by the best model that was really asked, or this skill where it is due."""
    if skill is not None and skill["routing"]["state"].value == "fix first":
        return "fix health first", "unknown"
    models = [*(page.status["routing"] if skill is None else skill["routing"]["models"])]
    key = "top1" if skill is None else "recall"
    known = [each for each in models if each[key]["value"].value is not None]
    local = _word_counters(page)
    known.sort(key=lambda each: (each["simulated"].value, each["trusted"].value is False, each["model"].value in local))
    if not known:
        return "not measured", "unknown"
    best = known[0].value
    calls = f" n {best['n']:,}" if skill is None else ""
    figure = f"{_with_unit(share(known[0][key]), '%')}{calls}, {cut(escape_text(best['model']), _NAME)}"
    if best["simulated"]:
        return f"simulated: {figure}", "unknown"
    doubts = (
        ("not to be trusted", best["trusted"] is False), ("some prompts only", best["selection"] != "all"),
        ("out of date", bool(best["changed"])),
    )  # fmt: skip
    said = [word for word, there in doubts if there]
    doubted = bool(said) or best["model"] in local
    return ", ".join([figure, *said]), "unknown" if doubted else _found(best[key])


def _with_unit(figure: PageCell, unit: str) -> str:
    """A figure as it stands on the page, with its unit before the interval."""
    value, mark, rest = figure.text.partition(" [")
    return f"{value} {unit}{mark}{rest}" if mark else value


def _word_counters(page: Page) -> set[str]:
    """The routers that compute on this machine: how well they do says little of a model."""
    models = (each.value for skill in page.status["skills"] for each in skill["routing"]["models"])
    return {each["model"] for each in models if each["local"]}


def _found(estimate: Mapping[str, float | None]) -> Tone:
    """Whether more requests are found than lost, where the interval tells."""
    low, high = estimate["low"], estimate["high"]
    if high is not None and high < LOST:
        return "bad"
    return "good" if low is not None and low >= LOST else "warn"


def _effect(page: Page, skill: JsonNode | None) -> tuple[str, Tone]:
    """The verdict that decides, of an agent that was really run; one that is preliminary has no colour of its own."""
    if skill is not None and skill["effect"]["state"].value == "fix first":
        return "fix the rest first", "unknown"
    first = effect_first(page.status["effect"] if skill is None else skill["effect"]["models"])
    if first is None:
        return "not measured", "unknown"
    last = first.value
    word = last["verdict"]
    figure = "" if word == "not testable" else f" {_with_unit(points(first['delta']), 'points')}"
    doubts = (("out of date", last["changed"]), ("preliminary", last["preliminary"]))
    said = ", ".join([f"{word}{figure}", *(each for each, there in doubts if there)])
    if last["simulated"]:
        return f"simulated: {said}", "unknown"
    tone: Tone = "unknown" if last["changed"] else _VERDICTS.get(word, "unknown")
    return said, hedged(word, tone, bool(last["preliminary"]))[1]


def _verdict(page: Page, skill: JsonNode | None) -> tuple[str, Tone]:
    if skill is not None:
        own = page.verdicts.get(skill["path"].value)
        return (own.word, own.tone) if own else ("not measured", "unknown")
    counts = Counter((each.tone, each.word) for each in page.verdicts.values())
    if not counts:
        return "not measured", "unknown"
    order = sorted(counts.items(), key=lambda item: (TONES.index(item[0][0]), -item[1], item[0][1]))
    return ", ".join(f"{n:,} {word}" for (_, word), n in order), order[0][0][0]


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
