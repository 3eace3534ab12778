"""Drafted requests before a person."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.errors import UsageError
from skill_health.core.files import here, is_there
from skill_health.documents._record import decode_record
from skill_health.documents.prompt_draft import PromptContent, PromptDraft
from skill_health.drafts.decide import accept_prompt, edit_prompt, reject_prompt
from skill_health.drafts.desks._api import Now, ShownDraft
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.prompts.validate import KnownPrompts, PromptRules
from skill_health.drafts.registry import find_registry, to_prompt
from skill_health.drafts.store import is_edited, read_drafts, write_json
from skill_health.router.records import ListedSkill

_MOST_EDITED = 1 << 20
_ROLES = {"positive": "must find the skill", "near_miss": "must find a sibling", "none": "must find no skill"}
_MADE_BY = {"model": "a model", "template": "a template (weaker)", "transcript": "a transcript"}


def open_desk(collection: DraftingCollection, now: Now, skills: tuple[str, ...] = ()) -> PromptDesk:
    """The desk of drafted requests."""
    return PromptDesk(collection, now, skills)


class PromptDesk:
    """Drafted requests about some skills, or all. Each decision is on the disk when it is made."""

    title = "prompts"

    def __init__(self, collection: DraftingCollection, now: Now, skills: tuple[str, ...]) -> None:
        self._collection, self._now, self._skills = collection, now, skills
        self._registry = find_registry(collection.root, collection.config)

    def waiting(self) -> tuple[PromptDraft, ...]:
        """The proposed drafts, by skill, role and id."""
        found = [draft for draft in self._stored() if draft.state == "proposed" and self._is_wanted(draft)]
        order = list(_ROLES)
        return tuple(sorted(found, key=lambda each: (each.skills[0].name, order.index(each.content.role), each.id)))

    def problems(self) -> tuple[str, ...]:
        """Files that are no drafts; and prompts that would no longer be read beside a new registry."""
        hidden = () if is_there(self._registry, links=False) else tuple(self._hidden())
        return (*read_drafts(self._collection.root, PromptDraft).problems, *hidden)

    def show(self, draft: PromptDraft) -> ShownDraft:
        """The request, its labels, and where it comes from."""
        content = draft.content
        fields = [("request", content.text), ("expected", content.expected or "no skill")]
        if content.acceptable:
            fields.append(("may fire", ", ".join(content.acceptable)))
        if content.rejected:
            fields.append(("must not", ", ".join(content.rejected)))
        if content.reason:
            fields.append(("because", content.reason))
        made = _MADE_BY[draft.origin.by] + (f", {draft.origin.resolved}" if draft.origin.resolved else "")
        fields.append(("made by", f"{made}{', edited' if is_edited(draft) else ''}"))
        return ShownDraft(f"{draft.skills[0].name}: {_ROLES[content.role]}", tuple(fields), tuple(self._notes(draft)))

    def write_out(self, draft: PromptDraft) -> str:
        """The content as JSON."""
        return write_json(draft.content)

    def edit(self, draft: PromptDraft, text: str) -> PromptDraft:
        """Take in an edited content. Raises UsageError where it is none."""
        if len(text) > _MOST_EDITED:
            raise UsageError("the edited text is too long")
        try:
            content = decode_record(text.encode("utf-8", "surrogatepass"), PromptContent)
        except ValueError as error:
            raise UsageError(f"the edited text is no request: {error}") from None
        notes = self._rules(draft).notes(content)
        return edit_prompt(self._collection.root, draft, content, notes)

    def find_fault(self, draft: PromptDraft) -> str:
        """Which rule the request does not keep."""
        fault = self._rules(draft).find_fault(draft.content, draft.origin.by == "transcript")
        return fault.message if fault else ""

    def accept(self, draft: PromptDraft) -> PromptDraft:
        """Write it into the registry."""
        if fault := self.find_fault(draft):
            raise UsageError(f"it cannot be accepted as it is: {fault}; edit or reject it")
        return accept_prompt(self._collection.root, self._registry, draft, self._now())

    def reject(self, draft: PromptDraft, reason: str) -> PromptDraft:
        """Keep it with the reason."""
        return reject_prompt(self._collection.root, self._registry, draft, self._now(), reason)

    def _stored(self) -> tuple[PromptDraft, ...]:
        return read_drafts(self._collection.root, PromptDraft).drafts

    def _is_wanted(self, draft: PromptDraft) -> bool:
        return bool(draft.skills) and (not self._skills or draft.skills[0].name in self._skills)

    def _rules(self, draft: PromptDraft) -> PromptRules:
        others = [to_prompt(each) for each in self._stored() if each.id != draft.id and each.state == "accepted"]
        labelled = [prompt for prompt in self._collection.prompts if prompt.prompt_id != draft.id]
        return PromptRules(self._collection, self._skill(draft), KnownPrompts([*labelled, *others]))

    def _skill(self, draft: PromptDraft) -> ListedSkill:
        name = draft.skills[0].name
        return self._collection.by_name.get(name) or ListedSkill(name, "")

    def _notes(self, draft: PromptDraft) -> Iterator[str]:
        yield from draft.notes
        for made in draft.skills:
            known = self._collection.by_name.get(made.name)
            if known is None:
                yield f"no listed skill is called {made.name} any more"
            elif self._collection.stamp(known).digest != made.digest:
                yield f"{made.name} has changed since this was drafted"

    def _hidden(self) -> Iterator[str]:
        if labelled := self._collection.prompts:
            where = labelled[0].source.rpartition(":")[0]
            yield (
                f"{len(labelled)} labelled prompts stand in {where} and elsewhere: once {here(self._registry)} is there, "
                "commands read only that; `skill-health router prompts --write-split` writes them into one file"
            )
