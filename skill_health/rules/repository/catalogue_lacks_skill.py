"""A list of the skills lacks one

## What
Lists and tables in README.md files outside of the skills that name at least five skills of one folder and nearly all
of them: skills of that folder that the file mentions nowhere. "Nearly all" means that at most one in ten is missing,
or one of five to nine. Reported once per file and folder.

## Why
Readers choose from the list. A skill that was added later is not found.

## Bad
```markdown
| [notes](skills/notes) | ... |     (and no row for the new skill skills/mail)
```

## Good
```markdown
| [notes](skills/notes) | ... |
| [mail](skills/mail) | ... |
```

## Fix
Add the skill to the list. There is no automatic fix.

## Source
opinion · practice of public collections, whose READMEs list their skills (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename

from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._catalogue import CatalogueRow, find_catalogues
from skill_health.rules.repository._repository import Repository, above
from skill_health.skill.model import Span

CODE = "RP029"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_FEWEST = 5


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report the skills that a list lacks."""
    listed: dict[tuple[str, str], set[str]] = {}
    places: dict[tuple[str, str], CatalogueRow] = {}
    for catalogue in find_catalogues(repository):
        for skill in catalogue.known:
            listed.setdefault((catalogue.path, above(skill, 1)), set()).add(skill)
            places.setdefault((catalogue.path, above(skill, 1)), catalogue.rows[0])
    for (path, home), known in listed.items():
        every = {skill for skill in repository.skills if above(skill, 1) == home}
        text = repository.context.read(path) or ""
        lacking = sorted(skill for skill in every - known if not _is_mentioned(basename(skill), text))
        if len(known) >= max(_FEWEST, 0.75 * len(every)) and 0 < len(lacking) <= max(1, len(every) // 10):
            row = places[path, home]
            names = " and ".join(map(basename, lacking)) if len(lacking) < 3 else ", ".join(map(basename, lacking))
            message = (
                f"this list names {len(known)} of the {len(every)} skills in {home or 'the root'}, and not {names}"
            )
            yield Hit(Span(row.line, row.col), message, "add what is missing", path)


def _is_mentioned(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.I) is not None
