"""Broken path: the text names a bundled file that does not exist.

## What
Paths in plain words and in inline code, alone or in a command (`python scripts/check.py --all`), that end in a known
extension and exist neither in the skill, nor in a folder above it, nor in a skill named beside them. They begin with
`scripts`, `references`, `assets`, another folder of this skill, a variable for it (`{baseDir}`, `<skill-path>`), its
place among others (`skills/NAME/...`), the way to another skill (`../tables/scripts/read.py`), or, where the words
say to read or run the file, a folder that skills often have (`resources`, `examples`, `templates`). A name in another
folder or in none counts if the words call it a guide ("see forms.md for the full list"), say "the x.py script", or if
it is listed in a section such as Scripts or Files, and no file of that name is anywhere in the skill.

Left alone: patterns and made-up names (`<name>`, `{lang}`, `*`, `path/to/...`), examples, forms with gaps, quotations,
files that the last verb before them, the command (`--out x.json`) or the line that introduces the list ("Create ...:")
makes, files that need not be there ("if it exists", "planned"), those of the user's project, of another skill or of a
repository that the skill clones, and skills in a folder called `templates`, `testdata` or `fixtures`. In a skill about
making skills, only what it orders to read or run counts. A file that only the main skill of the same plugin has is
information.

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
from skill_health.rules.links._intent import broken_paths
from skill_health.rules.links._suggest import GUESSES, remedy
from skill_health.skill.model import Skill

CODE = "LI003"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing path once, where it first occurs as a bundled file."""
    for nth, found in enumerate(broken_paths(skill, context)):
        if found.state == "elsewhere":
            message = f"{found.path} is not in this skill but in the skill that the plugin is named after"
            yield Hit(found.span, message, f"write {found.actual}", severity=Severity.INFO)
        else:
            where = "" if found.path.startswith("..") else " in this skill"
            help_line = remedy(found.path, skill, context, guess=nth < GUESSES)
            yield Hit(found.span, f"{found.path} does not exist{where}", help_line)
