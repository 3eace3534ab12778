"""Too few router prompts test a skill

## What
Where the collection has router prompts: reports each skill with fewer than `limits.positives` (5) prompts that expect
it or fewer than `limits.negatives` (3) near misses, that is, prompts that reject it. Skills with
`disable-model-invocation: true` need none; folders whose skills no prompt mentions are left alone, and so are skills
without a valid name in the frontmatter, which no prompt could name.

## Why
With two or three prompts a skill's routing score moves by a third when one answer changes, and without near misses
a greedy description scores best.

## Bad
```markdown
1 prompt expects the skill, none rejects it
```

## Good
```markdown
6 prompts expect the skill, 4 that sound like it reject it
```

## Fix
Add prompts. There is no automatic fix.

## Source
evidence · a 95 % Wilson interval over 5 prompts is 43 to 65 points wide; the minimum itself is a choice (2026-11).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from skill_health.discovery.plugins import without_plugin
from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.rules.frontmatter._names import problems
from skill_health.rules.frontmatter._shared import readable
from skill_health.rules.routing._groups import collections
from skill_health.skill.model import Skill

CODE = "RT009"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


def collect(skill: Skill, context: Context) -> Any:
    """Whether the skill can be named by a prompt: it can be read and declares a valid name."""
    return readable(skill) is not None and not problems(skill.text_of("name") or "")


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each skill that lacks positives or near misses."""
    records = context.registries.prompts
    if not records:
        return
    limits = context.config.limits
    positives = Counter(without_plugin(str(record.data.get("expected_primary_skill"))) for record in records)
    negatives: Counter[str] = Counter()
    for record in records:
        rejected = record.data.get("rejected_skills")
        negatives.update({without_plugin(str(name)) for name in rejected} if isinstance(rejected, list) else ())
    for group in collections(corpus.skills).values():
        if not any(positives[skill.name] or negatives[skill.name] for skill in group):
            continue
        for skill in filter(lambda skill: corpus.shows(skill.path), group):
            has, misses = positives[skill.name], negatives[skill.name]
            if skill.hidden or not skill.facts.get(CODE) or (has >= limits.positives and misses >= limits.negatives):
                continue
            message = (
                f"{_prompts(has, 'expect', 'expects')} the skill ({limits.positives} wanted) and "
                f"{_prompts(misses, 'reject', 'rejects')} it ({limits.negatives} wanted)"
            )
            yield Hit(skill.name_span, message, f"Add prompts to {records[0].path}.", skill.path)


def _prompts(count: int, many: str, one: str) -> str:
    return f"1 router prompt {one}" if count == 1 else f"{count} router prompts {many}"
