"""Broken anchor: a `#fragment` names no heading of the file it points into.

## What
Links to `#heading` in SKILL.md itself and links from it to `other.md#heading`, once per target. An anchor is the slug
that GitHub makes of a heading (lower case, punctuation dropped, spaces to hyphens, repeated ones numbered `-1`, `-2`),
or an explicit `<a id="...">` or `{#...}`. Left alone: letter case, `#top`, line numbers (`#L10`) and files that are
not Markdown.

## Why
The reader lands at the top of a long file instead of the intended section; usually a heading was renamed.

## Bad
```markdown
See [setup](#installation).

### Set up
```

## Good
```markdown
See [setup](#set-up).

### Set up
```

## Fix
Use the anchor that the message names. Not fixed automatically.

## Source
evidence · GitHub's rule for section links, docs.github.com, "Basic writing and formatting syntax" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._anchors import BrokenAnchor, anchors_checked, nearest
from skill_health.rules.links._suggest import GUESSES
from skill_health.rules.links._targets import span_of
from skill_health.skill.model import Skill

CODE = "LI002"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each fragment that names no heading, once, at its first link, with the number of links."""
    groups: dict[tuple[str, str], list[BrokenAnchor]] = {}
    for broken in anchors_checked(skill, context)[1]:
        file = normpath(broken.file) if broken.file else ""
        groups.setdefault((file, broken.fragment.lower()), []).append(broken)
    for nth, (first, *others) in enumerate(groups.values()):
        meant = nearest(first.fragment, first.anchors) if nth < GUESSES else ""
        again = f" ({len(others) + 1} links in this file)" if others else ""
        yield Hit(
            span_of(first.link),
            f"no heading in {first.file or 'this file'} has the anchor #{first.fragment}{again}",
            f"did you mean #{meant}?" if meant else "link to an existing heading, or to the file without an anchor",
        )
