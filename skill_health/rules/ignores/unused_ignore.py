"""An inline comment ignores a rule that reports nothing there

## What
An `<!-- skill-health: ignore CODE reason -->` (for the next block) or `ignore-file` comment that names no rule, an
unknown one, or a rule that was run and found nothing in the lines that the comment covers. Comments about a rule that
did not run are not reported.

## Why
A comment that outlives its finding hides the next one.

## Bad
```markdown
<!-- skill-health: ignore ST010 kept for the old interface -->
A paragraph without any finding.
```

## Good
```markdown
<!-- skill-health: ignore CL001 measured by us, see the release notes -->
The new parser is 40 % faster.
```

## Fix
Remove the code, or the comment. There is no automatic fix.

## Source
opinion · skill-health: what is silenced must be worth silencing (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.rules._api import Severity, named_by
from skill_health.rules.ignores._comments import Ignore

CODE = "IG001"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_ignores(
    comments: Sequence[Ignore],
    unused: Sequence[tuple[Ignore, str]],
    ran: Sequence[tuple[str, str]],
    known: Sequence[tuple[str, str]],
) -> Iterator[tuple[Ignore, str]]:
    """What to report: a comment without a code, an unknown code, or one that silenced nothing although its rule ran."""
    for ignore in comments:
        if not ignore.codes:
            yield ignore, "the comment names no rule to ignore"
    for ignore, code in unused:
        if not _named(code, known):
            yield ignore, f"no rule is called {code}"
        elif _named(code, ran):
            yield ignore, f"the comment ignores {code}, which reports nothing here"


def _named(code: str, rules: Sequence[tuple[str, str]]) -> bool:
    return any(named_by(code, known, name) for known, name in rules)
