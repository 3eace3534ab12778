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
    assert message.startswith(f"more than {MAX_BYTES:,} bytes")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["é", "€", "\U0001f600", "\r\n"])
def test_the_limit_cuts_no_character_in_two(end: str) -> None:
    for before in range(1, 4):
        data = HEAD + b"\r\nx" * ((MAX_BYTES - len(HEAD)) // 3)
        data = data[: MAX_BYTES - before] + end.encode() + b"more"
        kinds = {defect.kind for defect in parse_skill(data[: MAX_BYTES + 1], "skills/tidy/SKILL.md").defects}
        assert kinds <= {"oversized", "mixed-newlines"}, (before, kinds)


@pytest.mark.parametrize(("files", "said"), [(9_999, []), (10_000, ["10,000 files or more stand beside it"])])
def test_a_folder_with_more_files_than_are_checked_is_not_clean(files: int, said: list[str]) -> None:
    names = tuple(f"references/{n}.csv" for n in range(files))
    skill = parse_skill(HEAD, "skills/tidy/SKILL.md", files=names)
    found = [hit.message for hit in oversized_file.check(skill, None)]  # type: ignore[arg-type]
    assert [message.partition(":")[0] for message in found] == said
