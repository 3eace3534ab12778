"""The description names hardly anything in particular.

## What
The description has fewer than eight words, or neither says when to use the skill nor names three particular things:
file types, products, quoted words, numbers. Opt-in.

## Why
Agents choose a skill by its description alone, at the first look.

## Bad
```yaml
description: Helps with documents. Use when working with documents.
```

## Good
```yaml
description: Fill, merge and split PDF forms (.pdf, AcroForm, XFA) with pypdf. Use when a PDF is to be filled in.
```

## Fix
Name the files, products and operations that requests will name.

## Source
evidence · SkillsBench, appendix F.4 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_specifics
from skill_health.skill.model import Skill

CODE = "AU005"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report its absence."""
    field = skill.field("description")
    if field and skill.description and find_specifics(skill) is None:
        yield Hit(
            field.span,
            "the description names hardly anything in particular",
            "Name the files, products and operations that requests will name.",
        )
