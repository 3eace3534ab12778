"""A small collection on disk, with prompts in the formats that a router reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SKILLS = ("apples", "bread", "cider", "dates", "eggs", "figs", "grapes")


def prompt_records() -> list[dict[str, Any]]:
    """Two prompts for each skill, each a near miss of the next one, and four for none."""
    found: list[dict[str, Any]] = []
    for name, other in zip(SKILLS, (*SKILLS[1:], SKILLS[0]), strict=True):
        for nth in range(2):
            found.append(
                {
                    "prompt_id": f"{name}-{nth}", "prompt": f"Please do the {name} for order number {nth} today.",
                    "expected_primary_skill": name, "acceptable_secondary_skills": [], "rejected_skills": [other],
                }
            )  # fmt: skip
    for nth in range(4):
        found.append(
            {
                "prompt_id": f"none-{nth}", "prompt": f"Tell me what hour it is in zone {nth}, please.",
                "expected_primary_skill": None, "acceptable_secondary_skills": [], "rejected_skills": [SKILLS[nth]],
            }
        )  # fmt: skip
    return found


def write_skills(root: Path, records: Iterable[Mapping[str, Any]] | None = None) -> Path:
    """The skills, and the prompts beside them."""
    for name in SKILLS:
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        body = "\n".join(f"Keep the {name} in the order of line {nth} of the list." for nth in range(4))
        about = f"Does the {name} of an order. Use when {name} are asked for."
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\n# Work\n\n{body}\n", "utf-8")
    (root / "registries").mkdir()
    lines = [json.dumps(record) for record in (prompt_records() if records is None else records)]
    (root / "registries" / "prompts.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (root / "skill-health.toml").write_text("", "utf-8")
    return root
