"""The instructions contain a person's e-mail address

## What
Reports e-mail addresses in the body of SKILL.md. Left alone: the frontmatter (where authors and maintainers are named),
addresses under a heading or label for contact, author, maintainer, support, licence or security, reserved and made-up
domains (`example.com`, `company.com`, `acme.com`, `your...`), role addresses (`support@`, `security@`, `noreply@`,
`git@` ...), and things that only look like one (`package@1.2.3`, `git@host:path`).

## Why
An agent may send to the address or put it into what it writes, and anyone can read a published skill.

## Bad
```markdown
Send the report to alice.miller@bigbank-internal.net.
```

## Good
```markdown
Send the report to the address the user names.
```

## Fix
Ask the user for the address, or use `name@example.com`. There is no automatic fix.

## Source
opinion · RFC 2606 reserves example.com for documentation; read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "LE004"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False

_ADDRESS = lazy(
    r"(?<![\w.+%/@:-])[\w.+-]{1,64}+@(?P<host>(?:[a-z0-9][a-z0-9-]{0,62}\.){1,5}[a-z]{2,24})(?![\w.:/-]*[\w:/])",
    re.IGNORECASE,
)
_NOBODY = lazy(
    r"example|sample|your|company|corp\b|acme|domain|email|test|invalid|localhost|placeholder|\bfoo|\bbar\b|org\.com|^co\.com"
    r"|service\.|gserviceaccount|yourapp|startup|\.local$|\.internal$|\.(?:js|ts|py|md|json|git|sh|png|svg|zip)$",
    re.IGNORECASE,
)
_ROLE = frozenset(
    "git info support help security abuse noreply no-reply donotreply contact hello team sales press legal privacy user users "
    "admin postmaster webmaster root name first.last firstname.lastname you me someone somebody john jane john.doe jane.doe "
    "alice bob carol dev devs ops feedback maintainers".split()
)
_SIGNED = lazy(r"contact|author|maintain|support|licen[cs]|security|copyright|credit|written by|report (?:bugs|issues)")
_HELP = "Ask the user for the address, or write one at example.com."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each address once, at its first mention."""
    if "@" not in skill.text:
        return
    seen: set[str] = set()
    for number, line in enumerate(skill.lines[skill.body.first_line - 1 :], skill.body.first_line):
        if "@" not in line:
            continue
        for match in _ADDRESS.finditer(line):
            address = match.group().lower()
            if address in seen or _public(address, match["host"]) or _signed(skill, number, line):
                continue
            seen.add(address)
            span = Span(number, match.start() + 1, number, match.end() + 1)
            yield Hit(span, f"the e-mail address {match.group()!r} in the instructions", _HELP)


def _public(address: str, host: str) -> bool:
    return address.partition("@")[0] in _ROLE or bool(_NOBODY.search(host))


def _signed(skill: Skill, number: int, line: str) -> bool:
    section = skill.body.section_at(number)
    around = f"{line} {section.heading.title if section else ''}".lower()
    return _SIGNED.search(around) is not None
