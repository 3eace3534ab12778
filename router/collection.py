"""The skills that were found, parsed."""

from __future__ import annotations

import os

from skill_health.check import load_skill
from skill_health.core.corpus import Discovery
from skill_health.core.files import read_bytes
from skill_health.core.skill import Skill


def read_skills(discovery: Discovery) -> list[Skill]:
    """Read every skill of a collection, in the order of their paths. Never raises on bad content."""
    found = []
    for entry in discovery.entries:
        full = os.path.join(discovery.root, entry.path)
        data, problem = (b"", entry.problem) if entry.problem else read_bytes(full)
        found.append(load_skill(entry, data, problem))
    return found
