"""Drafts for tests."""

from __future__ import annotations

from typing import Any

from skill_health.documents._draft import DraftedSkill, DraftOrigin
from skill_health.documents.prompt_draft import PromptContent, PromptDraft
from skill_health.drafts.store import digest_content, name_draft

CREATED = "2026-11-25T08:00:00Z"


def content(text: str = "merge these two scans into one file", **more: Any) -> PromptContent:
    values: dict[str, Any] = {"role": "positive", "expected": "pdf", "reason": "It asks for a merged file."}
    return PromptContent(text=text, **(values | more))


def draft(text: str = "merge these two scans into one file", split: str = "train", **more: Any) -> PromptDraft:
    made = content(text, **more)
    return PromptDraft(
        version=1,
        kind="prompt",
        id=name_draft("pdf", made),
        state="proposed",
        skills=(DraftedSkill(name="pdf", path="skills/pdf/SKILL.md", digest="0" * 32),),
        origin=DraftOrigin(by="template", template="please"),
        created=CREATED,
        generated=digest_content(made),
        split=split,  # type: ignore[arg-type]
        content=made,
    )
