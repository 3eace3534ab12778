"""A long reference file has no table of contents.

## What
A bundled Markdown file for reading on demand has more lines than `limits.reference-lines` (300) and at least four
headings, and its first 60 lines contain no table of contents: no heading or label "Contents", and no list of three
links to its own headings. Assets, templates, examples, scripts and the like are left alone, and so are README,
CHANGELOG and LICENSE.

## Why
Agents preview long files by their first lines. Without a table of contents they read the wrong part, or all of it.

## Bad
```markdown
# API reference
### Authentication
(600 lines in eleven sections)
```

## Good
```markdown
# API reference
### Contents
- [Authentication](#authentication)
- [Paging](#paging)
- [Errors](#errors)
```

## Fix
List the sections at the top, or split the file by task.

## Source
SHOULD · Claude documentation, "Skill authoring best practices", section "Structure longer reference files with table
of contents" (from 100 lines on), platform.claude.com (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.structure._references import reference_files
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "ST011"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False
_HEAD = 60
_HEADINGS = 4
_ANCHORS = 3
_TITLE = lazy(
    r"^[#*_\s>-]{0,8}(?:table of )?(?:contents|toc|in this (?:file|document|reference|guide)|sections|index"
    r"|quick navigation|navigation)\b[\s:*_]{0,6}$",
    re.IGNORECASE | re.MULTILINE,
)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each long reference file without a table of contents."""
    limit = context.config.limits.reference_lines
    for name in reference_files(skill):
        path = skill.path_of(name)
        text = context.read(path) or ""
        count = text.count("\n") + (text[-1:] not in ("", "\n"))
        if count <= limit or text.count("\n#") < _HEADINGS:
            continue
        head = "\n".join(text.split("\n", _HEAD)[:_HEAD])
        if head.count("](#") < _ANCHORS and not _TITLE.search(head):
            message = f"{count:,} lines without a table of contents, the limit is {limit:,}"
            yield Hit(Span(1, 1), message, "List its sections at the top, or split it by task.", path=path)
