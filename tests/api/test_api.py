"""What other programs call: the example of the documentation, equality with the command line, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import skill_health
from skill_health.cli import main
from skill_health.documents.lint_report import LintDocument
from skill_health.documents.skill_record import SkillRecords

ROOT = Path(__file__).resolve().parents[2]
NOTES = """---
name: release-notes
description: Writes release notes from merged changes. Use when a version is about to ship.
license: MIT
---

# Release notes

Read [the style guide](references/style.md) first.
"""
TIDY = """---
name: tidy
description: Sorts lists. Use when a list is out of order.
---
# Tidy

Sort it.
"""
Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def collection(write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    notes = {"skills/release-notes/SKILL.md": NOTES, "skills/release-notes/scripts/gather.py": "print()\n"}
    root = write(notes | {"skills/tidy/SKILL.md": TIDY})
    monkeypatch.chdir(root)
    return root


def test_everything_offered_is_there_and_nothing_else() -> None:
    offered = {name: getattr(skill_health, name) for name in skill_health.__all__}
    assert all(value.__name__ == name for name, value in offered.items())
    table = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert all(f"`{name}" in table for name in offered if name != "RankedSkill")
    with pytest.raises(AttributeError, match="lint_path"):
        _ = skill_health.lint_path


def test_the_example_of_the_documentation(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    exec(compile(example, "docs/api.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("skills/release-notes/SKILL.md:9: warning LI001 ") for line in lines)
    assert "release-notes ['scripts/gather.py'] MIT" in lines
    assert lines[-1].startswith("release-notes ['release-notes'")
    assert re.fullmatch(r"skills/release-notes/SKILL.md scores 0\.\d+", lines[-3])


def test_a_report_is_what_the_command_line_writes(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--format", "json", "--score"]) == 0
    (collection / "report.json").write_text(capsys.readouterr().out)
    read = skill_health.read_report("report.json")
    assert read == skill_health.lint_paths(score=True)
    assert isinstance(read, LintDocument) and read.findings
    assert skill_health.read_report(collection / "report.json", LintDocument) == read


def test_nothing_is_printed(collection: Path, capfd: pytest.CaptureFixture[str]) -> None:
    skill_health.lint_paths("skills")
    skill_health.route("Sort this", "skills")
    assert capfd.readouterr() == ("", "")


def test_rules_are_chosen(collection: Path) -> None:
    codes = {finding.code for finding in skill_health.lint_paths().findings}
    assert "LI001" in codes and len(codes) > 1
    assert {finding.code for finding in skill_health.lint_paths(select=["LI001"]).findings} == {"LI001"}
    assert {finding.code for finding in skill_health.lint_paths(ignore=["LI001"]).findings} == codes - {"LI001"}


def test_what_a_baseline_knows_is_counted_and_not_listed(collection: Path) -> None:
    assert main(["lint", "--write-baseline", "as it was found"]) in (0, 1)
    report = skill_health.lint_paths()
    assert report.findings == () and report.summary.baselined > 0


def test_a_skill_is_read_as_it_stands(collection: Path) -> None:
    for path in ("skills/release-notes", collection / "skills" / "release-notes" / "SKILL.md"):
        skill = skill_health.load_skill(path)
        assert (skill.path, skill.root, skill.name) == (
            "skills/release-notes/SKILL.md", str(collection), "release-notes",
        )  # fmt: skip
        assert skill.body.lstrip().startswith("# Release notes") and skill.problems == ()


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [("", "odd", ""), ("---\nname: x\ndescription: a: b\n---\n", "x", "colon"), ("\x00\x01", "odd", "")],
    ids=["empty", "no YAML", "bytes"],
)
def test_a_broken_skill_is_read_all_the_same(write: Write, text: str, name: str, problem: str) -> None:
    root = write({"skills/odd/SKILL.md": text})
    skill = skill_health.load_skill(root / "skills" / "odd")
    assert skill.name == name and problem in " ".join(skill.problems)


def test_a_link_out_of_the_repository_is_not_followed(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.md"
    secret.write_text("---\nname: secret\n---\n")
    root = write({"skill-health.toml": "", "skills/odd/notes.md": ""})
    (root / "skills" / "odd" / "SKILL.md").symlink_to(secret)
    found = skill_health.load_skill(root / "skills" / "odd")
    assert (found.name, found.frontmatter, found.body) == ("odd", {}, "")
    assert found.problems


def test_prompts_are_routed(collection: Path) -> None:
    first, second = skill_health.route(["Sort this list, please", "zzz qqq"], "skills")
    assert (first.picked, first.ranking[0].name, first.listed) == ("tidy", "tidy", 2)
    assert (second.picked, second.ranking) == (None, ())
    assert skill_health.route("Sort this list, please", "skills") == (first,)


@pytest.mark.parametrize("router", ["openai:gpt-5-mini", "no-such", "scripted"])
def test_no_router_that_asks_a_model(collection: Path, router: str) -> None:
    with pytest.raises(skill_health.UsageError):
        skill_health.route("Sort", router=router)


def test_changes_are_by_content(collection: Path) -> None:
    before = skill_health.lint_paths(score=True)
    path = collection / "skills" / "release-notes" / "SKILL.md"
    path.write_text(NOTES.replace("# Release notes\n", "# Release notes\n\nOne line more.\n"))
    moved = skill_health.compare(before, skill_health.lint_paths(score=True))
    assert (moved.new, moved.fixed, moved.scores) == ((), (), {}) and moved.same == len(before.findings)
    path.write_text(NOTES.replace("references/style.md", "references/other.md") + "\nSee [more](more.md).\n")
    change = skill_health.compare(before, skill_health.lint_paths(score=True))
    assert [finding.code for finding in change.fixed] == ["LI001"]
    assert [finding.code for finding in change.new] == ["LI001", "LI001"]
    was, now = change.scores["skills/release-notes/SKILL.md"]
    assert was is not None and now is not None and now < was
    back = skill_health.compare(skill_health.lint_paths(score=True), before)
    assert (back.new, back.fixed) == (change.fixed, change.new)


def test_reports_of_two_profiles_are_not_compared(collection: Path) -> None:
    with pytest.raises(skill_health.UsageError, match="profile"):
        skill_health.compare(skill_health.lint_paths(), skill_health.lint_paths(profile="plan-v2.3.0"))


FOREIGN = "no document of ours"
NOT_JSON = "not JSON"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", NOT_JSON), (b"\xff\xfe", NOT_JSON), (b"[]", FOREIGN),
        (b'{"schema": "skill-health/report/99"}', "skill-health/report/99"), (b'{"schema": 7}', FOREIGN),
        (b'{"schema": "skill-health/report/1", "tool": 3}', "tool"), (b'{"a":' * 100_000, NOT_JSON),
    ],
    ids=["empty", "bytes", "list", "later", "number", "torn", "deep"],
)  # fmt: skip
def test_other_files_are_refused_with_a_reason(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(skill_health.UsageError, match=re.escape(said)):
        skill_health.read_report(tmp_path / "file.json")


def test_another_document_than_meant_is_refused(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--format", "json"])
    (collection / "report.json").write_text(capsys.readouterr().out)
    with pytest.raises(skill_health.UsageError, match="is a LintDocument, not a SkillRecords"):
        skill_health.read_report("report.json", SkillRecords)
    for missing in ("none.json", "."):
        with pytest.raises(skill_health.UsageError, match="cannot read"):
            skill_health.read_report(missing)
    assert json.loads((collection / "report.json").read_text())["schema"] == LintDocument.ID


@pytest.mark.parametrize("path", ["nowhere", ""])
def test_a_wrong_path_is_the_callers_mistake(collection: Path, path: str) -> None:
    for call in (skill_health.lint_paths, skill_health.load_skill):
        with pytest.raises(skill_health.UsageError):
            call(path)
