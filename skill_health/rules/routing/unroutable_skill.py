"""A skill that the fixture expects is hidden from the model

## What
Reports skills with `disable-model-invocation: true` that router prompts or activation cases expect as the right
answer.

## Why
With that key the host does not list the skill: no prompt can ever route to it. Either the key or the labels are
wrong.

## Bad
```markdown
disable-model-invocation: true      (and 5 router prompts that expect this skill)
```

## Good
```markdown
disable-model-invocation: true      (and no prompt that expects it)
```

## Fix
Remove the key, or relabel the prompts. There is no automatic fix.

## Source
evidence · Claude Code documentation, "disable-model-invocation removes the description from the listing"; read
2026-11.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "RT008"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def collect(skill: Skill, context: Context) -> Any:
    """The position of the key, for a hidden skill."""
    flag = skill.field("disable-model-invocation")
    if flag is None or flag.value is not True:
        return None
    return [flag.key_span.line, flag.key_span.col, flag.span.end_line, flag.span.end_col]


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each hidden skill that is expected, with the count and the first place."""
    hidden = [skill for skill in corpus.wanted() if skill.facts.get(CODE)]
    if not hidden:
        return
    records = [*(context.registries.prompts or ()), *(context.registries.activation or ())]
    expected = Counter(str(record.data.get("expected_primary_skill")) for record in records)
    for skill in hidden:
        if expected[skill.name]:
            first = next(r for r in records if r.data.get("expected_primary_skill") == skill.name)
            times = expected[skill.name]
            yield Hit(
                Span(*skill.facts[CODE]),
                f"hidden from the model, but expected by {times} labelled prompt{'s' * (times != 1)} ({first.path}:{first.line})",
                "Remove the key, or relabel the prompts.",
                skill.path,
            )
