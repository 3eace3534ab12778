"""Two skills have the same name

## What
Reports a name that two skills of one collection declare (the collection is the folder that holds the folders of the
skills); case and Unicode form are ignored. The same name in different collections, such as two plugins, is information
only: hosts tell them apart by the plugin, unless both are installed as plain skills. The finding names the others, up
to three.

## Why
A host keeps one of them, without saying which; a user who calls the name cannot know which one runs.

## Bad
```markdown
skills/report/SKILL.md      name: report
skills/report-old/SKILL.md  name: report
```

## Good
```markdown
skills/report/SKILL.md         name: report
skills/legacy-report/SKILL.md  name: legacy-report
```

## Fix
Rename one of them and its folder. There is no automatic fix.

## Source
MUST · Agent Skills specification, "name field: must match the parent directory", so that siblings differ,
agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity, SkillSummary
from skill_health.rules.routing._groups import collection_of, name_key, quote_name

CODE = "RT001"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
_NAMED = 3


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report every skill but the first of each name."""
    named: dict[str, list[SkillSummary]] = {}
    for skill in corpus.skills:
        named.setdefault(name_key(skill.name), []).append(skill)
    for same in named.values():
        for at, skill in enumerate(same[1:], 1):
            home = collection_of(skill)
            beside = any(collection_of(other) == home for other in same[:at])
            others = [other for other in same if other is not skill and (collection_of(other) == home) == beside]
            elsewhere = "" if beside else ", in another collection" if len(others) == 1 else ", in other collections"
            yield Hit(
                skill.name_span,
                f"the name {quote_name(skill.name)} is also that of {_listed(others)}{elsewhere}",
                "Rename all but one, folder and name." if beside else "Rename all but one where more may be installed.",
                skill.path,
                severity=None if beside else Severity.INFO,
                also=tuple(each.path for each in same if each is not skill),
            )


def _listed(skills: list[SkillSummary]) -> str:
    paths = [skill.path for skill in skills]
    last = [f"{len(paths) - _NAMED} more"] if len(paths) > _NAMED else [paths.pop()]
    return " and ".join([", ".join(paths[:_NAMED])] * bool(paths) + last)
