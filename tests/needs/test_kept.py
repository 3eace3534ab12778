"""What skills need is kept for as long as no file that it rests on is another one."""

from __future__ import annotations

import os
from pathlib import Path

from skill_health.config.settings import Config
from skill_health.discovery.corpus import discover
from skill_health.needs.collection import KeptNeeds, needs_of_collection
from skill_health.needs.model import SkillNeeds

TEXT = "---\nname: {0}\ndescription: Reads {0}.\n---\n# {0}\n\nRun scripts/get.sh.\n"


def look(root: Path, kept: KeptNeeds) -> tuple[int, tuple[SkillNeeds, ...]]:
    """How many skills were read, and what all need, which is what nothing that is kept would say."""
    found = discover((str(root),), Config(), str(root))
    needs = needs_of_collection(found.root, found.entries, 1, kept)
    assert needs == needs_of_collection(found.root, found.entries)
    return kept.read, needs


def write(root: Path, name: str, command: str) -> Path:
    script = root / name / "scripts" / "get.sh"
    script.parent.mkdir(parents=True)
    (root / name / "SKILL.md").write_text(TEXT.format(name), encoding="utf-8")
    script.write_text(f"{command}\n", encoding="utf-8")
    return script


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    kept = KeptNeeds()
    first, _ = (write(tmp_path, name, "curl https://rates.example.org/a.json") for name in ("plums", "pears"))
    assert look(tmp_path, kept)[0] == 2
    read, before = look(tmp_path, kept)
    assert read == 0 and "tools" in before[1].categories
    first.write_text("psql -c 'select 1'\n", encoding="utf-8")
    read, after = look(tmp_path, kept)
    assert read == 1 and after[0] == before[0] and after[1] != before[1]
    first.unlink()
    read, after = look(tmp_path, kept)
    assert read == 1 and after[1].needs == ()
    (tmp_path / "plums" / "SKILL.md").unlink()
    assert look(tmp_path, kept) == (0, before[:1])


def test_a_file_in_place_of_another_is_another_one_whatever_its_size_and_time(tmp_path: Path) -> None:
    kept = KeptNeeds()
    script = write(tmp_path, "plums", "curl https://a.example.org")
    look(tmp_path, kept)
    times = os.stat(script)
    other = tmp_path / "other"
    other.write_text("echo https://a.example.org\n", encoding="utf-8")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(other, script)
    assert os.stat(script).st_size == times.st_size
    assert look(tmp_path, kept)[0] == 1
