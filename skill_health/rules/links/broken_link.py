"""Broken link: a relative link or image leads to a file that does not exist.

## What
Relative links and images of SKILL.md whose file or folder does not exist or is outside the repository, where nobody
else has it, once per target. Targets are percent-decoded, and a query or fragment is dropped. Left alone: patterns
and made-up names (`<name>.md`, `path/to/file.md`, `[text](url)`), words that do not look like a file, examples (in
quotation marks, or beside a gap to fill in such as `[Description]`), files said to be planned or optional, skills in a
folder called `templates`, `testdata` or `fixtures`, and links to other skills (LI011 reports those).

## Why
An agent follows the link, fails to read the file and goes on without the knowledge, or spends turns on searching.

## Bad
```markdown
For forms, read [the guide](references/from.md).
```

## Good
```markdown
For forms, read [the guide](references/form.md).
```

## Fix
Correct the path, add the file or remove the link. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "File references": relative paths from the skill root, agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._anchors import anchors_checked
from skill_health.rules.links._intent import broken_links, broken_paths
from skill_health.rules.links._mentions import followed_links, path_mentions
from skill_health.rules.links._suggest import GUESSES, remedy
from skill_health.rules.links._targets import name_absence, span_of
from skill_health.skill.model import Link, Skill


def census(skill: Skill, context: Context) -> dict[str, int]:
    """Count links, images, anchors and bundled paths of SKILL.md: `total` checkable, `broken` among them.

    A link to `file.md#heading` counts twice, once for the file and, if that exists, once for the heading.
    """
    total, lost = anchors_checked(skill, context)
    broken = len(lost)
    bad = len(broken_links(skill, context)) + len(broken_paths(skill, context))
    found = [entry.place.state for entry in followed_links(skill, context)]
    found += [mention.state for mention in path_mentions(skill, context)]
    spelled = found.count("spelled")
    return {"total": total + found.count("ok") + spelled + bad, "broken": broken + spelled + bad}


CODE = "LI001"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def collect(skill: Skill, context: Context) -> dict[str, int]:
    """How many internal references of the skill can be checked, and how many of them are broken."""
    return census(skill, context)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing file once, where it is first linked to."""
    missing: dict[str, list[Link]] = {}
    wrong: dict[str, str] = {}
    for entry in broken_links(skill, context):
        if not entry.skill:
            missing.setdefault(entry.target.path, []).append(entry.link)
            wrong[entry.target.path] = name_absence(entry.place.path, context)
    for nth, (path, links) in enumerate(missing.items()):
        what = "image" if links[0].kind == "image" else "link"
        again = f" ({len(links)} times in this file)" if len(links) > 1 else ""
        help_line = remedy(path, skill, context, guess=nth < GUESSES)
        yield Hit(span_of(links[0]), f"{what} to {path}, which {wrong[path]}{again}", help_line)
