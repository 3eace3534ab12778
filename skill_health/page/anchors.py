"""Names of places on the page: fixed by what they are about, whatever its name holds."""

from __future__ import annotations

import hashlib


def anchor(path: str) -> str:
    """The id of a skill's part of the page, by the path of its SKILL.md: names may repeat and hold anything."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"skill-{digest}"
