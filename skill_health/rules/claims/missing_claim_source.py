"""The source of a registered claim does not exist

## What
A `source_url` of the claims registry that is a path, not a URL, and does not exist below the root of the collection. A
part after `#` and a line number after `:` are ignored. URLs, DOIs and titles of books are left alone.

## Why
Nobody can read the source again, so nobody can review the claim.

## Bad
```json
{"claim_id": "claim-cache-price", "source_url": "notes/prices.md"}      (there is no such file)
```

## Good
```json
{"claim_id": "claim-cache-price", "source_url": "skills/context-budget/references/prices.md"}
```

## Fix
Correct the path, commit the file, or give the public URL. There is no automatic fix.

## Source
evidence · In the first published claims registry for skills 3 of 6 sources are files that the release does not contain
(2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

CODE = "CL007"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_ELSEWHERE = lazy(r"[a-zA-Z][a-zA-Z0-9+-]+:|//|\w[\w-]*+(?:\.[\w-]++)++/")
_EXTENSION = lazy(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_LINE = lazy(r":\d+(?:[-:]\d+)?$")


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report entries whose source is a missing path, or a path that only one machine has."""
    for record in context.registries.claims or ():
        name, path = record.data["claim_id"], source_path(str(record.data["source_url"]).strip())
        absolute = path.startswith(("/", "~"))
        if path and (absolute or not context.exists(path)):
            what = "is a path on one machine" if absolute else "does not exist"
            yield Hit(
                Span(record.line, 1),
                f"the source of {name} {what}: {_shown(path)}",
                "Give a path relative to the root of the collection, or the public URL.",
                record.path,
            )


def source_path(source: str) -> str:
    """The source if it is a path; "" for a URL, a host without scheme, a DOI or a title."""
    if _ELSEWHERE.match(source) or "\n" in source or len(source) > 1024:
        return ""
    path = _LINE.sub("", source.partition("#")[0].strip()).removeprefix("./")
    if "/" in path:
        return path if " " not in path or _EXTENSION.search(path) else ""
    return path if _EXTENSION.search(path) and " " not in path else ""


def _shown(path: str) -> str:
    return path if len(path) <= 96 else "…" + path[-95:]
