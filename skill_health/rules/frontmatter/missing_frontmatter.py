"""The file has no usable frontmatter.

## What
SKILL.md does not begin with a YAML block between two `---` lines: there is no block, it is never closed, it is empty,
it holds something other than `key: value` lines, or something precedes it. YAML that is present but broken is left to
`invalid-yaml` and `unquoted-colon`. Below a folder of samples (assets, examples, fixtures, tests, templates) and inside
another skill, whose text may lead there, this is information: no host need load it.

## Why
A host learns a skill's name and description from this block and from nothing else. Without it the skill is not listed,
and most hosts say nothing: 146 of 13,551 public skills are lost this way.

## Bad
```markdown
# Release notes

Writes release notes from the merged pull requests.
```

## Good
```markdown
---
name: release-notes
description: Writes release notes from merged pull requests. Use when a version is about to be published.
---
# Release notes
```

## Fix
Begin the file with the two fences and at least `name` and `description`. If only blank lines precede the first fence,
`--fix` removes them (safe).

## Source
MUST · Agent Skills specification, "Frontmatter", agentskills.io (2026-11); the reference validator skills-ref 0.1.1
refuses such a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._shared import below_samples, defects, remedy
from skill_health.skill.model import Skill, Span

CODE = "FM001"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.NO_FRONTMATTER, Fault.UNCLOSED_FRONTMATTER, Fault.EMPTY_FRONTMATTER, Fault.NO_MAPPING)
KINDS = {
    "no-frontmatter": "Begin the file with a line ---, then name and description, then another line ---.",
    "unclosed-frontmatter": "Close the block with a line that holds only ---.",
    "empty-frontmatter": "Write name and description between the two lines ---.",
    "not-a-mapping": "Write the block as lines of the form key: value.",
    "leading-text": "Move the block to the first line of the file.",
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a block that is missing, unclosed, empty or misplaced."""
    for defect in defects(skill, KINDS):
        severity = Severity.INFO if below_samples(skill) or _inside_another(skill, context) else None
        fix = _without_blank_head(skill) if defect.kind == "leading-text" else None
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), fix=fix, severity=severity)


def _inside_another(skill: Skill, context: Context) -> bool:
    above = skill.folder.rpartition("/")[0]
    while above:
        if context.exists(f"{above}/SKILL.md"):
            return True
        above = above.rpartition("/")[0]
    return False


def _without_blank_head(skill: Skill) -> Fix | None:
    fence = skill.frontmatter.span.line - 1 if skill.frontmatter else 1
    if any(line.strip() for line in skill.lines[: fence - 1]):
        return None
    return Fix("remove the blank lines before the frontmatter", (Edit(Span(1, 1, fence, 1), ""),), safe=True)
