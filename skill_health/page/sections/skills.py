"""The part of the page about each skill: everything behind its line in the overview."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skill_health.page.model import JsonNode, Page, SkillVerdict, anchor, document
from skill_health.page.skill.budget import HtmlBudget, TextExcerpt, cut
from skill_health.page.skill.effects import EffectReports, EffectSection, HtmlBudgets, bench, effect
from skill_health.page.skill.health import Found, HealthSection, by_skill, health
from skill_health.page.skill.kept_files import ReportFolders
from skill_health.page.skill.routing import RouterReports, RoutingSection, book, routing

FINDINGS, PROMPTS, TASKS, LINKS, VIEWS = 250_000, 250_000, 150_000, 120_000, 500_000
"""Bytes of HTML that all skills together may spend, so that a page stays below 3 MB; those most in need go first."""
_LONGEST = 1_600


@dataclass(frozen=True, slots=True)
class PageStep:
    """A gap, what to do about it, and the command ("" for none)."""

    gap: str
    advice: str
    command: str


@dataclass(frozen=True, slots=True)
class SkillPart:
    """Everything that is known of a skill, ready to be shown."""

    name: str
    path: str
    anchor: str
    verdict: SkillVerdict
    steps: tuple[PageStep, ...]
    description: TextExcerpt
    health: HealthSection
    routing: RoutingSection
    effect: EffectSection


@dataclass(frozen=True, slots=True)
class _Sources:
    """What all skills are looked up in, each read once."""

    linted: dict[str, JsonNode]
    found: Found
    routes: RouterReports
    trials: EffectReports
    described: JsonNode
    findings: HtmlBudget
    prompts: HtmlBudget
    runs: HtmlBudgets


def parts(page: Page) -> Iterator[SkillPart]:
    """The parts in the order of the overview. Reads what was kept of failing trials below the page's folder."""
    shelf = ReportFolders(page.folder, page.base)
    sources = _Sources(
        {str(each.value["path"]): each for each in page.lint.get("skills")},
        by_skill(page.lint),
        book(shelf, page.router),
        bench(shelf, page.effects),
        page.own.get("descriptions"),
        HtmlBudget(FINDINGS),
        HtmlBudget(PROMPTS),
        HtmlBudgets(HtmlBudget(TASKS), HtmlBudget(LINKS), HtmlBudget(VIEWS)),
    )
    records = list(page.status.get("skills"))
    made = {
        at: _part(page, records[at], sources)
        for at in sorted(range(len(records)), key=lambda at: (_verdict(page, records[at]).need, at))
    }
    return (made[at] for at in range(len(records)))


def _verdict(page: Page, record: JsonNode) -> SkillVerdict:
    path = str(record["path"].value)
    return page.verdicts.get(path) or SkillVerdict("not known", "unknown", 1, "")


def _part(page: Page, record: JsonNode, sources: _Sources) -> SkillPart:
    path = str(record["path"].value)
    linted = sources.linted.get(path) or document("lint", {})
    return SkillPart(
        str(record["name"].value),
        path,
        anchor(path),
        _verdict(page, record),
        tuple(PageStep(each["gap"], each["advice"], each["command"]) for each in record["next"].value),
        cut(str(sources.described.get(path).value or ""), _LONGEST),
        health(record, linted, sources.found, sources.findings),
        routing(record, sources.routes, sources.prompts),
        effect(record, sources.trials, sources.runs),
    )
