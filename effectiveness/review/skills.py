"""The skills that should help at a task, as the linter sees them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from skill_health.effectiveness.tasks._api import Task
from skill_health.lint.pipeline import configure, lint
from skill_health.rules._api import Severity
from skill_health.skill.model import Skill


def count_skill_errors(
    task: Task, skills: Sequence[Skill], root: str, config_file: str | None, as_of: date
) -> Mapping[str, int]:
    """How many errors lint finds in each skill that should help at a task: its own, else those of the collection.

    Skills that are not there are left out. The paths of `skills` are relative to `root`.
    """
    wanted = task.target_skills or ()
    folders = list(task.skills) or [os.path.join(root, skill.folder) for skill in skills if skill.name in wanted]
    if not folders:
        return {}
    top, config = configure(folders, config_file, {})
    report, result = lint(folders, top, config, as_of)
    counts = Counter(each.skill for each in report.findings if each.severity == Severity.ERROR)
    names = {entry.path: entry.folder_name for entry in result.entries if entry.target}
    return {name: counts[path] for path, name in names.items()}
