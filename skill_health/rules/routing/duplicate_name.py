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

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.rules.routing._groups import collection_of, name_key, quote_name

CODE = "RT001"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
_NAMED = 3


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report every skill but the first of each name."""
    first: dict[str, int] = {}
    named: dict[str, list[int]] = {}
    for at, skill in enumerate(corpus.skills):
        key = name_key(skill.name)
        if first.setdefault(key, at) != at:
            named.setdefault(key, [first[key]]).append(at)
    for key in sorted(named, key=first.__getitem__):
        yield from _hits(corpus, named[key])


def _hits(corpus: Corpus, same: list[int]) -> Iterator[Hit]:
    """A hit for every skill but the first of those at these places."""
    paths, homes = [], []
    for at in same:
        skill = corpus.skills[at]
        paths.append(skill.path)
        homes.append(collection_of(skill))
    within = Counter(homes)
    seen = {homes[0]}
    for nth, at in enumerate(same[1:], 1):
        home = homes[nth]
        beside = home in seen
        seen.add(home)
        others = (path for n, path in enumerate(paths) if n != nth and (homes[n] == home) == beside)
        count = within[home] - 1 if beside else len(same) - within[home]
        elsewhere = "" if beside else ", in another collection" if count == 1 else ", in other collections"
        skill = corpus.skills[at]
        yield Hit(
            skill.name_span,
            f"the name {quote_name(skill.name)} is also that of {_listed(others, count)}{elsewhere}",
            "Rename all but one, folder and name." if beside else "Rename all but one where more may be installed.",
            skill.path,
            severity=None if beside else Severity.INFO,
            also=(*paths[:nth], *paths[nth + 1 :]),
        )


def _listed(paths: Iterable[str], count: int) -> str:
    shown = list(islice(paths, _NAMED))
    last = f"{count - _NAMED} more" if count > _NAMED else shown.pop()
    return " and ".join([", ".join(shown), last] if shown else [last])
