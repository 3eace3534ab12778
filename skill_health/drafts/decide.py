"""What a person decides on a drafted prompt, on disk: registry first, then the draft, so that a kill loses neither.

A draft that was killed in between is still proposed: accepting it again replaces its line, rejecting it takes it out.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from skill_health.core.errors import UsageError
from skill_health.documents.prompt_draft import PromptContent, PromptDraft
from skill_health.drafts.registry import drop_prompt, put_prompt, to_prompt
from skill_health.drafts.store import change_draft, settle_draft

LONGEST_REASON = 500


def accept_prompt(root: str, registry: str, draft: PromptDraft, time: datetime) -> PromptDraft:
    """Write a draft into the registry and mark it as accepted.

    Raises UsageError where it has been decided on or changed meanwhile, AbortedError where the disk does not take it.
    """
    _refuse_decided(draft)
    after = settle_draft(draft, "accepted", "person", time)
    change_draft(root, draft, after, lambda: put_prompt(registry, to_prompt(draft)))
    return after


def reject_prompt(root: str, registry: str, draft: PromptDraft, time: datetime, reason: str) -> PromptDraft:
    """Mark a draft as rejected, with the reason. Raises as `accept_prompt`, and UsageError where no reason is given."""
    _refuse_decided(draft)
    reason = " ".join(reason.split())[:LONGEST_REASON]
    if not reason:
        raise UsageError("a draft is rejected for a reason: say it in a few words")
    after = settle_draft(draft, "rejected", "person", time, reason)
    change_draft(root, draft, after, lambda: drop_prompt(registry, draft.id))
    return after


def edit_prompt(root: str, draft: PromptDraft, content: PromptContent, notes: tuple[str, ...]) -> PromptDraft:
    """Give a draft another content; it stays proposed. Raises as `accept_prompt`."""
    _refuse_decided(draft)
    after = replace(draft, content=content, notes=notes)
    change_draft(root, draft, after)
    return after


def _refuse_decided(draft: PromptDraft) -> None:
    if draft.state != "proposed":
        raise UsageError(f"{draft.id} is {draft.state} already: only proposed drafts are decided on")
