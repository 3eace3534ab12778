"""How many of a skill's internal references can be checked, and how many of them are broken."""

from __future__ import annotations

from skill_health.rules._api import Context
from skill_health.rules.links._anchors import anchors_checked
from skill_health.rules.links._followed import followed
from skill_health.rules.links._intent import means_bundled
from skill_health.rules.links._paths import bundled_paths
from skill_health.skill.model import Skill


def census(skill: Skill, context: Context) -> dict[str, int]:
    """Count links, images, anchors and bundled paths of SKILL.md: `total` checkable, `broken` among them.

    A link to `file.md#heading` counts twice, once for the file and, where that exists, once for the heading.
    """
    total, lost = anchors_checked(skill, context)
    broken = len(lost)
    for entry in followed(skill, context):
        total += entry.place.state != "vague"
        broken += entry.place.state in ("missing", "spelled")
    for code in bundled_paths(skill, context):
        if code.state != "missing" or means_bundled(code, skill, context):
            total += 1
            broken += code.state != "ok"
    return {"total": total, "broken": broken}
