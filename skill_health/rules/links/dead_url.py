"""Dead address: an external link answers "not found".

## What
External addresses that cannot exist (no host, an invalid port), and `http` and `https` links of SKILL.md and of the
bundled Markdown files that answer 404 or 410, to HEAD and to GET. Permanent redirects are information. Everything else
(a time-out, a refusal, a server error, an unknown host) says nothing about the link and is only listed in the report.
Only `skill-health lint --check-urls` uses the network; placeholder addresses (`example.com`, `localhost`,
`{placeholder}`) are never requested.

## Why
The agent fetches the page, gets an error page and may take it for the answer; a reader cannot check the source.

## Bad
```markdown
See the [style guide](https://docs.acme.dev/removed-page).
```

## Good
```markdown
See the [style guide](https://docs.acme.dev/style).
```

## Fix
Link to where the page is now, or to an archived copy, or drop the link. Not fixed automatically.

## Source
evidence · RFC 9110, sections 15.5.5 and 15.5.11: with 404 and 410 a server says that a page is not there (2022-06).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.rules.links._bundle import markdown_files
from skill_health.skill.model import Document, Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI016"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = False

_BARE = lazy(r"https?://[^\s<>\"'`|\\^{}\[\]]++", re.I)
_STAND_IN = lazy(
    r"[<>{}$*\[\]\u2026]|\.\.\.|//(?:[^/?#]*\.)?(?:example|test|invalid|localhost|local|internal|lan)(?:[:/?#]|\.(?:com|org|net)\b|\Z)|"
    r"://[^./:?#]+(?:[:/?#]|\Z)|//(?:\d+\.){3}\d+|\b(?:your|my)[-_.]?(?:domain|site|company|org|app|server|host|repo|project)|"
    r"\byour[-_]|\bX{3,}",
    re.I,
)


class UrlStatus(Protocol):
    """The result of requesting one address."""

    @property
    def status(self) -> str:
        """One of ok, moved, gone and error."""

    @property
    def final(self) -> str:
        """Where the page has moved to."""

    @property
    def reason(self) -> str:
        """The server's answer in words."""


def collect(skill: Skill, context: Context) -> list[list[object]]:
    """The external addresses: [address, path relative to the root, line, column, end column]."""
    found = [[url, skill.path, *place] for url, *place in _addresses(skill.body)]
    for file in markdown_files(skill):
        full = skill.path_of(file)
        text = context.read(full)
        document = context.document(full) if text and "http" in text else None
        if document is not None:
            found += [[url, full, *place] for url, *place in _addresses(document)]
    return found


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report what is not an address. Only the command uses the network; it turns the answers into hits."""
    for summary in corpus.wanted():
        for url, file, line, col, end_col in summary.facts.get(CODE) or ():
            if not _is_address(url):
                help_line = "write the whole address: https://host/path"
                yield Hit(Span(line, col, line, end_col), f"{url} is no web address", help_line, file)


def addresses(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Every address that the collection links to, sorted; `facts` maps each SKILL.md to its facts by rule code."""
    return sorted({entry[0] for own in facts.values() for entry in own.get(CODE) or () if _is_address(entry[0])})


def hits_for(results: Mapping[str, UrlStatus], facts: Mapping[str, Mapping[str, Any]]) -> Iterator[Hit]:
    """The hits that follow from the results, each address once per file."""
    for path in sorted(facts):
        seen: set[tuple[str, str]] = set()
        for url, file, line, col, end_col in facts[path].get(CODE) or ():
            result = results.get(url)
            if result is None or result.status not in ("gone", "moved") or (url, file) in seen:
                continue
            seen.add((url, file))
            span = Span(line, col, line, end_col)
            if result.status == "gone":
                yield Hit(span, f"{url} is gone: {result.reason}", "link to where it is now, or drop the link", file)
            else:
                yield Hit(span, f"{url} has moved for good", f"write {result.final}", file, severity=Severity.INFO)


def _is_address(url: str) -> bool:
    host, _, port = url.partition("//")[2].partition("/")[0].partition("?")[0].rpartition("@")[2].partition(":")
    return bool(host.strip(".")) and ".." not in host and (not port or port.isdigit())


def _addresses(document: Document) -> Iterator[tuple[str, int, int, int]]:
    for link in document.links:
        if link.target[:4].lower() == "http" and "//" in link.target and not _STAND_IN.search(link.target):
            yield link.target, link.line, link.col, link.end_col
    for prose in document.prose:
        if "://" not in prose.plain:
            continue
        for match in _BARE.finditer(prose.plain):
            url = match.group().rstrip(".,;:!?*_")
            if url.endswith(")") and "(" not in url:
                url = url.rstrip(").,;")
            # A scheme alone, as in "starts with http://", is talk about addresses.
            if _is_address(url) and not _STAND_IN.search(url):
                line, col = document.position(prose, match.start())
                yield url, line, col, col + len(url)
