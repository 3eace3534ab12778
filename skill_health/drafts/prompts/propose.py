"""Proposed requests -> drafts: validated, put into families, split before anybody reads them, and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import structs

from skill_health.documents._draft import DraftOrigin
from skill_health.documents.prompt_draft import PromptContent, PromptDraft
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.prompts.validate import KnownPrompts, PromptFault, PromptRules
from skill_health.drafts.registry import to_prompt
from skill_health.drafts.store import (
    SEALED_SHARE,
    add_drafts,
    digest_content,
    format_time,
    name_draft,
    read_drafts,
    settle_draft,
)
from skill_health.router.records import ListedSkill, Prompt
from skill_health.router.splits import TEST, TRAIN, assign, with_families

ALIKE = 0.5
"""The cosine of words from which two requests are of one family, and never on both sides of the split."""
_SHARES = {TRAIN: 1 - SEALED_SHARE, TEST: SEALED_SHARE}


@dataclass(frozen=True, slots=True)
class ProposedPrompt:
    """A request for a skill, as something made it. `fault` is what a second model found, if it was asked.

    `family` is what requests of the same passage share. A `spare` one is wanted only as long as there are too few of
    its skill and role, and is forgotten where it is nearly the same as another: templates have more of them.
    """

    skill: ListedSkill
    content: PromptContent
    origin: DraftOrigin
    family: str = ""
    fault: PromptFault | None = None
    spare: bool = False


@dataclass(frozen=True, slots=True)
class WrittenDrafts:
    """What came of proposals: the drafts that are new, and how many were there already."""

    drafts: tuple[PromptDraft, ...]
    known: int
    problems: tuple[str, ...] = ()


def build_drafts(
    collection: DraftingCollection,
    proposed: Sequence[ProposedPrompt],
    stored: Sequence[PromptDraft],
    seed: int,
    time: datetime,
    most: int,
    intent: str = "",
) -> list[PromptDraft]:
    """The drafts of proposals that are not stored yet, each once, in their order; those at fault are rejected.

    A request that is nearly the same as one that is labelled, drafted or proposed before it is at fault. Of spare ones
    each skill and role gets so many that there are `most`, stored ones included.
    """
    known = {draft.id for draft in stored}
    alive = [draft for draft in stored if draft.state != "rejected"]
    counts = Counter((draft.skills[0].name, draft.content.role) for draft in alive if draft.skills)
    texts = KnownPrompts([*collection.prompts, *map(to_prompt, alive)])
    made: list[PromptDraft] = []
    for each in proposed:
        draft = _draft(collection, each, time)
        place = (each.skill.name, each.content.role)
        if draft.id in known or (each.spare and counts[place] >= most):
            continue
        rules = PromptRules(collection, each.skill, texts, intent)
        fault = rules.find_fault(each.content, each.origin.by == "transcript")
        if each.spare and fault and fault.code == "near_duplicate":
            continue
        known.add(draft.id)
        if fault:
            draft = settle_draft(draft, "rejected", "validation", time, fault.message, fault.code)
        elif each.fault:
            draft = settle_draft(draft, "rejected", "model", time, each.fault.message, each.fault.code)
        else:
            draft = structs.replace(draft, notes=rules.notes(each.content))
            texts.add(draft.id, draft.content.text)
            counts[place] += 1
        made.append(draft)
    return _split(collection.prompts, stored, made, seed)


def write_proposals(
    collection: DraftingCollection,
    proposed: Sequence[ProposedPrompt],
    seed: int,
    time: datetime,
    most: int,
    intent: str = "",
) -> WrittenDrafts:
    """Build the drafts of proposals and write those that are new. Raises as `add_drafts`."""
    stored = read_drafts(collection.root, PromptDraft)
    made = build_drafts(collection, proposed, stored.drafts, seed, time, most, intent)
    written = add_drafts(collection.root, made)
    return WrittenDrafts(written, len(proposed) - len(written), stored.problems)


def _draft(collection: DraftingCollection, each: ProposedPrompt, time: datetime) -> PromptDraft:
    names = dict.fromkeys([each.skill.name, *filter(None, [each.content.expected])])
    about = [collection.by_name[name] for name in names if name in collection.by_name]
    return PromptDraft(
        version=1,
        kind="prompt",
        id=name_draft(each.skill.name, each.content),
        state="proposed",
        skills=tuple(map(collection.stamp, about)),
        origin=each.origin,
        created=format_time(time),
        generated=digest_content(each.content),
        split="train",
        family=each.family,
        content=each.content,
    )


def _split(
    labelled: Iterable[Prompt], stored: Iterable[PromptDraft], made: Sequence[PromptDraft], seed: int
) -> list[PromptDraft]:
    """The drafts with their splits: beside what is labelled and drafted already, which keeps its own."""
    before = [*labelled, *map(to_prompt, stored)]
    fresh = [structs.replace(to_prompt(draft), split="") for draft in made]
    ids = {draft.id for draft in made}
    unique = {prompt.prompt_id: prompt for prompt in (*before, *fresh)}
    settled = assign(with_families(list(unique.values()), ALIKE), seed, _SHARES)
    splits = {prompt.prompt_id: prompt.split for prompt in settled if prompt.prompt_id in ids}
    families = {prompt.prompt_id: prompt.family for prompt in settled}
    # A split of the collection's own, such as validation, is for tuning, too.
    return [
        structs.replace(
            draft,
            split="test" if splits[draft.id] == TEST else "train",
            family="" if families[draft.id] == draft.id else families[draft.id],
        )
        for draft in made
    ]
