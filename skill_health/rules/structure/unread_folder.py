"""A folder could not be searched.

## What
A folder below the paths to check that cannot be read, for lack of permission or because its path is too long. Folders
that are ignored, excluded or never searched are left alone.

## Why
There may be skills in it. What could not be searched must not look clean.

## Bad
```markdown
$ ls -ld skills/internal
drwx------ 2 root root 4096 skills/internal
```

## Good
```markdown
$ ls -ld skills/internal
drwxr-xr-x 2 ana staff 4096 skills/internal
```

## Fix
Make the folder readable, or name it in `exclude` if no skills are in it.

## Source
SHOULD · The Open Group Base Specifications, "File Access Permissions", POSIX.1-2024 (2024-06).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.skill.model import Span

CODE = "ST016"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each folder that could not be searched."""
    for path, reason in corpus.unread:
        message = f"this folder cannot be searched: {reason[:1].lower()}{reason[1:]}"
        yield Hit(Span(1, 1), message, "make it readable, or exclude it in the configuration", path or ".")
