"""What a family of drafted tasks is given and gives back.

A family is a module of this package whose name has no underscore in front. It has

    TITLE                     what a skill has to declare for it, as a clause
    draft(subject, run)       its tasks, in the order of the skill's text

and asks no model: the same skill gives the same tasks. What it finds in a skill is data. Only `run` starts a program of
the skill's, in the sandbox of verifiers; it is None where nothing may be run.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from skill_health.core.files import blake2b
from skill_health.core.plugins import plugin_names
from skill_health.documents.proposal_draft import ProposalContent
from skill_health.drafts.tasks import templates as package
from skill_health.drafts.tasks.model import SOLUTION, DraftedTask, spread_points
from skill_health.drafts.tasks.subject import DraftSubject
from skill_health.effectiveness.checks._api import make_check
from skill_health.effectiveness.rubric.model import Criterion, CriterionGroup
from skill_health.effectiveness.tasks._folder import File

MOST_ITEMS = 60


@dataclass(frozen=True, slots=True)
class ScriptedRun:
    """What a program of a skill did in the sandbox: its exit code, None where it was stopped, and what it printed."""

    exit_code: int | None
    printed: str = field(repr=False)


RunScript = Callable[[str, Sequence[File], Sequence[File]], ScriptedRun]
"""Run a bash text over starting files, with files of its own in "$(dirname "$0")"."""


@dataclass(frozen=True, slots=True)
class TemplateDraft:
    """A task of a family, with the proposal that it would be."""

    proposal: ProposalContent
    task: DraftedTask


class TaskTemplate(Protocol):
    """The module of a family."""

    TITLE: str

    def draft(self, subject: DraftSubject, run: RunScript | None) -> Iterator[TemplateDraft]:
        """Its tasks for a subject."""


@cache
def task_templates() -> dict[str, TaskTemplate]:
    """Every family by the name of its module."""
    return {
        name: cast(TaskTemplate, import_module(f"{package.__name__}.{name}")) for name in plugin_names(package.__path__)
    }


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """An item of a rubric with its check, before it has points."""

    text: str
    kind: str
    given: dict[str, object]


def make_criteria(group: CriterionGroup, prefix: str, items: Sequence[CheckedItem]) -> Iterator[Criterion]:
    """The items with points, 100 together. Raises ValueError where they are too few or too many for that."""
    for nth, (item, points) in enumerate(zip(items, spread_points(len(items)), strict=True), 1):
        check = make_check(item.kind, **item.given)
        yield Criterion(f"{prefix}-{nth}", item.text, float(points), group, check)


def make_rubrics(goal: Sequence[CheckedItem], rules: Sequence[CheckedItem]) -> tuple[Criterion, ...]:
    """Both rubrics. Raises ValueError as `make_criteria`."""
    return (*make_criteria("goal", "goal", goal), *make_criteria("instruction", "rule", rules))


def writing_solution(files: dict[str, str]) -> tuple[File, ...]:
    """A reference solution that writes these files: each lies beside solve.sh, which copies it."""
    lines, beside = ["set -e", 'here="$(cd "$(dirname "$0")" && pwd)"'], []
    for nth, (path, text) in enumerate(sorted(files.items()), 1):
        folder = path.rpartition("/")[0]
        lines += [f"mkdir -p {shlex.quote(folder)}"] if folder else []
        lines.append(f'cp "$here/answer-{nth}" {shlex.quote(path)}')
        beside.append(File(f"answer-{nth}", text.encode()))
    return (File(SOLUTION, ("\n".join(lines) + "\n").encode()), *beside)


def chosen_numbers(seed: str, count: int, low: int, high: int) -> list[int]:
    """So many different whole numbers from low to high that follow from a seed, in no order."""
    found: dict[int, None] = {}
    nth = 0
    while len(found) < count:
        mark = blake2b(json.dumps([seed, nth]).encode(), digest_size=8).digest()
        found.setdefault(low + int.from_bytes(mark, "big") % (high - low + 1))
        nth += 1
    return list(found)
