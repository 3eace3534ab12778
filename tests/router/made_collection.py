"""A collection whose skills each sort one kind of thing, labelled prompts about them, and what a run of it left."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from loopback import ranking

from skill_health.router.instrument.planted import NAME

Write = Callable[[Mapping[str, str]], Path]
"""What the fixture `write` is."""
TOPICS = ("invoices", "maps", "recipes")
NULL = {"prompt_id": "p8", "prompt": "hello", "expected_primary_skill": None}


def labelled(
    count: int, topics: Sequence[str] = TOPICS, nulls: Collection[int] = (), digits: int = 1, **more: str
) -> list[dict[str, Any]]:
    """Prompts about the topics in turn; those of the numbers `nulls` expect no skill."""
    return [
        {
            "prompt_id": f"p{n:0{digits}}", "prompt": f"sort my {topics[n % len(topics)]} please, number {n}",
            "expected_primary_skill": None if n in nulls else f"{topics[n % len(topics)]}-work",
            "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "It is about them.", **more,
        }
        for n in range(count)
    ]  # fmt: skip


SPLIT = [*labelled(2, split="train"), *labelled(6, nulls=(5,), split="test")[2:]]
"""Six prompts, two of them to train on, and one that no skill is for."""


def md(name: str, description: str = "Does it.") -> str:
    """A whole SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n"


def skill_files(topics: Sequence[str] = TOPICS) -> dict[str, str]:
    """The path and the text of the skill of each topic."""
    text = "---\nname: {0}-work\ndescription: Sorts {0}. Use when {0} are in a mess.\n---\n# Work\n\nSort.\n"
    return {f"skills/{topic}-work/SKILL.md": text.format(topic) for topic in topics}


def write_collection(root: Path, prompts: Sequence[dict[str, Any]], topics: Sequence[str] = TOPICS) -> Path:
    """Write the skills, the prompts and empty settings, and return the root."""
    lines = "".join(json.dumps(prompt) + "\n" for prompt in prompts)
    for name, text in {**skill_files(topics), "prompts.jsonl": lines, "skill-health.toml": ""}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def answer_rightly(text: str, topics: Sequence[str] = TOPICS, **more: Any) -> str:
    """The answer that any sensible model gives to a question of this text."""
    request = text.rpartition("<<<REQUEST")[2]
    found = [f"{topic}-work" for topic in topics if topic in request]
    return ranking(*(found or ([NAME] if "quaffle" in request else ["none"])), **more)


def the_run(reports: Path) -> Path:
    """The folder of the only run below a folder of reports."""
    (folder,) = (reports / "router").iterdir()
    return folder
