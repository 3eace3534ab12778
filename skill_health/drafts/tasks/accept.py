"""What a person decides on proposals and drafted tasks, on disk: the folder first, then the draft, as with prompts."""

from __future__ import annotations

import os
from datetime import datetime

from msgspec.structs import replace

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.discovery.roots import stay_inside
from skill_health.documents.proposal_draft import ProposalDraft
from skill_health.documents.task_draft import TaskDraft
from skill_health.drafts.decide import LONGEST_REASON
from skill_health.drafts.store import change_draft, settle_draft
from skill_health.drafts.tasks.folder import copy_folder, digest_task, load_folder, task_place
from skill_health.effectiveness.workspace.folders import remove_tree

_USUAL = "tasks"


def accept_proposal(root: str, draft: ProposalDraft, time: datetime) -> ProposalDraft:
    """Let a task be made of a proposal. Raises UsageError where it has been decided on or changed meanwhile."""
    _refuse_decided(draft)
    after = settle_draft(draft, "accepted", "person", time)
    change_draft(root, draft, after)
    return after


def accept_task(root: str, config: Config, draft: TaskDraft, time: datetime) -> TaskDraft:
    """Copy a drafted task to the tasks of the collection and mark it as accepted.

    Raises UsageError where it has been decided on or changed meanwhile, or where another task has its place, and
    AbortedError where the disk does not take it.
    """
    _refuse_decided(draft)
    place, target = task_place(root, draft), accepted_place(root, config, draft)
    # Edited on disk or not: what is accepted is what is there.
    digest = digest_task(load_folder(place, root))
    after = replace(draft, content=replace(draft.content, digest=digest))

    def copy() -> None:
        if not (os.path.isdir(target) and _is_same(target, root, digest)):
            copy_folder(place, target)

    settled = settle_draft(after, "accepted", "person", time)
    change_draft(root, draft, settled, copy)
    return settled


def reject_proposal(root: str, draft: ProposalDraft, time: datetime, reason: str) -> ProposalDraft:
    """Mark a proposal as rejected, with the reason. Raises UsageError where there is none, and as `accept_proposal`."""
    _refuse_decided(draft)
    after = settle_draft(draft, "rejected", "person", time, _in_words(reason))
    change_draft(root, draft, after)
    return after


def reject_task(root: str, config: Config, draft: TaskDraft, time: datetime, reason: str) -> TaskDraft:
    """The same for a drafted task; the copy of one whose acceptance was cut off is taken back."""
    _refuse_decided(draft)
    after = settle_draft(draft, "rejected", "person", time, _in_words(reason))

    def drop() -> None:
        target = accepted_place(root, config, draft)
        if os.path.isdir(target) and _is_same(target, root, draft.content.digest):
            remove_tree(target)

    change_draft(root, draft, after, drop)
    return after


def _in_words(reason: str) -> str:
    words = " ".join(reason.split())[:LONGEST_REASON]
    if not words:
        raise UsageError("a draft is rejected for a reason: say it in a few words")
    return words


def accepted_place(root: str, config: Config, draft: TaskDraft) -> str:
    """Where an accepted task goes: the first folder of tasks that the configuration names."""
    first = next((pattern for pattern in config.sources.tasks if pattern.endswith("/*/metadata.json")), "")
    folder = first.removesuffix("/*/metadata.json")
    folder = folder if folder and not any(mark in folder for mark in "*?[") else _USUAL
    return stay_inside(os.path.join(root, folder, draft.id), root)


def _is_same(place: str, root: str, digest: str) -> bool:
    try:
        return digest_task(load_folder(place, root)) == digest
    except UsageError:
        return False


def _refuse_decided(draft: ProposalDraft | TaskDraft) -> None:
    if draft.state != "proposed":
        raise UsageError(f"{draft.id} is {draft.state} already: only proposed drafts are decided on")
