"""The Markdown files that a skill bundles for reading on demand."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.skill.model import Skill

# Files for people and hosts, not for the agent that works with the skill.
_OTHER = {"readme", "changelog", "license", "licence", "contributing", "notice", "security", "code_of_conduct"}
_FOLDERS = ("assets/", "templates/", "examples/", "evals/", "tests/", "scripts/", "agents/", "commands/")


def reference_files(skill: Skill) -> Iterator[str]:
    """The paths, relative to the skill's folder, of its reference files."""
    for path in skill.files:
        if path.endswith(".md") and not path.startswith(_FOLDERS):
            stem = path.rpartition("/")[2][:-3].lower()
            if stem not in _OTHER and stem != "skill":
                yield path
