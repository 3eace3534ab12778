"""Health of a skill: its score and what it is made of, and the findings with the lines that they point at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from skill_health.formats.text import excerpt as source_lines
from skill_health.page.figures import count, score
from skill_health.page.model import JsonNode, PageCell, Tone
from skill_health.page.skill.budget import HtmlBudget, TextExcerpt, cut, price

MOST = 40
"""How many findings of a skill are shown."""
_AROUND = 420
"""Bytes of HTML around a finding."""
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The line that a finding points at: its number, and its text before, in and after the place."""

    number: str
    before: str
    marked: str
    after: str


@dataclass(frozen=True, slots=True)
class PageFinding:
    """A finding. `excerpt` is None where its line is empty or must not be shown."""

    severity: str
    code: str
    rule: str
    title: str
    place: str
    message: TextExcerpt
    help: TextExcerpt
    excerpt: Excerpt | None
    fixable: bool
    elsewhere: bool


@dataclass(frozen=True, slots=True)
class ComponentDetail:
    """A part of the score: its value, its share in the score, and what the value was lost by ("" and () for nothing).

    `level` is the value in tenths for a bar, -1 for a part that was left out; only a whole one is 10, only nothing 0.
    """

    name: str
    level: int
    value: PageCell
    share: PageCell
    evidence: tuple[tuple[str, PageCell], ...]
    note: str


@dataclass(frozen=True, slots=True)
class InFile:
    """The findings in a file."""

    path: str
    findings: tuple[PageFinding, ...]


@dataclass(frozen=True, slots=True)
class HealthSection:
    """What `lint` says of a skill. `left` findings are not shown. `counts` are named cells by severity."""

    state: str
    score: PageCell
    counts: tuple[tuple[str, PageCell], ...]
    flags: tuple[TextExcerpt, ...]
    components: tuple[ComponentDetail, ...]
    files: tuple[InFile, ...]
    left: int


Found = Mapping[str, tuple[Mapping[str, Any], ...]]
"""The findings about each skill, by the path of its SKILL.md."""


def by_skill(lint: JsonNode) -> Found:
    """The findings by skill, in the order of the report; one that is about several skills stands at each."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in lint.get("findings"):
        for path in dict.fromkeys((each.value["skill"], *each.value["also"])):
            found.setdefault(path, []).append(each.value)
    return {path: tuple(own) for path, own in found.items()}


def health(record: JsonNode, linted: JsonNode, found: Found, purse: HtmlBudget) -> HealthSection:
    """Health of a skill: its record, its part of the lint report, and all findings. The purse pays for findings."""
    path = str(record["path"].value)
    every = found.get(path, ())
    shown: dict[str, list[PageFinding]] = {}
    n = 0
    for told in every[:MOST]:
        one = _finding(told, path)
        texts = (one.message.text, one.help.text, told["source"][:120] * bool(one.excerpt), one.title)
        if not purse.pay(_AROUND + sum(map(price, texts))):
            break
        shown.setdefault(told["path"], []).append(one)
        n += 1
    counted = linted.get("findings")
    return HealthSection(
        str(record["health"]["state"].value),
        score(linted.get("score"), _tone(record)),
        tuple((name, count(counted.get(name))) for name in ("error", "warning", "info")),
        tuple(cut(str(flag), _LONGEST) for flag in linted.get("flags").value or ()),
        tuple(_component(each) for each in linted.get("components")),
        tuple(InFile(path, tuple(own)) for path, own in shown.items()),
        len(every) - n,
    )


def _tone(record: JsonNode) -> Tone:
    if record["health"]["state"].value == "failed":
        return "bad"
    return "warn" if record["health"]["flags"] else "good"


def _component(part: JsonNode) -> ComponentDetail:
    value = part["value"].value
    level = -1 if value is None else min(9, max(1, round(10 * value))) if 0 < value < 1 else 10 * round(value)
    # What is whole needs no reason, and most parts of most skills are.
    behind = part["evidence"].items() if level < 10 else ()
    evidence = tuple((name.replace("_", " "), _plainly(number)) for name, number in behind)
    return ComponentDetail(
        str(part["name"].value), level, score(part["value"]), _ratio(part["share"]), evidence, str(part["note"].value)
    )


def _plainly(number: JsonNode) -> PageCell:
    return PageCell(f"{number.value:,.6g}", number.value, number.origin)


def _ratio(number: JsonNode) -> PageCell:
    return PageCell(f"{100 * number.value:.0f} %", number.value, number.origin)


def _finding(told: Mapping[str, Any], path: str) -> PageFinding:
    return PageFinding(
        told["severity"], told["code"], told["rule"], _titles().get(told["code"], ""),
        f"{told['line']}:{told['col']}", cut(told["message"], _LONGEST), cut(told["help"], _LONGEST),
        _excerpt(told), told["fixable"], told["skill"] != path,
    )  # fmt: skip


def _excerpt(told: Mapping[str, Any]) -> Excerpt | None:
    """The line as a terminal shows it, cut and with the same columns marked."""
    from skill_health.rules._api import Finding, Severity

    if not told["source"].strip():
        return None
    places = {key: told[key] for key in ("code", "rule", "path", "line", "col", "end_line", "end_col", "message")}
    found = Finding(family="", severity=Severity(told["severity"]), source=told["source"], **places)
    line, carets = (each.partition(" | ") for each in source_lines(found, False))
    start = carets[2].index("^")
    end = start + carets[2].count("^")
    return Excerpt(line[0].strip(), line[2][:start], line[2][start:end], line[2][end:])


@cache
def _titles() -> Mapping[str, str]:
    """What each rule reports, by its code."""
    from skill_health.rules._load import all_rules

    return {rule.code: rule.doc.split("\n", 1)[0].strip().rstrip(".") for rule in all_rules()}
