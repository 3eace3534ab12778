"""What git tracks is read from its index as git itself lists it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Config
from skill_health.core import git as core_git
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import discover
from skill_health.discovery.tracked import read_index, tracked_skills

SKILLS = (
    "SKILL.md", "a/SKILL.md", "a/b/skill.md", f"{'long' * 60}/{'er' * 100}/SKILL.md", "é ü/SKILL.md", "z/SKILL.md",
)  # fmt: skip
OTHERS = ("MYSKILL.md", "a/SKILL.md.txt", "README.md", "skill.md/notes")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout


def plant(folder: Path, *paths: str) -> None:
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"---\nname: {target.parent.name}\ndescription: Sorts. Use when sorting.\n---\n# Sort\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    plant(tmp_path, *SKILLS, *OTHERS)
    git(tmp_path, "add", "-A")
    plant(tmp_path, "untracked/SKILL.md")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        ("update-index", "--index-version", "2"),
        ("update-index", "--index-version", "4"),
        ("update-index", "--skip-worktree", "README.md"),  # makes it version 3
        ("update-index", "--assume-unchanged", "a/SKILL.md"),
        ("update-index", "--untracked-cache"),
        ("commit", "-qm", "x"),
    ],
    ids=" ".join,
)
def test_the_index_is_read_without_git(
    change: tuple[str, ...], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, *change)
    monkeypatch.setattr(core_git, "open_repository", lambda *_: pytest.fail("git was started"))
    assert tracked_skills(str(repository)) == tuple(sorted(SKILLS))
    assert tracked_skills(str(repository / "a")) == ("SKILL.md", "b/skill.md")
    assert tracked_skills(str(repository / "untracked")) == ()


def test_ids_of_another_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    plant(tmp_path, *SKILLS, *OTHERS)
    git(tmp_path, "add", "-A")
    monkeypatch.setattr(core_git, "open_repository", lambda *_: pytest.fail("git was started"))
    assert tracked_skills(str(tmp_path)) == tuple(sorted(SKILLS))


def test_git_is_asked_about_an_index_that_is_not_understood(repository: Path) -> None:
    git(repository, "update-index", "--split-index")
    assert tracked_skills(str(repository)) == tuple(sorted(SKILLS))


@pytest.mark.parametrize("damage", ["empty", "other", "version"])
def test_what_an_index_names_that_nobody_can_read_is_not_gone(damage: str, repository: Path) -> None:
    index = repository / ".git/index"
    version = index.read_bytes()[:4] + (9).to_bytes(4) + index.read_bytes()[8:]
    index.write_bytes({"empty": b"", "other": b"not an index", "version": version}[damage])
    with pytest.raises(UsageError):
        tracked_skills(str(repository))


@pytest.mark.slow
def test_a_linked_work_tree_has_its_own(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git(repository, "commit", "-qm", "x")
    other = tmp_path_factory.mktemp("trees") / "other"
    git(repository, "worktree", "add", "-q", str(other))
    git(other, "rm", "-q", "z/SKILL.md")
    assert tracked_skills(str(other)) == tuple(sorted(set(SKILLS) - {"z/SKILL.md"}))
    assert tracked_skills(str(repository)) == tuple(sorted(SKILLS))


def test_without_git_and_before_the_first_add_there_are_none(tmp_path: Path) -> None:
    assert tracked_skills(str(tmp_path)) == ()
    git(tmp_path, "init", "-q")
    assert tracked_skills(str(tmp_path)) == ()


@given(st.binary(max_size=200))
def test_no_index_does_harm(data: bytes) -> None:
    for version in (2, 3, 4):
        made = b"DIRC" + version.to_bytes(4) + (len(data) % 5).to_bytes(4) + data
        try:
            assert all(path[-8:].lower() == b"skill.md" for path in read_index(made) or ())
        except (IndexError, ValueError):
            continue


# What hides a skill that git tracks, and what lint finds then: the skills, and how many others a note speaks of.
HIDDEN: dict[str, tuple[dict[str, str], list[str], int]] = {
    "a folder in .gitignore": ({".gitignore": "hidden/\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "its own .gitignore": ({"hidden/s/.gitignore": "*\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "a pattern for the file": ({".gitignore": "*.md\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "everything": ({".gitignore": "*\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "info/exclude": ({".git/info/exclude": "hidden\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "a virtual environment": ({"hidden/pyvenv.cfg": ""}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "a virtual environment around the skill": ({"hidden/s/pyvenv.cfg": ""}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "other people's packages": ({"node_modules/p/SKILL.md": "# P\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 1),
    "a hidden folder, where no host looks": ({".old/p/SKILL.md": "# P\n"}, ["hidden/s/SKILL.md", "open/SKILL.md"], 0),
    "the configuration, which says so": ({"skill-health.toml": 'exclude = ["hidden"]\n'}, ["open/SKILL.md"], 0),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_ignore_file_hides_a_skill_that_git_tracks(name: str, tmp_path: Path) -> None:
    more, expected, noted = HIDDEN[name]
    git(tmp_path, "init", "-q")
    plant(tmp_path, "open/SKILL.md", "hidden/s/SKILL.md", "hidden/s/references/a.md")
    for path, text in more.items():
        plant(tmp_path, path)
        (tmp_path / path).write_text(text)
    git(tmp_path, "add", "-Af")
    # What git does not track stays ignored, beside and below what it does.
    plant(tmp_path, "hidden/build/SKILL.md", "hidden/s/node_modules/x/SKILL.md")
    config = Config()._replace(exclude=("hidden",)) if "skill-health.toml" in more else Config()
    found = discover([str(tmp_path)], config)
    paths = [entry.path for entry in found.entries]
    assert [path for path in paths if path != "hidden/build/SKILL.md"] == expected
    ignored = {"its own .gitignore", "a virtual environment around the skill", "other people's packages",
               "a hidden folder, where no host looks"}  # fmt: skip
    assert ("hidden/build/SKILL.md" in paths) == (name in ignored)
    if "hidden/s/SKILL.md" in paths:
        named = {"its own .gitignore", "a pattern for the file"}  # these speak of bundled files, too
        assert ("references/a.md" in found.entries[paths.index("hidden/s/SKILL.md")].files) == (name not in named)
    assert [note for note in found.warnings if f"{noted} SKILL.md" in note] == list(found.warnings)
    assert len(found.warnings) == (noted > 0)
