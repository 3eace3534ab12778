"""Proposals of tasks before a person."""

from __future__ import annotations

from msgspec.structs import replace

from skill_health.core.errors import UsageError
from skill_health.documents._record import decode_record
from skill_health.documents.proposal_draft import ProposalContent, ProposalDraft
from skill_health.drafts.desks._api import Now, ShownDraft
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.store import change_draft, is_edited, read_drafts, write_json
from skill_health.drafts.tasks.accept import accept_proposal, reject_proposal
from skill_health.drafts.tasks.subject import NOT_HERE

_MOST_EDITED = 1 << 20


def open_desk(collection: DraftingCollection, now: Now, skills: tuple[str, ...] = ()) -> ProposalDesk:
    """The desk of proposals."""
    return ProposalDesk(collection, now, skills)


class ProposalDesk:
    """Proposals for some skills, or all. Each decision is on the disk when it is made."""

    title = "proposals of tasks"

    def __init__(self, collection: DraftingCollection, now: Now, skills: tuple[str, ...]) -> None:
        self._collection, self._now, self._skills = collection, now, skills

    def waiting(self) -> tuple[ProposalDraft, ...]:
        """The proposals that nobody has decided on, by their ids."""
        stored = read_drafts(self._collection.root, ProposalDraft).drafts
        wanted = (each for each in stored if not self._skills or set(self._skills) & set(each.content.skills))
        return tuple(each for each in wanted if each.state == "proposed")

    def problems(self) -> tuple[str, ...]:
        """Files that are no proposals."""
        return read_drafts(self._collection.root, ProposalDraft).problems

    def show(self, draft: ProposalDraft) -> ShownDraft:
        """What the task would be."""
        content = draft.content
        fields = [
            ("situation", content.situation),
            ("inputs", "; ".join(content.inputs) or "none"),
            ("outcome", content.outcome),
            ("hidden", content.hidden),
        ]
        if content.needs:
            fields.append(("needs", ", ".join(content.needs)))
        by = draft.origin.template or draft.origin.resolved or draft.origin.model
        fields.append(("made by", f"{draft.origin.by}, {by}{', edited' if is_edited(draft) else ''}"))
        return ShownDraft(f"{' + '.join(content.skills)}: {content.title}", tuple(fields), draft.notes)

    def write_out(self, draft: ProposalDraft) -> str:
        """The content as JSON."""
        return write_json(draft.content)

    def edit(self, draft: ProposalDraft, text: str) -> ProposalDraft:
        """Take in an edited content. Raises UsageError where it is none."""
        if len(text) > _MOST_EDITED:
            raise UsageError("the edited text is too long")
        try:
            content = decode_record(text.encode("utf-8", "surrogatepass"), ProposalContent)
        except ValueError as error:
            raise UsageError(f"the edited text is no proposal: {error}") from None
        after = replace(draft, content=content)
        change_draft(self._collection.root, draft, after)
        return after

    def find_fault(self, draft: ProposalDraft) -> str:
        """What it needs and no task has here."""
        missing = next((each for each in draft.content.needs if each in NOT_HERE), "")
        return f"it needs {NOT_HERE[missing]}, which no task has here" if missing else ""

    def accept(self, draft: ProposalDraft) -> ProposalDraft:
        """Let `draft tasks` make a task of it."""
        if fault := self.find_fault(draft):
            raise UsageError(f"it cannot be accepted as it is: {fault}; edit or reject it")
        return accept_proposal(self._collection.root, draft, self._now())

    def reject(self, draft: ProposalDraft, reason: str) -> ProposalDraft:
        """Keep it with the reason."""
        return reject_proposal(self._collection.root, draft, self._now(), reason)
