"""A certain state of git."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import Sign
from skill_health.needs.reading.git import git_signs
from skill_health.needs.reading.read import SkillReading

ORDER = 10
TITLE = "Git repository state"
MEANING = "A certain state of git: a branch, uncommitted or staged changes, a pull request, conflicts, history, tags, worktrees."


def find(reading: SkillReading) -> Iterator[Sign]:
    """Commands that ask git for more than files, and sentences that speak of branches, changes and pull requests."""
    yield from git_signs(reading)
