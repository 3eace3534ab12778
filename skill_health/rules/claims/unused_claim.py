"""No skill cites a registered claim

## What
A line of the claims registry whose id occurs in no SKILL.md and in none of the Markdown files bundled with a skill.

## Why
Worth knowing: either the skill that makes the claim does not name its source, or the entry is reviewed in vain.

## Bad
```json
{"claim_id": "claim-cache-price", "owning_skill": "context-budget"}      (the skill says the price without the id)
```

## Good
```markdown
Cached input costs a tenth `claim-cache-price`.
```

## Fix
Cite the id where the claim is made, or remove the entry. There is no automatic fix.

## Source
evidence · In the first published claims registry for skills none of the 6 entries is cited by a skill (2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.rules.claims._ids import CLAIM_ID
from skill_health.skill.model import Skill, Span

CODE = "CL006"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

MAX_FILES = 200


def collect(skill: Skill, context: Context) -> list[str]:
    """The claim ids that occur anywhere in the skill's Markdown, sorted; without a registry nothing is read."""
    if not context.registries.claims:
        return []
    found = set(CLAIM_ID.findall(skill.text)) if "claim-" in skill.text else set()
    for name in [name for name in skill.files if name.endswith(".md")][:MAX_FILES]:
        text = context.read(skill.path_of(name)) or ""
        if "claim-" in text:
            found.update(CLAIM_ID.findall(text))
    return sorted(found)


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report entries of the registry that no skill mentions."""
    claims = [record for record in context.registries.claims or () if corpus.shows(record.path)]
    if not corpus.skills or not claims:
        return
    cited = {name for skill in corpus.skills for name in skill.facts.get(CODE, ())}
    for record in claims:
        name, owner = record.data["claim_id"], record.data["owning_skill"]
        if name not in cited:
            yield Hit(
                Span(record.line, 1),
                f"no skill cites {name}",
                f'Cite it in "{owner}" beside the claim, or remove the entry.',
                record.path,
            )
