"""The steps that are due, as the page tells them: naming the model that was asked before, and calm where it may err."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skill_health.page.model import Page
from skill_health.page.verdict.telling import named_anew
from skill_health.page.verdict.verdicts import PRELIMINARY, SO_FAR


@dataclass(frozen=True, slots=True)
class DueSkills:
    """A step, with the names of the skills that it is for. `command` is "" where no command does it."""

    gap: str
    advice: str
    command: str
    skills: tuple[str, ...]


def due(page: Page) -> tuple[DueSkills, ...]:
    """Every step that is due, in the order of the questions."""
    return tuple(_due(page))


def _due(page: Page) -> Iterator[DueSkills]:
    paths = {skill["name"].value: skill["path"].value for skill in page.status["skills"]}
    for step in page.status["next"].value:
        names = tuple(step["skills"])
        gap, advice, command = step["gap"], step["advice"], named_anew(step["command"], page.status)
        maybe = [name for name in names if gap == "harmful" and _preliminary(page, paths.get(name, ""))]
        sure = tuple(name for name in names if name not in maybe)
        if sure:
            yield DueSkills(gap, advice, command, sure)
        if maybe:
            yield DueSkills(f"{PRELIMINARY}{gap}", SO_FAR, command, tuple(maybe))


def _preliminary(page: Page, path: str) -> bool:
    verdict = page.verdicts.get(path)
    return verdict is not None and verdict.word.startswith(PRELIMINARY)
