"""Discovery on real trees, with real symbolic links and real git."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from fixture_types import Write
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Config
from skill_health.core.errors import AbortedError, UsageError
from skill_health.discovery import corpus, listing
from skill_health.discovery.corpus import Discovery, Entry, discover, find_root

CONFIG = Config()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files below a root that is not in any repository; a SKILL.md's text is its path unless given."""
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)

    def write_tree(files: Mapping[str, str]) -> Path:
        for path, text in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text or path, encoding="utf-8")
        return root

    return write_tree


def files(*paths: str) -> dict[str, str]:
    return dict.fromkeys(paths, "")


def git(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def found(*paths: str | Path, config: Config = CONFIG, root: str | None = None) -> list[str]:
    return [entry.path for entry in discover([str(path) for path in paths], config, root).entries]


def targets(discovery: Discovery) -> list[str]:
    return [entry.path for entry in discovery.entries if entry.target]


# -- layouts ----------------------------------------------------------------------------------------------------------


def test_nothing_there(tree: Write) -> None:
    root = tree(files("README.md"))
    assert discover([str(root)], CONFIG) == Discovery(str(root), around=("README.md",))


def test_no_paths_are_the_current_directory_or_the_given_root(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(files("x/a/SKILL.md", "y/b/SKILL.md"))
    monkeypatch.chdir(root / "x")
    assert found() == ["a/SKILL.md"]
    assert found(root=str(root)) == ["x/a/SKILL.md", "y/b/SKILL.md"]


@pytest.mark.parametrize(
    "folder",
    ".claude/skills .agents/skills .cursor/skills .codex/skills .gemini/skills .github/skills .opencode/skill "
    ".opencode/skills .windsurf/skills plugins/p/skills skills/.curated .posit/assistant/skills a/b/c/d/e "
    "node/skills skills/tests plugins/templates/skills build dist env".split(),
)
def test_layouts(tree: Write, folder: str) -> None:
    assert found(tree(files(f"{folder}/a/SKILL.md"))) == [f"{folder}/a/SKILL.md"]


@pytest.mark.parametrize(
    "folder",
    [
        "node_modules", ".git", ".venv", "venv", "__pycache__", ".tox", "x.dist-info", "x.egg-info", ".hidden",
        "site-packages",
    ],
)  # fmt: skip
def test_folders_that_are_never_entered(tree: Write, folder: str) -> None:
    root = tree(files(f"{folder}/a/SKILL.md", "x/SKILL.md", f"x/{folder}/y.md"))
    assert [(entry.path, entry.files) for entry in discover([str(root)], CONFIG).entries] == [("x/SKILL.md", ())]
    assert found(root / folder) == [f"{folder}/a/SKILL.md"]


def test_environments_and_other_checkouts_are_foreign(tree: Write) -> None:
    root = tree(
        files("a/SKILL.md", "env/pyvenv.cfg", "env/b/SKILL.md", "sub/c/SKILL.md", ".claude/worktrees/w/d/SKILL.md")
    )
    (root / ".claude/worktrees/w/.git").write_text("gitdir: /x/.git/worktrees/w\n")
    (root / "sub/.git").write_text("gitdir: ../.git/modules/sub\n")
    assert found(root) == ["a/SKILL.md", "sub/c/SKILL.md"]
    assert found(root / ".claude/worktrees/w") == ["d/SKILL.md"]


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_other_spellings(tree: Write, name: str) -> None:
    root = tree(files(f"a/{name}"))
    (entry,) = discover([str(root)], CONFIG).entries
    assert (entry.path, entry.file_name) == (f"a/{name}", name)


def test_two_spellings_side_by_side(tree: Write) -> None:
    root = tree(files("a/SKILL.md", "a/skill.md", "b/skill.md", "b/Skill.md"))
    assert [(entry.path, entry.files) for entry in discover([str(root)], CONFIG).entries] == [
        ("a/SKILL.md", ("skill.md",)),
        ("b/Skill.md", ("skill.md",)),
    ]


def test_a_skill_in_the_root(tree: Write) -> None:
    root = tree(files("SKILL.md", "references/x.md", "sub/b/SKILL.md", "sub/b/y.md"))
    first, second = discover([str(root)], CONFIG, str(root)).entries
    assert (first.path, first.folder, first.folder_name, first.files) == ("SKILL.md", "", "root", ("references/x.md",))
    assert (second.folder, second.files) == ("sub/b", ("y.md",))


def test_a_nested_skill_has_its_own_files(tree: Write) -> None:
    root = tree(files("a/SKILL.md", "a/x.md", "a/sub/SKILL.md", "a/sub/y.md", "a/sub/deep/z.md"))
    outer, inner = discover([str(root)], CONFIG, str(root)).entries
    assert (outer.files, inner.files) == (("x.md",), ("deep/z.md", "y.md"))


def test_the_same_in_any_order_of_the_disk(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(files(*(f"{a}/{b}/SKILL.md" for a in "cab" for b in "xzy"), "a/x/2.md", "a/x/1.md"))
    plain = discover([str(root)], CONFIG)
    real = os.scandir

    def backwards(path: str) -> nullcontext[list[os.DirEntry[str]]]:
        with real(path) as entries:
            return nullcontext(sorted(entries, key=lambda entry: entry.name, reverse=True))

    monkeypatch.setattr(listing.os, "scandir", backwards)
    assert discover([str(root)], CONFIG) == plain
    assert plain.entries[:2] == (Entry("a/x/SKILL.md", "root", ("1.md", "2.md")), Entry("a/y/SKILL.md", "root"))
    assert [entry.path for entry in plain.entries] == sorted(entry.path for entry in plain.entries)


# -- what is asked for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["skills/a/SKILL.md", "skills/a", "skills/a/references/x.md", "skills/a/references", "skills/a/claims.jsonl"],
)
@pytest.mark.parametrize("marker", ["git", "toml", "pyproject"])
def test_one_skill_and_the_whole_collection_around_it(tree: Write, path: str, marker: str) -> None:
    root = tree(files("skills/a/SKILL.md", "skills/a/references/x.md", "skills/a/claims.jsonl", "other/b/SKILL.md"))
    if marker == "git":
        git(root)
    elif marker == "toml":
        (root / "skill-health.toml").touch()
    else:
        (root / "pyproject.toml").write_text("[tool.skill-health]\n")
    discovery = discover([str(root / path)], CONFIG)
    assert discovery.root == str(root)
    assert [entry.path for entry in discovery.entries] == ["other/b/SKILL.md", "skills/a/SKILL.md"]
    assert targets(discovery) == ["skills/a/SKILL.md"]
    assert discovery.entries[1].files == ("claims.jsonl", "references/x.md")


def test_siblings_only_where_the_root_is_a_guess(tree: Write) -> None:
    root = tree(
        files(
            "skills/a/SKILL.md", "skills/b/SKILL.md", "skills/b/x/y.md", "skills/group/c/SKILL.md", "other/d/SKILL.md"
        )
    )
    discovery = discover([str(root / "skills/a/SKILL.md")], CONFIG)
    assert [entry.path for entry in discovery.entries] == ["skills/a/SKILL.md", "skills/b/SKILL.md"]
    assert targets(discovery) == ["skills/a/SKILL.md"]
    assert discovery.entries[1].files == ("x/y.md",)


def test_a_named_folder_is_the_collection(tree: Write) -> None:
    root = git(tree(files("one/a/SKILL.md", "one/b/SKILL.md", "two/c/SKILL.md")))
    discovery = discover([str(root / "one")], CONFIG)
    assert discovery.root == str(root)
    assert targets(discovery) == [entry.path for entry in discovery.entries] == ["one/a/SKILL.md", "one/b/SKILL.md"]


def test_several_paths(tree: Write) -> None:
    root = git(tree(files("one/a/SKILL.md", "two/b/SKILL.md", "two/c/SKILL.md", "three/d/SKILL.md")))
    three = ["one/a/SKILL.md", "two/b/SKILL.md", "two/c/SKILL.md"]
    assert found(root / "two", root / "one", root / "two/b/..") == three
    mixed = discover([str(root / "two"), str(root / "one/a/SKILL.md")], CONFIG)
    assert targets(mixed) == three
    assert len(mixed.entries) == 4


def test_a_named_skill_folder_takes_its_nested_skills_along_and_a_file_does_not(tree: Write) -> None:
    root = git(tree(files("a/SKILL.md", "a/sub/SKILL.md", "b/SKILL.md")))
    assert targets(discover([str(root / "a")], CONFIG)) == ["a/SKILL.md", "a/sub/SKILL.md"]
    assert targets(discover([str(root / "a/SKILL.md")], CONFIG)) == ["a/SKILL.md"]
    assert targets(discover([str(root / "a/sub/SKILL.md")], CONFIG)) == ["a/sub/SKILL.md"]


def test_files_of_no_skill_are_loose(tree: Write) -> None:
    root = git(tree(files("registries/claims.jsonl", "a/SKILL.md")))
    discovery = discover([str(root / "registries/claims.jsonl")], CONFIG)
    assert (targets(discovery), discovery.loose) == ([], ("registries/claims.jsonl",))
    assert [entry.path for entry in discovery.entries] == ["a/SKILL.md"]


def test_a_folder_of_no_skill_in_a_repository_that_is_one_skill(tree: Write) -> None:
    root = git(tree(files("SKILL.md", "docs/x.md")))
    (entry,) = discover([str(root / "docs")], CONFIG).entries
    assert (entry.path, entry.target, entry.files) == ("SKILL.md", True, ("docs/x.md",))


@pytest.mark.parametrize("path", ["missing", "missing/SKILL.md", "a\0b"])
def test_no_such_path(tree: Write, path: str) -> None:
    tree(files("a/SKILL.md"))
    with pytest.raises(UsageError, match=re.escape(path) + "$"):
        discover([path], CONFIG)


def test_a_root_of_which_the_name_is_a_beginning(tree: Write) -> None:
    root = tree(files("a/SKILL.md", "ab/SKILL.md"))
    with pytest.raises(UsageError, match="is outside the root"):
        discover([str(root / "ab")], CONFIG, str(root / "a"))


# -- the root ---------------------------------------------------------------------------------------------------------


def test_roots(tree: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(files("in/skills/a/SKILL.md", "in/skills/a/references/x.md", "in/skills/b/SKILL.md"))
    skills = root / "in/skills"
    assert find_root([str(skills / "a")]) == str(root), "the current directory"
    assert find_root([]) == str(root)
    monkeypatch.chdir(tmp_path.parent.parent)
    monkeypatch.chdir(skills / "b")
    assert find_root([str(skills)]) == str(skills), "the named folder"
    for path in ("a", "a/SKILL.md", "a/references", "a/references/x.md"):
        assert find_root([str(skills / path)]) == str(skills), "above the skill"
    assert find_root([str(skills / "a"), str(skills / "b/SKILL.md")]) == str(skills)
    git(root)
    assert find_root([str(skills / "a")]) == str(root), "the top of the repository"
    (root / "in/pyproject.toml").write_text("[project]\nname = 'skill-health'\n")
    assert find_root([str(skills / "a")]) == str(root), "no settings in it"
    (root / "in/pyproject.toml").write_text("[tool.skill-health]\n")
    assert find_root([str(skills / "a")]) == str(root / "in"), "the nearest settings"
    (skills / "skill-health.toml").touch()
    assert find_root([str(skills / "a"), str(skills / "b")]) == str(skills)
    assert find_root([str(skills / "a"), str(root / "in")]) == str(root / "in")


def test_settings_above_the_repository_are_not_its_settings(tree: Write) -> None:
    root = tree(files("repository/a/SKILL.md"))
    (root / "skill-health.toml").touch()
    assert find_root([str(root / "repository/a")]) == str(root)
    git(root / "repository")
    assert find_root([str(root / "repository/a")]) == str(root / "repository")


# -- ignored and excluded ---------------------------------------------------------------------------------------------


def test_gitignore_of_every_level(tree: Write) -> None:
    root = git(
        tree(files("a/SKILL.md", "a/x.log", "b/SKILL.md", "c/d/SKILL.md", "c/e/SKILL.md", "f/SKILL.md", "g/SKILL.md"))
    )
    (root / ".gitignore").write_text("*.log\n/b/\n")
    (root / "c/.gitignore").write_text("d\n!e\n")
    (root / ".git/info/exclude").write_text("/f\n!b\n")
    (root / "g/.gitignore").write_text("*\n")
    discovery = discover([str(root)], CONFIG)
    assert [(entry.path, entry.files) for entry in discovery.entries] == [("a/SKILL.md", ()), ("c/e/SKILL.md", ())]


def test_gitignore_without_git_and_above_the_named_folder(tree: Write) -> None:
    root = tree(files("in/skills/a/SKILL.md", "in/skills/b/SKILL.md", "in/skills/c/SKILL.md"))
    (root / ".gitignore").write_text("/in/skills/a\n")
    (root / "in/.gitignore").write_text("skills/b/\n")
    assert found(root) == found(root / "in/skills") == ["in/skills/c/SKILL.md"]


def test_gitignore_above_the_root(tree: Write) -> None:
    root = git(tree(files("in/skills/a/SKILL.md", "in/skills/b/SKILL.md", "in/skill-health.toml")))
    (root / ".gitignore").write_text("/in/skills/a\n")
    discovery = discover([str(root / "in")], CONFIG)
    assert (discovery.root, [entry.path for entry in discovery.entries]) == (str(root / "in"), ["skills/b/SKILL.md"])


def test_what_is_named_is_checked_although_it_is_ignored(tree: Write) -> None:
    root = git(tree(files("dist/skills/a/SKILL.md", "dist/skills/a/x.md", "dist/skills/b/SKILL.md", "c/SKILL.md")))
    (root / ".gitignore").write_text("dist/**\n")
    config = Config(exclude=("c/", "dist/skills/b"))
    assert found(root / "dist/skills", config=config) == ["dist/skills/a/SKILL.md"]
    assert found(root / "dist/skills/b", root / "c", config=config) == ["c/SKILL.md", "dist/skills/b/SKILL.md"]
    one = discover([str(root / "dist/skills/a/SKILL.md")], config)
    assert [(entry.path, entry.target, entry.files) for entry in one.entries] == [
        ("dist/skills/a/SKILL.md", True, ("x.md",))
    ]


def test_forced_excludes_hold_for_named_paths(tree: Write) -> None:
    root = git(tree(files("a/SKILL.md", "rotten/b/SKILL.md")))
    config = Config(exclude=("rotten/",))
    named = [str(root / "rotten/b/SKILL.md"), str(root / "rotten"), str(root / "a/SKILL.md")]
    assert targets(discover(named, config)) == ["a/SKILL.md", "rotten/b/SKILL.md"]
    assert [entry.path for entry in discover(named, config, force_exclude=True).entries] == ["a/SKILL.md"]
    assert discover(named[:1], config, force_exclude=True).entries == ()


MATERIAL = (
    "testdata/a", "tests/fixtures/b", "skills/live/__tests__/c", "skill-flavors/web/live", "examples/bad/d", "backups/2026/e",
    "template", "skills/TEMPLATE", "skills/live/tests/f",
)  # fmt: skip
LIVE = (
    "skills/live", "skills/tests", "skills/backups", "plugins/templates/skills/g", "examples/good/h", "testing/i",
    "skills/live/templates",
)  # fmt: skip


def test_test_data_templates_overlays_and_backups_are_left_out_and_counted(tree: Write) -> None:
    root = tree(files(*(f"{folder}/SKILL.md" for folder in (*MATERIAL, *LIVE))))
    discovery = discover([str(root)], CONFIG)
    assert [entry.folder for entry in discovery.entries] == sorted(LIVE)
    (warning,) = discovery.warnings
    assert "9 SKILL.md below backups (1), examples/bad (1), skill-flavors (1)" in warning and "and 4 more" in warning
    included = discover([str(root)], CONFIG._replace(include=("tests/", "/template")))
    assert {entry.folder for entry in included.entries} == {
        *LIVE, "tests/fixtures/b", "template", "skills/live/tests/f",
    }  # fmt: skip
    assert "6 SKILL.md" in included.warnings[0]


@pytest.mark.parametrize("place", ["tests", "tests/fixtures", "tests/fixtures/b", "tests/fixtures/b/SKILL.md"])
@pytest.mark.parametrize("marker", ["", "skill-health.toml"])
def test_test_data_that_is_named_is_checked_with_what_lies_beside_it(tree: Write, place: str, marker: str) -> None:
    root = tree(
        files("skills/a/SKILL.md", "tests/fixtures/b/SKILL.md", "tests/fixtures/c/SKILL.md", *filter(None, [marker]))
    )
    discovery = discover([str(root / place)], CONFIG, str(root))
    assert "tests/fixtures/b/SKILL.md" in targets(discovery)
    assert "tests/fixtures/c/SKILL.md" in [entry.path for entry in discovery.entries]
    assert not discovery.warnings


def test_excludes_are_the_last_word(tree: Write) -> None:
    root = tree(files("a/SKILL.md", "b/SKILL.md", "b/x.md", "drafts/c/SKILL.md", "d/drafts/e/SKILL.md"))
    (root / ".gitignore").write_text("a\n")
    assert found(root, config=Config(exclude=("drafts/", "b/*.md", "!a"))) == ["a/SKILL.md"]


def test_a_gitignore_that_is_too_large_is_refused(tree: Write) -> None:
    root = tree(files("s/a/SKILL.md"))
    (root / "s/.gitignore").write_bytes(b"x\n" * 600_000)
    with pytest.raises(UsageError, match=r"s/\.gitignore"):
        discover([str(root)], CONFIG)


NAMES = st.sampled_from(["a", "b", "ab", "skills", "drafts"])
GLOBS = st.builds(
    lambda bang, lead, parts, tail: bang + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/", "**/"]),
    st.lists(st.sampled_from(["a", "b", "*", "a*", "?", "**", "skills", "SKILL.md", "*.md"]), min_size=1, max_size=3),
    st.sampled_from(["", "/", "/**"]),
)


@pytest.mark.slow
@given(
    st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=6), st.lists(GLOBS, max_size=4)
)
def test_ignored_and_excluded_as_git_would(
    tmp_path_factory: pytest.TempPathFactory, folders: list[str], globs: list[str]
) -> None:
    root = git(tmp_path_factory.mktemp("r").resolve())
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "SKILL.md").write_text(folder)
    excluded = found(root, config=Config(exclude=tuple(globs)))
    (root / ".gitignore").write_text("\n".join(globs))
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert excluded == found(root) == sorted(path for path in listed.split("\n") if path.endswith("SKILL.md"))


# -- copies and links -------------------------------------------------------------------------------------------------


def test_byte_identical_copies_are_one_skill(tree: Write) -> None:
    root = tree(
        {
            "skills/a/SKILL.md": "same", "skills/a/x.md": "x", ".claude/skills/a/SKILL.md": "same",
            ".claude/skills/a/x.md": "x", "p/a/SKILL.md": "same", "p/a/x.md": "y", "q/a/SKILL.md": "came",
            "q/a/x.md": "x", "r/a/SKILL.md": "same", "r/b/SKILL.md": "same", "r/b/x.md": "x",
        }
    )  # fmt: skip
    entries = discover([str(root)], CONFIG).entries
    assert {entry.path: entry.copies for entry in entries} == {
        ".claude/skills/a/SKILL.md": ("skills/a/SKILL.md",), "p/a/SKILL.md": (), "q/a/SKILL.md": (),
        "r/a/SKILL.md": (), "r/b/SKILL.md": (),
    }  # fmt: skip


def test_a_copy_that_is_asked_for_makes_its_skill_a_target(tree: Write) -> None:
    root = git(tree({"a/s/SKILL.md": "same", "b/s/SKILL.md": "same", "c/SKILL.md": ""}))
    discovery = discover([str(root / "b/s/SKILL.md")], CONFIG)
    assert targets(discovery) == ["a/s/SKILL.md"]


def test_large_copies_are_not_compared(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a/s/SKILL.md": "same", "b/s/SKILL.md": "same"})
    monkeypatch.setattr("skill_health.discovery.corpus.MAX_BYTES", 3)
    assert len(discover([str(root)], CONFIG).entries) == 2


def test_linked_folders_are_copies(tree: Write) -> None:
    root = tree(files("skills/a/SKILL.md", "skills/b/SKILL.md"))
    (root / ".claude").mkdir()
    (root / ".claude/skills").symlink_to("../skills")
    (root / ".agents").mkdir()
    (root / ".agents/alias").symlink_to("../skills/b")
    entries = discover([str(root)], CONFIG).entries
    assert [(entry.path, entry.copies) for entry in entries] == [
        ("skills/a/SKILL.md", (".claude/skills/a/SKILL.md",)),
        ("skills/b/SKILL.md", (".agents/alias/SKILL.md", ".claude/skills/b/SKILL.md")),
    ]


def test_a_linked_skill_md_stands_behind_the_real_one(tree: Write) -> None:
    root = tree({"z/s/SKILL.md": "same"})
    (root / "a/s").mkdir(parents=True)
    (root / "a/s/SKILL.md").symlink_to("../../z/s/SKILL.md")
    (entry,) = discover([str(root)], CONFIG).entries
    assert (entry.path, entry.copies) == ("z/s/SKILL.md", ("a/s/SKILL.md",))


def test_a_named_link_means_what_it_leads_to(tree: Write) -> None:
    root = git(tree(files("skills/a/SKILL.md", "skills/b/SKILL.md")))
    (root / ".claude").mkdir()
    (root / ".claude/skills").symlink_to("../skills")
    assert targets(discover([str(root / ".claude/skills/a/SKILL.md")], CONFIG)) == ["skills/a/SKILL.md"]
    assert found(root / ".claude/skills") == ["skills/a/SKILL.md", "skills/b/SKILL.md"]


def test_links_into_what_is_not_walked_are_walked_in_their_place(tree: Write) -> None:
    root = git(
        tree(
            files(
                ".store/a/SKILL.md", ".store/a/x.md", ".store/b/SKILL.md", "node_modules/n/SKILL.md",
                "vendor/v/SKILL.md",
            )
        )
    )  # fmt: skip
    (root / "skills").mkdir()
    (root / "skills/a").symlink_to("../.store/a")
    (root / "skills/all").symlink_to("../.store")
    (root / "skills/n").symlink_to("../node_modules/n")
    (root / "skills/v").symlink_to("../vendor/v")
    discovery = discover([str(root)], Config(exclude=("vendor",)))
    assert [(entry.path, entry.files, entry.copies) for entry in discovery.entries] == [
        ("skills/a/SKILL.md", ("x.md",), ("skills/all/a/SKILL.md",)),
        ("skills/all/b/SKILL.md", (), ()),
        ("skills/n/SKILL.md", (), ()),
    ]
    named = discover([str(root / ".store/b/SKILL.md")], CONFIG)
    assert targets(named) == [".store/b/SKILL.md"]
    assert named.entries[0].copies == ("skills/all/b/SKILL.md",)


def test_loops_of_folders_end(tree: Write) -> None:
    root = tree(files("skills/a/SKILL.md", "skills/b/SKILL.md", ".store/c/SKILL.md"))
    (root / "skills/a/self").symlink_to(".")
    (root / "skills/a/up").symlink_to("../..")
    (root / "skills/a/other").symlink_to("../b")
    (root / "skills/b/other").symlink_to("../a")
    (root / ".store/c/back").symlink_to("../../skills/s")
    (root / "skills/s").symlink_to("../.store")
    (root / "skills/x").symlink_to("y")
    (root / "skills/y").symlink_to("x")
    discovery = discover([str(root)], CONFIG)
    assert [(entry.path, entry.copies) for entry in discovery.entries] == [
        ("skills/a/SKILL.md", ("skills/b/other/SKILL.md",)),
        ("skills/b/SKILL.md", ("skills/a/other/SKILL.md",)),
        ("skills/s/c/SKILL.md", ()),
    ]
    assert discovery.warnings == ()


def test_links_out_of_the_root_are_named_and_not_followed(tree: Write, tmp_path: Path) -> None:
    root = tree(files("skills/a/SKILL.md"))
    for name in ("p", "q"):
        (tmp_path / "elsewhere" / name).mkdir(parents=True)
        (tmp_path / "elsewhere" / name / "SKILL.md").write_text(name)
        (root / "skills" / name).symlink_to(tmp_path / "elsewhere" / name)
    (root / "skills/none").symlink_to(tmp_path)
    discovery = discover([str(root)], CONFIG)
    assert [entry.path for entry in discovery.entries] == ["skills/a/SKILL.md"]
    (warning,) = discovery.warnings
    assert "lead out of" in warning and "skills/p, skills/q;" in warning
    assert targets(discover([str(root / "skills/p")], CONFIG)) == ["p/SKILL.md"]


# -- what is wrong with the disk --------------------------------------------------------------------------------------


def test_skill_md_that_cannot_be_read(tree: Write) -> None:
    root = tree(files("ok/SKILL.md", "folder/SKILL.md/x.md", "folder/y.md"))
    for name, target in (("dangling", "missing"), ("loop", "SKILL.md"), ("through", "../ok/SKILL.md/x")):
        (root / name).mkdir()
        (root / name / "SKILL.md").symlink_to(target)
    os.mkfifo(root / "ok" / "pipe")
    (root / "pipe").mkdir()
    os.mkfifo(root / "pipe" / "SKILL.md")
    entries = discover([str(root)], CONFIG).entries
    assert {entry.folder: (entry.problem, entry.files) for entry in entries} == {
        "dangling": ("dangling", ()), "folder": ("directory", ("y.md",)), "loop": ("loop", ()), "ok": ("", ()),
        "pipe": ("unreadable", ()), "through": ("dangling", ()),
    }  # fmt: skip
    for name in ("dangling", "folder", "loop", "pipe"):
        git(root)
        assert targets(discover([str(root / name / "SKILL.md")], CONFIG)) == [f"{name}/SKILL.md"]


def test_a_link_that_leads_nowhere_is_no_path(tree: Write) -> None:
    root = tree(files("a/SKILL.md"))
    (root / "b").symlink_to("missing")
    with pytest.raises(UsageError, match="leads nowhere"):
        discover([str(root / "b")], CONFIG)


def test_no_permission(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(files("a/SKILL.md", "b/SKILL.md", "locked/c/SKILL.md"))
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(listing.os, "scandir", scandir)
    monkeypatch.setattr(listing.os, "access", lambda path, mode: not path.endswith("a/SKILL.md"))
    discovery = discover([str(root)], CONFIG)
    assert [(entry.path, entry.problem) for entry in discovery.entries] == [
        ("a/SKILL.md", "unreadable"),
        ("b/SKILL.md", ""),
    ]
    assert discovery.unread == (("locked", "Permission denied"),)


def test_sockets_and_the_like_are_no_files(tree: Write) -> None:
    root = tree(files("a/SKILL.md"))
    with socket.socket(socket.AF_UNIX) as bound:
        try:
            bound.bind(str(root / "a/s"))
        except OSError:
            pytest.skip("the path is too long for a socket")
        assert discover([str(root)], CONFIG).entries[0].files == ()


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_names_of_any_bytes(tree: Write) -> None:
    root = tree(files("a/SKILL.md"))
    odd = os.fsdecode(b"\xff \n\x1b[0m")
    (root / odd).mkdir()
    (root / odd / "SKILL.md").write_text("x")
    (root / "a" / odd).write_text("x")
    entries = discover([str(root)], CONFIG).entries
    assert [(entry.path, entry.files) for entry in entries] == [("a/SKILL.md", (odd,)), (f"{odd}/SKILL.md", ())]


def test_bounds(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(files("a/SKILL.md", "b/SKILL.md", "c/1.md", "c/2.md", "d/SKILL.md", "e/f/g/SKILL.md"))
    monkeypatch.setattr(corpus, "MAX_ENTRIES", 8)
    with pytest.raises(AbortedError, match="stopped at c after 8 files and folders, and nothing was judged"):
        discover([str(root)], CONFIG)
    monkeypatch.setattr(corpus, "MAX_ENTRIES", 14)
    assert len(discover([str(root)], CONFIG).entries) == 4
    monkeypatch.setattr(corpus, "MAX_ENTRIES", 1000)
    monkeypatch.setattr(corpus, "MAX_FILES", 1)
    (root / "a/1.md").touch()
    (root / "a/2.md").touch()
    discovery = discover([str(root)], CONFIG)
    assert discovery.entries[0].files == ("1.md",)


@pytest.mark.slow
def test_no_folder_of_a_deep_tree_with_many_links_is_listed_twice(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(files("skills/a/SKILL.md", "/".join("d" * 100) + "/SKILL.md"))
    for n in range(300):
        (root / f"l{n}").symlink_to("skills")
        (root / f"skills/l{n}").symlink_to(f"../l{n}")
    listed: list[str] = []
    real = os.scandir
    monkeypatch.setattr(listing.os, "scandir", lambda path: listed.append(path) or real(path))
    discovery = discover([str(root)], CONFIG)
    assert len(listed) == len({*listed}) == 103
    assert [len(entry.copies) for entry in discovery.entries] == [0, 300]


def test_a_single_skill_needs_one_walk(tree: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = git(tree(files(*(f"skills/s{n}/SKILL.md" for n in range(50)))))
    calls: list[str] = []
    real = os.scandir
    monkeypatch.setattr(listing.os, "scandir", lambda path: calls.append(path) or real(path))
    assert len(targets(discover([str(root / "skills/s7/SKILL.md")], CONFIG))) == 1
    assert sorted(calls) == sorted({*calls}) and len(calls) == 52
