"""The tools of an agent: what they answer, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.mcp.tools import MOST, SkillTools, ToolRefusal

ROTTEN = """---
name: release-notes
description: Writes release notes: features, fixes. Use when a version is about to ship.
---

# Release notes

Read [the style guide](references/style.md) first.
"""
TIDY = "---\nname: tidy\ndescription: Sorts lists. Use when a list is out of order.\n---\n# Tidy\n\nSort it.\n"
Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def root(write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = write({"skills/release-notes/SKILL.md": ROTTEN, "skills/tidy/SKILL.md": TIDY})
    monkeypatch.chdir(found)
    return found


def test_what_it_finds_names_place_rule_and_help(root: Path) -> None:
    answer = SkillTools(".").call("lint", {"path": "skills"})
    assert "skills/release-notes/SKILL.md:3:34: error FM003" in answer
    assert "help: Put the value of 'description' in quotes." in answer and "LI001" in answer
    assert "LI001" not in SkillTools(".").call("lint", {"path": "skills", "severity": "error"})
    clean = SkillTools(".").call("lint", {"path": "skills/tidy"})
    assert clean.startswith("1 skill ") and clean.count("\n") == 1


@pytest.mark.parametrize("rule", ["FM003", "fm003", "unquoted-colon"])
def test_a_rule_is_explained(root: Path, rule: str) -> None:
    assert SkillTools(".").call("explain_rule", {"rule": rule}).startswith("# FM003 unquoted-colon\n")


def test_fixes_are_shown_and_only_with_leave_applied(root: Path) -> None:
    file = root / "skills" / "release-notes" / "SKILL.md"
    reader, writer = SkillTools("."), SkillTools(".", writing=True)
    assert '+description: "Writes release notes: features' in reader.call("preview_fix", {"path": "skills"})
    assert "apply_fix" not in reader.tools and "apply_fix" in writer.tools
    with pytest.raises(ToolRefusal, match="there is no tool 'apply_fix'"):
        reader.call("apply_fix", {})
    assert file.read_text() == ROTTEN
    assert "fixed skills/release-notes/SKILL.md:3" in writer.call("apply_fix", {})
    assert "FM003" not in writer.call("lint", {})
    assert writer.call("apply_fix", {}) == "there is nothing to fix automatically\n"


def test_a_prompt_is_routed(root: Path) -> None:
    answer = SkillTools(".").call("route_prompt", {"prompt": "Sort this list, it is out of order"})
    assert answer.startswith("picked: tidy\n1. tidy  ") and "over 2 listed skills" in answer
    assert SkillTools(".").call("route_prompt", {"prompt": "zzz qqq"}).startswith("picked: no skill")


def test_what_is_known_is_joined(root: Path) -> None:
    answer = SkillTools(".").call("status", {})
    assert "| tidy |" in answer and "release-notes" in answer


OUTSIDE = (
    "..", "../..", "/", "/etc/passwd", "skills/../..", "out", "out/skills", "skills/../../x",
    "skills/tidy/../../..",
)  # fmt: skip


@pytest.mark.parametrize("tool", ["lint", "preview_fix", "apply_fix", "route_prompt", "status"])
def test_no_path_leads_out(root: Path, tmp_path_factory: pytest.TempPathFactory, tool: str) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "skills").mkdir()
    (other / "skills" / "SKILL.md").write_text(ROTTEN.replace("release-notes", "secret"))
    (root / "out").symlink_to(other)
    for path in OUTSIDE:
        with pytest.raises(ToolRefusal, match="is outside of the folder"):
            SkillTools(".", writing=True).call(tool, {"path": path, "prompt": "x"})
    assert (other / "skills" / "SKILL.md").read_text() == ROTTEN.replace("release-notes", "secret")


@pytest.mark.parametrize("path", ["a\0b", "x" * 10_000, "nowhere", "skills/tidy/none.md"])
def test_a_path_that_is_none_is_said(root: Path, path: str) -> None:
    with pytest.raises(ToolRefusal) as refused:
        SkillTools(".").call("lint", {"path": path})
    assert "\0" not in str(refused.value)


@given(st.text(max_size=40))
def test_whatever_path_is_named_nothing_outside_is_told(root: Path, path: str) -> None:
    tools = SkillTools("skills/tidy")
    try:
        answer = tools.call("lint", {"path": path})
    except (ToolRefusal, OSError):
        return
    assert "release-notes" not in answer


def test_a_collection_that_reaches_beyond_the_folder_is_not_written_there(root: Path) -> None:
    (root / ".git").mkdir()
    (root / "skills" / "tidy" / "SKILL.md").unlink()
    (root / "skills" / "tidy" / "SKILL.md").symlink_to("../release-notes/SKILL.md")
    tools = SkillTools("skills/tidy", writing=True)
    tools.call("apply_fix", {})
    assert (root / "skills" / "release-notes" / "SKILL.md").read_text() == ROTTEN


def test_the_folder_itself_keeps_its_name(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({"skills/Wrong Name/SKILL.md": TIDY})
    monkeypatch.chdir(root)
    SkillTools("skills/Wrong Name", writing=True).call("apply_fix", {"unsafe": True})
    assert (root / "skills" / "Wrong Name").is_dir()


def test_what_a_skill_says_cannot_forge_an_answer(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TIDY.replace("Sort it.", "See [\x1b[2Jx](gone\x1b]8;;evil.md).")
    monkeypatch.chdir(write({"skills/tidy/SKILL.md": text}))
    for tool, more in (
        ("lint", {}), ("preview_fix", {}), ("status", {}), ("route_prompt", {"prompt": "\x1b[2J sort a list"}),
    ):  # fmt: skip
        assert "\x1b" not in SkillTools(".").call(tool, more)


def test_long_answers_are_cut_and_say_so(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    links = "".join(f"See [page {n}](pages/page-{n}.md).\n\n" for n in range(400))
    monkeypatch.chdir(write({"skills/tidy/SKILL.md": TIDY + links}))
    answer = SkillTools(".").call("lint", {})
    assert len(answer) < MOST + 200 and "more lines are not shown" in answer.splitlines()[-1]
