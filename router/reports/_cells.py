"""Numbers of a report as short text; nothing in here escapes anything, which is each format's own business."""

from __future__ import annotations

from collections.abc import Iterable

from skill_health.documents.router_report import (
    FailureShare,
    ModelRoutingReport,
    PromptReport,
    RouterCoverage,
    RouterReport,
    SkillRoutingReport,
)

NO_ANSWER = "(no valid answer)"


def picked(name: str | None) -> str:
    """A class that was picked, in words."""
    return NO_ANSWER if name is None else name


def kinds(part: FailureShare) -> str:
    """The kinds of failures with their numbers."""
    return ", ".join(f"{each.kind} {each.calls}" for each in part.kinds)


def preliminary(models: Iterable[ModelRoutingReport]) -> dict[str, list[str]]:
    """Why figures are preliminary, each with the models of which it holds; models without any figure are left out."""
    found: dict[str, list[str]] = {}
    for model in models:
        if model.preliminary and model.metrics.top1.value is not None:
            found.setdefault("; ".join(model.preliminary), []).append(model.model)
    return found


def missing(coverage: RouterCoverage) -> str:
    """What became of the calls that are missing."""
    return ", ".join(f"{status} {n}" for status, n in coverage.missing.items())


def rank_skills(report: RouterReport) -> list[SkillRoutingReport]:
    """The skills with a recall, the lowest first; of equals the one with more prompts."""
    tested = [(skill.recall.value, skill) for skill in report.skills if skill.recall.value is not None]
    return [skill for _, skill in sorted(tested, key=lambda pair: (pair[0], -pair[1].prompts, pair[1].name))]


def failing(report: RouterReport) -> list[PromptReport]:
    """The prompts that failed, the worst first."""
    found = [prompt for prompt in report.prompts if prompt.failing]
    return sorted(found, key=lambda prompt: -1 if prompt.right is None else prompt.right)


def trust(report: RouterReport) -> str:
    """The verdict of the instrument check in one sentence; "" where nothing speaks against it."""
    check = report.check
    if check is None:
        return "The instrument was not checked."
    if check.failed:
        return f"Not to be trusted: the instrument check failed for {', '.join(check.failed)}."
    return ""
