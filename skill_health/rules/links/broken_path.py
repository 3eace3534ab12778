"""Broken path: inline code names a bundled file that does not exist.

## What
Paths in inline code, alone or in a command (`python scripts/check.py --all`), whose first folder is `scripts`,
`references`, `assets` or another folder of this skill, that end in a known extension, and that exist neither in the
skill, nor in a folder above it, nor in a sibling skill named beside them. Left alone: patterns and made-up names
(`<name>`, `{lang}`, `*`, `$VAR`, `path/to/...`), files that the sentence, or the line that introduces the list ("Create
...:", "Split it into:"), tells the agent to create, files of the user's project or of another skill, and skills in a
folder called `templates`. A file that only the main skill of the same plugin has is information.

## Why
The agent tries to read or run the file, fails, and improvises what the script or reference should have provided.

## Bad
```markdown
Run `python scripts/chek.py` before you commit.
```

## Good
```markdown
Run `python scripts/check.py` before you commit.
```

## Fix
Correct the path, add the file or remove the mention. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "File references": relative paths from the skill root, agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._intent import means_bundled
from skill_health.rules.links._paths import bundled_paths, span_in_code
from skill_health.rules.links._suggest import GUESSES, remedy
from skill_health.skill.model import Skill

CODE = "LI003"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing path once, where it first occurs as a bundled file."""
    seen: set[str] = set()
    for found in bundled_paths(skill, context):
        if found.state not in ("missing", "elsewhere") or found.path in seen:
            continue
        if not means_bundled(found, skill, context):
            continue
        seen.add(found.path)
        span = span_in_code(found, skill)
        if found.state == "elsewhere":
            message = f"{found.path} is not in this skill but in the skill that the plugin is named after"
            yield Hit(span, message, f"write {found.actual}", severity=Severity.INFO)
        else:
            help_line = remedy(found.path, skill, context, guess=len(seen) < GUESSES)
            yield Hit(span, f"{found.path} does not exist in this skill", help_line)
