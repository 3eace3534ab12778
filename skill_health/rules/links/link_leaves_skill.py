"""Link leaves the skill: a link leads to a file outside the skill's own folder.

## What
Relative links and images of SKILL.md that lead out of the skill's folder to something that exists and belongs to no
skill, once per target. Links into other skills (`../other/SKILL.md`, `../other/references/steps.md`) are left alone:
they hand off to another skill and are not material of this one.

## Why
A skill is copied, packaged and installed as one folder. What is outside stays behind, and the link breaks although
nobody changed it.

## Bad
```markdown
Follow [the house rules](../../shared/rules.md).
```

## Good
```markdown
Follow [the house rules](references/rules.md).
```

## Fix
Copy the file into `references/`, or ignore this rule where the collection is only ever installed as a whole. Not
fixed automatically.

## Source
SHOULD · Agent Skills specification, "Directory structure" and "File references", agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._mentions import followed_links
from skill_health.rules.links._targets import span_of
from skill_health.skill.model import Skill

CODE = "LI007"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each outside target once, where it is first linked to."""
    seen: set[str] = set()
    for link, target, place, other in followed_links(skill, context):
        if place.state != "ok" or place.inside or other or target.path in seen:
            continue
        seen.add(target.path)
        if not _in_a_skill(place.path, context):
            yield Hit(
                span_of(link),
                f"link to {target.path} leaves the skill; it breaks where the skill is installed alone",
                "copy what is needed into references/ and link to that",
            )


def _in_a_skill(path: str, context: Context) -> bool:
    """Whether a path, relative to the root, is or lies below the folder of a skill."""
    while path and path.rpartition("/")[2] != "..":
        if context.exists(f"{path}/SKILL.md"):
            return True
        path = path.rpartition("/")[0]
    return not path and context.exists("SKILL.md")
