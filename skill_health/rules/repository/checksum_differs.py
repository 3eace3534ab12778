"""A file differs from its recorded checksum

## What
Files of checksums in SHA-256 beside or in skills (SHA256SUMS, checksums.txt, `NAME.sha256`): a file whose content has
another checksum than its line says, and a file that is listed and gone. Relative to the file of checksums, else to the
root. Files beyond 1 MiB are left alone.

## Why
Anyone who verifies the skill refuses it, or has learned to ignore the check. The file was changed, and the signature
was not.

## Bad
```text
SHA256SUMS: 2c26b4...  SKILL.md        (the file has another content)
```

## Good
```text
SHA256SUMS: fcde2b...  SKILL.md
```

## Fix
Look at what was changed, and record the checksums again (`sha256sum FILE... > SHA256SUMS`). There is no automatic fix.

## Source
evidence · GNU coreutils, sha256sum(1), option --check (2026-11).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.repository._repository import Repository, RepositoryFiles, above, join
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "RP032"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_LINE = lazy(r"(?P<sum>[0-9a-fA-F]{64})(?:\s+\*?(?P<name>\S.*))?")
_FILES = ("SHA256SUMS", "SHA256SUMS.txt", "sha256sums.txt", "checksums.txt", "checksums.sha256")
_MOST = 10_000


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report what differs from the checksums in a skill."""
    for file in skill.files:
        if file.endswith(".sha256") or file.rpartition("/")[2] in _FILES:
            yield from _differing(skill.path_of(file), context)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report what differs from the checksums elsewhere."""
    for path in repository.files:
        if path.endswith(".sha256") or path.rpartition("/")[2] in _FILES:
            yield from _differing(path, repository.context)


def _differing(path: str, context: RepositoryFiles | Context) -> Iterator[Hit]:
    text = context.read(path) or ""
    for nth, line in enumerate(text.split("\n")[:_MOST], 1):
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        name = match["name"] or path.rpartition("/")[2].removesuffix(".sha256")
        places = [join(above(path, 1), name), join("", name)]
        place = next((each for each in places if not each.startswith("..") and context.exists(each)), None)
        if place is None:
            # A sum alone, of what is published elsewhere.
            if match["name"] and "/" not in name.strip("./") and path.endswith(".sha256"):
                continue
            yield Hit(Span(nth, 1), f"{quote(name)} is listed, but not there", "record the checksums again", path)
            continue
        data = context.content(place)
        if data is not None and not place.endswith(path.rpartition("/")[2]):
            sums = {hashlib.sha256(data).hexdigest(), hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()}
            if match["sum"].lower() not in sums:
                message = f"{quote(name)} does not match this checksum"
                yield Hit(Span(nth, 1), message, "look at what was changed, and record the checksums again", path)
