"""The source of a registered claim does not exist

## What
A `source_url` of the claims registry that is a path and not a URL, and that leads to nothing below the root of the
collection. A part after `#` and a line number after `:` are ignored. URLs, DOIs and titles of books are left alone.

## Why
The source cannot be read again, so the claim cannot be reviewed.

## Bad
```json
{"claim_id": "claim-cache-price", "source_url": "notes/prices.md"}      (there is no such file)
```

## Good
```json
{"claim_id": "claim-cache-price", "source_url": "skills/context-budget/references/prices.md"}
```

## Fix
Correct the path, commit the file, or give the public URL. Not done by `--fix`.

## Source
evidence · In the first published claims registry for skills 3 of 6 sources are files that the release does not hold (2026-05).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.core.skill import Span
from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity

CODE = "CL007"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|www\.|//")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_LINE = re.compile(r":\d+(?:[-:]\d+)?$")


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Entries whose source is a path to nothing."""
    for record in context.registries.claims or ():
        source = str(record.data["source_url"]).strip()
        path = source_path(source)
        if path and not context.exists(path):
            yield Hit(
                Span(record.line, 1),
                f"the source of {record.data['claim_id']} does not exist: {_shown(path)}",
                "Give a path relative to the root of the collection, or the public URL.",
                record.path,
            )


def source_path(source: str) -> str:
    """The path that a source is, relative to the root; "" for a URL, a DOI or a title."""
    if _SCHEME.match(source) or "\n" in source or len(source) > 1024:
        return ""
    path = _LINE.sub("", source.partition("#")[0].strip())
    looks_like_one = _EXTENSION.search(path) or ("/" in path and " " not in path)
    return path.removeprefix("./") if looks_like_one and not (" " in path and "/" not in path) else ""


def _shown(path: str) -> str:
    return path if len(path) <= 96 else "…" + path[-95:]
