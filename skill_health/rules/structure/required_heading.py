"""A section that the profile requires is missing.

## What
The profile in use names level-2 headings that every skill must have, and this one has no such heading. The title must
match exactly; its place does not matter. The default profile `standard` requires none, so nothing is reported with
it; `plan` requires six.

## Why
Readers and tools of a collection with a house style look for a section by its name. With such a profile the score flags
the skill, too.

## Bad
```markdown
Pitfalls
--------
- The API counts pages from 0.
```

## Good
```markdown
Gotchas
-------
- The API counts pages from 0.
```

## Fix
Add the section, or rename the one that plays its part.

## Source
opinion · Benchmark Architecture Plan, stage 1, "required_sections" (2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "ST003"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each heading that the profile requires and the skill lacks."""
    name = context.config.profile
    # The default profile requires no heading; reading it would cost every run of a hook some milliseconds.
    if name == "standard" or not skill.lines:
        return
    headings = _required(name, context)
    there = {heading.title for heading in skill.body.headings if heading.level == 2}
    at = Span(min(skill.body.first_line, len(skill.lines)), 1)
    for title in headings:
        if title not in there:
            message = f"no section '## {title}', which the profile '{name}' requires"
            yield Hit(at, message, "Add it, or rename the one that plays its part.")


def _required(name: str, context: Context) -> tuple[str, ...]:
    from skill_health.profiles import COMPAT, load_profile, parse_profile

    if not name.endswith(".toml"):
        return load_profile("plan" if name == COMPAT else name).headings
    # Read through the context, so that a change to the file invalidates the cached result.
    text = context.read(name)
    return parse_profile(text, name).headings if text is not None else ()
