"""The name has characters or a length that a skill's name may not have.

## What
The name is longer than 64 characters, is not in lower case, contains anything but letters, digits and hyphens, starts
or ends with a hyphen, or has two in a row. Letters of other scripts are accepted after Unicode normalisation (NFKC), as
in the reference validator, and reported as information: the specification's text allows a-z only. A placeholder such as
`SKILL_NAME` is accepted below a folder `templates`, and is information below any other folder with that word in its
name.

## Why
The name becomes a command, a folder and an identifier. Hosts refuse a name that does not fit (Codex beyond 64
characters, Claude's upload on every other character) or list a skill that cannot be called by its name.

## Bad
```markdown
---
name: Release Notes
description: Writes release notes. Use when a version is about to be published.
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
---
```

## Fix
Rename the skill. `--unsafe-fixes` writes the folder's name, or the nearest valid name; it is unsafe because users and
other skills may call the skill by its old name.

## Source
MUST · Agent Skills specification, "name field", agentskills.io (2026-11); for other scripts the reference validator
skills-ref 0.1.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._names import is_placeholder, normalised, problems, spelling, suggestion
from skill_health.rules.frontmatter._shared import below_templates, quote_value, readable
from skill_health.skill.model import Field, Skill

CODE = "FM012"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.LONG_NAME, Fault.NAME_CHARACTERS)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report everything that is wrong with the name in one finding."""
    field = skill.field("name")
    if field is None or field.tag != "str" or readable(skill) is None or not field.value.strip():
        return
    name = field.value
    found = problems(name)
    if found and is_placeholder(name) and below_templates(skill):
        return
    if found and is_placeholder(name) and "template" in skill.folder.lower():
        message = f"the name '{quote_value(name)}' is a placeholder of a template"
        yield Hit(field.span, message, "Exclude the template's folder from the check.", severity=Severity.INFO)
    elif found:
        better = suggestion(skill.folder_name) if not problems(skill.folder_name) else suggestion(name)
        wanted = "Use lower-case letters, digits and single hyphens, at most 64 characters"
        hint = f"{wanted}: {better}." if better else f"{wanted}."
        message = f"the name '{quote_value(name)}' {' and '.join(found)}"
        yield Hit(field.span, message, hint, fix=_renaming(field, better))
    elif not normalised(name).isascii():
        message = f"the name '{quote_value(name)}' holds letters beyond a-z, which not every host accepts"
        yield Hit(field.span, message, "Use a-z, 0-9 and hyphens.", severity=Severity.INFO)


def _renaming(field: Field, better: str) -> Fix | None:
    if not better or field.span.line != field.span.end_line:
        return None
    return Fix(f"name it {better}", (Edit(field.span, spelling(better, field.style)),))
