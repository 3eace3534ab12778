"""A file over 1 MiB, which no case file can hold."""

from __future__ import annotations

import pytest

from skill_health.rules.frontmatter import oversized_file
from skill_health.skill.decode import MAX_BYTES
from skill_health.skill.parse import parse_skill

HEAD = b"---\nname: tidy\ndescription: Tidies lists. Use when needed.\n---\n"


def messages(size: int) -> list[str]:
    data = HEAD + b"words\n" * (size // 6 + 1)
    skill = parse_skill(data[:size], "skills/tidy/SKILL.md")
    return [hit.message for hit in oversized_file.check(skill, None)]  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_limit_itself_is_allowed() -> None:
    assert messages(MAX_BYTES) == []


def test_one_byte_more_is_not() -> None:
    (message,) = messages(MAX_BYTES + 1)
    assert message.startswith(f"{MAX_BYTES + 1:,} bytes")
