"""Broken link in a bundled file: a link of a reference file leads nowhere.

## What
Relative links, images (also as `<img src>`) and anchors in the Markdown files bundled with the skill, whose file does
not exist or has no such heading, and paths in inline code below `references`, `scripts`, `assets` or `resources` that
the words say to read or run; once per file. A target that exists relative to the skill's own folder is accepted, as the
specification asks for that; a path, relative to any folder above. Left alone: templates, examples, tests and expected
outputs, whose links are resolved elsewhere, files called README, CHANGELOG and the like, and paths in code that LI003
leaves alone.

## Why
References are read in the middle of a task; a broken link costs turns or knowledge there just as in SKILL.md.

## Bad
```markdown
<!-- references/api.md -->
See [errors](eror-codes.md).
```

## Good
```markdown
<!-- references/api.md -->
See [errors](error-codes.md).
```

## Fix
Correct the target, add the file or remove the link. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "File references": relative paths from the skill root, agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._anchors import nearest
from skill_health.rules.links._bundle import broken_links, markdown_files
from skill_health.rules.links._suggest import remedy
from skill_health.skill.model import Skill, Span

CODE = "LI005"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

NAMED = 3
"""How many targets a finding names besides the first."""


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each file with such links once, at the first of them."""
    for file in markdown_files(skill):
        full = skill.path_of(file)
        broken = broken_links(file, full, skill, context)
        if not broken:
            continue
        first = broken[0]
        span = Span(first.line, first.col, first.line, first.col + len(first.target))
        if first.anchors is None:
            problem = f"link to {first.path}, which does not exist"
            help_line = remedy(first.path, skill, context, file.rpartition("/")[0])
        else:
            problem = f"no heading in {first.path or 'this file'} has the anchor #{first.fragment}"
            meant = nearest(first.fragment, first.anchors)
            help_line = f"did you mean #{meant}?" if meant else "link to an existing heading, or drop the anchor"
        if len(broken) > 1:
            others = ", ".join(other.target for other in broken[1 : NAMED + 1])
            problem += f"; {len(broken) - 1} more of this file's targets lead nowhere"
            help_line += f"; then see to {others}" + (" and the rest" if len(broken) > NAMED + 1 else "")
        yield Hit(span, problem, help_line, full)
