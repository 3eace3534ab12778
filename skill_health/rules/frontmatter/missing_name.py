"""The skill has no name.

## What
`name` is absent, empty, or not text: YAML reads `123` as a number, `on` as a boolean and `2026-01-01` as a date.

## Why
The name is how a host lists the skill and how a user calls it. The specification requires it. Some hosts fall back
to the folder's name; VS Code did not list such a skill until 2026, and Codex rejects a name that is not text.

## Bad
```markdown
---
name: 404
description: Finds dead links. Use when a site is about to be published.
---
```

## Good
```markdown
---
name: "404"
description: Finds dead links. Use when a site is about to be published.
---
```

## Fix
Write the name of the folder. `--fix` quotes a value that YAML does not read as text (safe); an absent name is filled in
from the folder (unsafe, since the two may be meant to differ).

## Source
MUST · Agent Skills specification, "name field", agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._names import problems, spelling
from skill_health.rules.frontmatter._shared import TAG_WORDS, quote_value, quoting, readable, spelled
from skill_health.skill.model import Skill, Span

CODE = "FM011"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.NO_NAME, Fault.EMPTY_NAME, Fault.NAME_NOT_TEXT, Fault.DATE_NAME)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a name that is absent, blank or not text."""
    matter = readable(skill)
    if matter is None:
        return
    field = matter.get("name")
    wanted = f"Write name: {skill.folder_name}." if not problems(skill.folder_name) else "Write the name of the folder."
    if field is None:
        # A misspelled key has its own finding, with the better remedy.
        if not any(entry.key.strip().lower() == "name" for entry in matter.fields):
            yield Hit(matter.span, "the frontmatter has no name", wanted, fix=_addition(skill))
    elif field.tag == "null" or (field.tag == "str" and not str(field.value).strip()):
        yield Hit(field.key_span, "the name is empty", wanted)
    elif field.tag != "str":
        text = spelled(skill, field.span) or str(field.value)
        message = f"the name is {TAG_WORDS.get(field.tag, 'not text')} to YAML, not text: {quote_value(text)}"
        yield Hit(field.span, message, "Quote the name.", fix=quoting(skill, field))


def _addition(skill: Skill) -> Fix | None:
    if problems(skill.folder_name) or skill.frontmatter is None:
        return None
    line = skill.frontmatter.span.line
    return Fix("add the folder's name", (Edit(Span(line, 1, line, 1), f"name: {spelling(skill.folder_name)}\n"),))
