"""The tasks that a collection has already: its own, and those that are drafted and not rejected."""

from __future__ import annotations

import os

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.documents.task_draft import TaskDraft
from skill_health.drafts.store import read_drafts
from skill_health.drafts.tasks.folder import load_folder, task_place
from skill_health.drafts.tasks.validate import KnownTask
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.registries.sources import expand


def known_tasks(root: str, config: Config) -> tuple[list[KnownTask], list[str]]:
    """The tasks that new ones are held against, and a line for each draft that cannot be read."""
    folders = sorted({os.path.dirname(path) for pattern in config.sources.tasks for path in expand(root, pattern)})
    tasks = load_tasks([os.path.join(root, folder) for folder in folders], root).tasks if folders else ()
    found = [KnownTask(task.id, task.prompt, task.target_skills or ()) for task in tasks]
    stored = read_drafts(root, TaskDraft)
    problems = list(stored.problems)
    for draft in stored.drafts:
        if draft.state == "proposed":
            try:
                task = load_folder(task_place(root, draft), root)
            except UsageError as error:
                problems.append(str(error))
                continue
            found.append(KnownTask(draft.id, task.prompt, draft.content.skills))
    return found, problems
