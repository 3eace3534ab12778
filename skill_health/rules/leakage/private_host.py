"""An address belongs to a private network

## What
Reports URLs and `user@host` targets whose host is a private address (10.x, 172.16-31.x, 192.168.x) or a name that
only an organisation's own network knows (`*.internal`, `*.corp`, `*.intranet`, `*.lan`, `*.local`). Left alone:
localhost and loopback, bare addresses and ranges as in network configuration, `cluster.local`, the well-known names
of containers and clouds (`host.docker.internal`, `metadata.google.internal` ...), and placeholders in angle
brackets, braces or capitals.

## Why
Nobody outside can reach it, so the step that uses it fails there; and it reveals how the network is built.

## Bad
```markdown
Fetch the schema from https://wiki.acme.corp/schemas.
```

## Good
```markdown
Fetch the schema from the wiki (`$WIKI_URL/schemas`; ask the user if it is not set).
```

## Fix
Read the address from configuration or ask for it. There is no automatic fix.

## Source
SHOULD · RFC 1918 (private addresses) and ICANN's reservation of .internal (2024); read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.leakage._bundled import span_of
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "LE003"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

# What follows "://" (perhaps with a user) or "@".
_HOST = lazy(
    r"(?:[^\s/@\"'`<>]{1,80}+@)?"
    r"(?P<host>(?:10|172|192)(?:\.\d{1,3}){3}(?![\w.-])"
    r"|(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,6}(?:internal|corp|intranet|lan|local)(?![\w-]|\.\w))",
    re.IGNORECASE,
)
_PUBLIC = tuple("cluster.local docker.internal containers.internal google.internal compute.internal orb.local".split())
_SAMPLE = lazy(r"example|your|my-?|company|acme|foo|bar|host", re.IGNORECASE)
_HELP = "Read the address from configuration or ask the user for it."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each private host once per line."""
    text = skill.text
    seen: set[tuple[int, str]] = set()
    for at in sorted({*_after(text, "://"), *_after(text, "@")}):
        match = _HOST.match(text, at)
        if match is None:
            continue
        host = match["host"].lower()
        span = span_of(text, *match.span("host"))
        if (span.line, host) in seen or not _private(host):
            continue
        seen.add((span.line, host))
        yield Hit(span, f"the host {host!r} is only known inside a private network", _HELP)


def _after(text: str, mark: str) -> Iterator[int]:
    at = text.find(mark)
    while at >= 0:
        at += len(mark)
        yield at
        at = text.find(mark, at)


def _private(host: str) -> bool:
    if host[0].isdigit() and host.rpartition(".")[2].isdigit():
        a, b, *rest = (int(part) for part in host.split("."))
        inside = a == 10 or (a == 172 and 16 <= b <= 31) or (a == 192 and b == 168)
        return inside and max(b, *rest) <= 255
    return not host.endswith(_PUBLIC) and not _SAMPLE.search(host)
