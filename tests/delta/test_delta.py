"""What a branch does to the skills: both states are in a real repository."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from records_made import effect_line
from repositories import commit, git

from skill_health.cli import main
from skill_health.core.validation import problems
from skill_health.delta.build import DeltaRequest, compare_states
from skill_health.delta.render import delta_blocks
from skill_health.documents.delta_report import DeltaReport
from skill_health.lint.pipeline import configure
from skill_health.text.blocks import as_markdown

Said = pytest.CaptureFixture[str]
SKILL = """---
name: {0}
description: Sorts {0} by size. Use when {0} are out of order.
---
# {0}

Sort the {0}, then check the order.
"""
BROKEN = "\nSee [the guide](gone.md).\n"
DAY = date(2026, 11, 21)
Write = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def root(write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    prompts = [
        {"prompt_id": f"p{n}", "prompt": f"Please sort my {name} by size", "expected_primary_skill": name}
        for n, name in enumerate(("plums", "pears", "figs"))
    ]
    skills = {f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("plums", "pears", "figs")}
    registry = "".join(json.dumps(each) + "\n" for each in prompts)
    found = write({"skill-health.toml": "", "registries/prompts.jsonl": registry, **skills})
    git(found, "init", "--quiet", "--initial-branch", "main")
    commit(found)
    git(found, "switch", "--quiet", "--create", "topic")
    monkeypatch.chdir(found)
    return found


def delta(root: Path, *paths: str, since: str = "main") -> DeltaReport:
    top, config = configure(paths or (str(root),), None, {})
    request = DeltaRequest(paths or (str(root),), top, config, since, DAY, str(root / "reports"), use_cache=False)
    report = compare_states(request)
    assert problems("delta", json.loads(msgspec.json.encode(report))) == []
    as_markdown(delta_blocks(report))
    return report


def skill(root: Path, name: str) -> Path:
    return root / "skills" / name / "SKILL.md"


@pytest.mark.slow
def test_nothing_is_said_of_what_is_the_same(root: Path) -> None:
    report = delta(root)
    assert (report.skills, report.new, report.fixed, report.routing, report.measurements) == ((), (), (), (), ())
    assert report.base == report.head == git(root, "rev-parse", "main")
    assert "No skill has changed." in as_markdown(delta_blocks(report))


@pytest.mark.slow
@pytest.mark.parametrize("committed", [False, True])
def test_what_is_new_and_what_is_fixed(root: Path, committed: bool) -> None:
    skill(root, "pears").write_text(SKILL.format("pears") + BROKEN)
    git(root, "switch", "--quiet", "main")
    commit(root)
    git(root, "switch", "--quiet", "--force-create", "topic")
    skill(root, "pears").write_text(SKILL.format("pears"))
    skill(root, "plums").write_text(SKILL.format("plums") + BROKEN)
    if committed:
        commit(root)
    report = delta(root)
    assert [(each.code, each.severity, each.path) for each in report.new] == [
        ("LI001", "error", "skills/plums/SKILL.md")
    ]
    assert [(each.code, each.severity, each.path) for each in report.fixed] == [
        ("LI001", "warning", "skills/pears/SKILL.md")
    ]
    assert [(each.path, each.kind, each.new, each.fixed) for each in report.skills] == [
        ("skills/pears/SKILL.md", "changed", 0, 1),
        ("skills/plums/SKILL.md", "changed", 1, 0),
    ]
    assert {(each.described, each.entry.before == each.entry.after) for each in report.skills} == {(False, True)}
    assert report.routing == (), "no description has changed"


@pytest.mark.slow
def test_a_skill_of_each_kind(root: Path) -> None:
    git(root, "mv", "skills/plums", "skills/prunes")
    shutil.rmtree(root / "skills" / "pears")
    (root / "skills" / "nuts").mkdir()
    skill(root, "nuts").write_text(SKILL.format("nuts"))
    skill(root, "figs").write_text(SKILL.format("figs").replace("by size", "by weight and colour"))
    report = delta(root)
    assert [(each.path, each.kind, each.before) for each in report.skills] == [
        ("skills/figs/SKILL.md", "changed", ""),
        ("skills/nuts/SKILL.md", "added", ""),
        ("skills/pears/SKILL.md", "removed", ""),
        ("skills/prunes/SKILL.md", "moved", "skills/plums/SKILL.md"),
    ]
    figs, nuts, pears, prunes = report.skills
    assert figs.described and figs.entry.after > figs.entry.before > 0
    assert (nuts.entry.before, nuts.text.before) == (0, 0) < (nuts.entry.after, nuts.text.after)
    assert (pears.entry.after, pears.text.after) == (0, 0)
    assert not prunes.described
    assert (report.total.before, report.total.after) == (3, 3)


@pytest.mark.slow
def test_a_file_beside_a_skill_is_part_of_it(root: Path) -> None:
    (root / "skills" / "plums" / "scripts").mkdir()
    (root / "skills" / "plums" / "scripts" / "sort.py").write_text("print()\n")
    assert [each.path for each in delta(root).skills] == ["skills/plums/SKILL.md"]
    (root / "README.md").write_text("Other.\n")
    assert [each.path for each in delta(root).skills] == ["skills/plums/SKILL.md"]


@pytest.mark.slow
def test_what_breaks_elsewhere_is_told_with_its_cause(root: Path) -> None:
    skill(root, "figs").write_text(SKILL.format("figs") + "\nSee [plums](../plums/SKILL.md).\n")
    git(root, "switch", "--quiet", "main")
    commit(root)
    git(root, "switch", "--quiet", "--force-create", "topic")
    shutil.rmtree(root / "skills" / "plums")
    report = delta(root)
    assert [each.path for each in report.skills] == ["skills/plums/SKILL.md"]
    (broken,) = (each for each in report.new if each.skill == "skills/figs/SKILL.md")
    assert (broken.code, broken.cause) == ("LI011", "skills/plums/SKILL.md is gone")


@pytest.mark.slow
def test_prompts_that_are_lost_are_named(root: Path) -> None:
    vague = SKILL.format("plums").replace("Sorts plums by size. Use when plums are", "Helps. Use when things are")
    skill(root, "plums").write_text(vague.replace("name: plums", "name: fruit"))
    report = delta(root)
    (routing,) = report.routing
    assert routing.model == "lexical" and routing.before.n == routing.after.n == 3
    assert (routing.before.value, routing.after.value) == (1.0, pytest.approx(2 / 3))
    assert [(each.id, each.expected) for each in routing.lost] == [("p0", "plums")]
    low, high = routing.after.low, routing.after.high
    assert low is not None and high is not None and low < 2 / 3 < high
    assert 'p0 "Please sort my plums by size" was plums' in as_markdown(delta_blocks(report))


@pytest.mark.slow
def test_lists_are_paid_for_before_and_after(root: Path) -> None:
    skill(root, "figs").write_text(SKILL.format("figs").replace("by size", "by size " * 60))
    hosts = {each.host: each for each in delta(root).listing}
    claude = hosts["claude-code"]
    assert claude.after.tokens > claude.before.tokens + 60
    assert (claude.before.names, claude.after.names) == (0, 0)


@pytest.mark.slow
def test_measurements_hold_or_are_out_of_date(root: Path, capsys: Said) -> None:
    assert main(["status", "--format", "json"]) == 0
    digests = {each["name"]: each["digest"] for each in json.loads(capsys.readouterr().out)["skills"]}
    (root / "reports").mkdir()
    lines = (effect_line(name, skill_digest=digests[name]) for name in ("plums", "pears"))
    (root / "reports" / "effectiveness-history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["router", "run", "--quiet"]) == 0
    capsys.readouterr()
    before = delta(root)
    assert (before.measurements, before.reused) == ((), 5), "three of routing and two of effect"
    skill(root, "plums").write_text(SKILL.format("plums") + "\nMore.\n")
    found = {each.question: each for each in delta(root).measurements}
    assert {name: each.outdated for name, each in found.items()} == {"routing": False, "effect": True}
    assert found["effect"].verdict == "helps" and delta(root).reused == 3
    skill(root, "plums").write_text(SKILL.format("plums").replace("by size", "by weight"))
    assert {each.question: each.outdated for each in delta(root).measurements} == {"routing": True, "effect": True}
    text = as_markdown(delta_blocks(delta(root)))
    assert (
        "2 measurements out of date" in text and "3 measurements of skills that this branch does not touch hold" in text
    )


@pytest.mark.slow
def test_only_what_was_named_is_told(root: Path) -> None:
    for name in ("plums", "figs"):
        skill(root, name).write_text(SKILL.format(name) + BROKEN)
    report = delta(root, "skills/figs")
    assert {each.path for each in (*report.skills, *report.new)} == {"skills/figs/SKILL.md"}


@pytest.mark.slow
def test_a_state_that_cannot_be_listed_costs_only_what_needs_it(root: Path) -> None:
    skill(root, "figs").write_text(SKILL.format("plums") + "\nOther.\n")
    report = delta(root)
    assert report.routing == () and report.listing
    assert any(note.startswith("routing is not compared: ") and '"plums" may be' in note for note in report.notes)
    assert [each.path for each in report.skills] == ["skills/figs/SKILL.md"]


@pytest.mark.parametrize("since", ["nowhere", "--upload-pack=x", "main:skills", ""])
def test_a_revision_that_is_none_is_a_mistake(root: Path, since: str, capsys: Said) -> None:
    assert main(["delta", "--", since]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_outside_a_repository_is_a_mistake(write: Write, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(write({"skills/a/SKILL.md": SKILL.format("a")}))
    assert main(["delta", "main"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "md", "json"])
def test_what_a_skill_says_is_no_markup_and_no_control(root: Path, form: str, capsys: Said) -> None:
    nasty = SKILL.format("plums") + "\n[x](<script>\x1b[2J|`.md) and [y](![z](http://evil.example/p.png).md)\n"
    skill(root, "plums").write_text(nasty)
    assert main(["delta", "main", "--format", form]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    if form == "md":
        assert "<script>" not in out and "![z](" not in out
    if form == "json":
        assert msgspec.json.decode(out.encode(), type=DeltaReport).skills


@pytest.mark.slow
def test_the_same_bytes_twice_and_in_a_file(root: Path, capsys: Said) -> None:
    skill(root, "figs").write_text(SKILL.format("figs") + BROKEN)
    texts = []
    for _ in range(2):
        assert main(["delta", "main", "--format", "json", "--as-of", "2026-11-21"]) == 0
        texts.append(capsys.readouterr().out)
    assert main(["delta", "main", "--format", "json", "--as-of", "2026-11-21", "--output", "delta.json"]) == 0
    assert texts[0] == texts[1] == (root / "delta.json").read_text()


def edited(chance: random.Random, name: str) -> str:
    text = SKILL.format(name)
    parts = (
        BROKEN, "\nRun `scripts/gone.py` first.\n", "\nThis saves 40 % of the time.\n",
        "\n[a](../figs/SKILL.md#none)\n",
    )  # fmt: skip
    text += "".join(chance.sample(parts, chance.randrange(3)))
    if chance.random() < 0.3:
        text = text.replace("by size.", "by size: all.")
    return text if chance.random() < 0.8 else ""


@pytest.mark.parametrize(
    "seed", [pytest.param(at, marks=pytest.mark.slow if at < 2 else pytest.mark.exhaustive) for at in range(6)]
)
def test_what_one_way_is_new_is_fixed_the_other_way(write: Write, tmp_path: Path, seed: int) -> None:
    """The gate itself is the oracle: what a branch fixes is what its reverse would break, less how severe that is."""
    chance = random.Random(seed)
    states = [{name: edited(chance, name) for name in ("plums", "pears", "figs")} for _ in range(2)]
    found = []
    for number, (old, new) in enumerate((states, states[::-1])):
        place = tmp_path / str(number)
        for state in (old, new):
            shutil.rmtree(place / "skills", ignore_errors=True)
            for name, text in state.items():
                if text:
                    skill(place, name).parent.mkdir(parents=True)
                    skill(place, name).write_text(text)
            if state is old:
                place.mkdir(exist_ok=True)
                (place / "skill-health.toml").touch()
                git(place, "init", "--quiet", "--initial-branch", "main")
                commit(place)
        found.append(delta(place))
    there, back = found
    for one, other in ((there, back), (back, there)):
        assert sorted((f.code, f.path, f.line) for f in one.new) == sorted(
            (f.code, f.path, f.line) for f in other.fixed
        )
