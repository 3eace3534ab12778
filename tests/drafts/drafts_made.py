"""Drafts for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

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
        version=1, kind="prompt", id=name_draft("pdf", made), state="proposed", created=CREATED, content=made,
        skills=(DraftedSkill(name="pdf", path="skills/pdf/SKILL.md", digest="0" * 32),),
        origin=DraftOrigin(by="template", template="please"), generated=digest_content(made),
        split=split,  # type: ignore[arg-type]
    )  # fmt: skip


def merging(text: str, **more: Any) -> PromptDraft:
    """A draft for the skill merge-pages."""
    return replace(draft(text, expected="merge-pages", **more), skills=(MERGING,))


def registry(root: Path) -> list[dict[str, Any]]:
    """The prompts that were accepted."""
    path = root / "registries" / "prompts.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


MERGING = DraftedSkill(name="merge-pages", path="skills/merge-pages/SKILL.md", digest="0" * 32)
SKILLS = {
    "merge-pages": (
        "Merges scanned pages into one document and rotates them. Use when the user wants to join scans, rotate "
        "scanned pages, or extract images from a PDF.",
        "# Merge pages\n\n## When to use\n\n- Joining several loose scans of a ledger\n\n## Steps\n\nOpen each scan and append it.\n",
    ),
    "fill-forms": (
        "Fills in forms and validates their fields. Use when filling tax forms, signing contracts, or checking "
        "which form fields are mandatory.",
        "# Fill forms\n\nFind the fields of the form. Fill in each of them.\n",
    ),
    "chart-sheets": (
        "Draws charts from spreadsheets. Use when plotting monthly sales, comparing columns of a spreadsheet, or "
        "building pivot tables.",
        "# Chart sheets\n\nRead the sheet. Choose a chart for its columns.\n",
    ),
    "triage-logs": (
        "Finds the cause of failures in server logs. Use when investigating stack traces, grouping log errors, or "
        "tracing slow requests.",
        "# Triage logs\n\nGroup the errors of the log. Follow the first one.\n",
    ),
}
KEY_ENV, KEY = "LOOPBACK_KEY", "sk-test-SECRET0123456789abcdef"


def collection(root: Path, url: str = "", skills: Mapping[str, tuple[str, str]] = SKILLS, price: float = 10.0) -> Path:
    """A collection with settings; with a URL, `writer` and `checker` are providers there."""
    for name, (description, body) in skills.items():
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}", "utf-8")
    lines = []
    for name in ("writer", "checker") if url else ():
        lines += [
            f"[router.providers.{name}]", 'protocol = "openai"', f'base-url = "{url}"', f'key-env = "{KEY_ENV}"',
            f'[router.prices."{name}:m"]', f"input = {price}", f"output = {price}",
        ]  # fmt: skip
    (root / "skill-health.toml").write_text("\n".join(lines), "utf-8")
    return root


def answered(*rows: tuple[str, str, str]) -> str:
    """The answer of a model that writes these prompts: role, text, expected."""
    prompts = [{"role": role, "text": text, "expected": expected, "reason": "it fits"} for role, text, expected in rows]
    return json.dumps({"prompts": prompts})


def checked(*rows: tuple[str, bool]) -> str:
    """The answer of a model that checks prompts: what it would pick, and whether it finds it ambiguous."""
    found = [
        {"number": number, "skill": skill, "ambiguous": ambiguous, "why": "so"}
        for number, (skill, ambiguous) in enumerate(rows, 1)
    ]
    return json.dumps({"answers": found})
