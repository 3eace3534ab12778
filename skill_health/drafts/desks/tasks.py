"""Drafted tasks before a person: the instruction and both rubrics; all else is in the folder of the draft."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from msgspec.structs import replace

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import here, read_whole, replace_file
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.documents.task_draft import TaskDraft
from skill_health.drafts.desks._api import Now, ShownDraft
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.store import change_draft, is_edited, read_drafts
from skill_health.drafts.tasks.accept import accept_task, reject_task
from skill_health.drafts.tasks.folder import digest_task, load_folder, shown_task, task_place, written_parts
from skill_health.drafts.tasks.known import known_tasks
from skill_health.drafts.tasks.model import has_controls
from skill_health.drafts.tasks.validate import find_static_flaws, make_surroundings, try_tasks
from skill_health.effectiveness.sandbox._load import NONE, back_end, pick
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.workspace.scripts import ScriptOptions

_MOST_EDITED = 1 << 20


def open_desk(collection: DraftingCollection, now: Now, skills: tuple[str, ...] = ()) -> TaskDesk:
    """The desk of drafted tasks."""
    return TaskDesk(collection, now, skills)


class TaskDesk:
    """Drafted tasks for some skills, or all. Each decision is on the disk when it is made."""

    title = "tasks"

    def __init__(self, collection: DraftingCollection, now: Now, skills: tuple[str, ...]) -> None:
        self._collection, self._now, self._skills = collection, now, skills

    def waiting(self) -> tuple[TaskDraft, ...]:
        """The tasks that nobody has decided on, by their ids."""
        stored = read_drafts(self._collection.root, TaskDraft).drafts
        wanted = (each for each in stored if not self._skills or set(self._skills) & set(each.content.skills))
        return tuple(each for each in wanted if each.state == "proposed")

    def problems(self) -> tuple[str, ...]:
        """Files that are no drafts, and drafts whose folder is none."""
        stored = read_drafts(self._collection.root, TaskDraft)
        _, bad = known_tasks(self._collection.root, self._collection.config)
        return tuple(dict.fromkeys((*stored.problems, *bad)))

    def show(self, draft: TaskDraft) -> ShownDraft:
        """The instruction, what the rubrics ask for, and where the rest is."""
        content = draft.content
        task = self._task(draft)
        by = draft.origin.template or draft.origin.resolved or draft.origin.model
        fields = [
            ("instruction", task.prompt),
            ("hidden", content.hidden),
            *(("goal" if each.group == "goal" else "rule", _item(each)) for each in task.rubric.criteria),
            ("files", ", ".join(file.path for file in task.files) or "none"),
            ("folder", here(task_place(self._collection.root, draft))),
            ("made by", f"{draft.origin.by}, {by}{', edited' if self._is_edited(draft, task) else ''}"),
        ] if task.rubric else []  # fmt: skip
        return ShownDraft(f"{' + '.join(content.skills)}: {content.title}", tuple(fields), draft.notes)

    def write_out(self, draft: TaskDraft) -> str:
        """The instruction and the rubrics as JSON; other files are edited where they are."""
        return shown_task(self._task(draft))

    def edit(self, draft: TaskDraft, text: str) -> TaskDraft:
        """Take in another instruction and other rubrics. Raises UsageError where they are none."""
        place = task_place(self._collection.root, draft)
        try:
            data: Any = parse_object(text) if len(text) <= _MOST_EDITED else {}
            files = written_parts(data)
        except (JsonProblem, ValueError) as error:
            raise UsageError(f"the edited text is no task: {error}") from None
        try:
            before = {name: read_whole(os.path.join(place, name)) for name in files}
            for name, raw in files.items():
                replace_file(os.path.join(place, name), raw, durable=True)
            task = load_folder(place, self._collection.root)
        except OSError as error:
            raise AbortedError(f"cannot write {here(place)}: {error.strerror or error}") from error
        except UsageError:
            for name, raw in before.items():
                replace_file(os.path.join(place, name), raw, durable=True)
            raise
        after = replace(draft, content=replace(draft.content, digest=digest_task(task)))
        change_draft(self._collection.root, draft, after)
        return after

    def find_fault(self, draft: TaskDraft) -> str:
        """Which rule the task does not keep; one that was edited is tried in the sandbox again."""
        task = self._task(draft)
        root, config = self._collection.root, self._collection.config
        known, _ = known_tasks(root, config)
        around = make_surroundings(root, tuple(self._collection.skills.values()), known)
        if has_controls(task.prompt):
            return "the instruction holds control characters"
        # A task may mean its skill by the name of its plugin; the rules know the skill's own.
        meant = dataclasses.replace(task, target_skills=draft.content.skills)
        flaws = list(find_static_flaws(meant, around))
        if not flaws and self._is_edited(draft, task):
            usual = config.effectiveness.sandbox
            name = pick(usual if usual and usual != NONE else None, config.effectiveness.image)
            flaws += try_tasks([meant], around, ScriptOptions(back_end(name), config.effectiveness.image))[task.id]
        return flaws[0].message if flaws else ""

    def accept(self, draft: TaskDraft) -> TaskDraft:
        """Copy it to the tasks of the collection."""
        if fault := self.find_fault(draft):
            raise UsageError(f"it cannot be accepted as it is: {fault}; edit or reject it")
        return accept_task(self._collection.root, self._collection.config, draft, self._now())

    def reject(self, draft: TaskDraft, reason: str) -> TaskDraft:
        """Keep it with the reason."""
        return reject_task(self._collection.root, self._collection.config, draft, self._now(), reason)

    def _task(self, draft: TaskDraft) -> Task:
        return load_folder(task_place(self._collection.root, draft), self._collection.root)

    def _is_edited(self, draft: TaskDraft, task: Task) -> bool:
        return is_edited(draft) or digest_task(task) != draft.content.digest


def _item(criterion: Any) -> str:
    how = "" if criterion.check else ", by a judge"
    return f"{criterion.points:g} points{how}: {criterion.text}"
