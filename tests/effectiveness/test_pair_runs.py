"""`effectiveness run --pairs`: which arms are tried on which tasks, what is written down, what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
import pytest
from run_made import Made, a_plan, make_up, only_read, rows, skill, task, the_run, write_collection

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.documents.effect_history import read_effects
from skill_health.effectiveness.run.runs import load_run
from skill_health.effectiveness.workspace.staging import parse_arm, parse_arms, refuse_unknown


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path / "collection")
    monkeypatch.chdir(root)
    make_up(monkeypatch, Made("base=0.3"))
    only_read(monkeypatch)
    path = next(root.rglob("maps-work/SKILL.md"))
    path.write_text(f"{path.read_text()}\n## Integration\n\n- **notes-work** - notes on <b>maps</b> \u202e\n")
    return root


def run(*given: str) -> int:
    arguments = ["run", "tasks", "--agents", "scripted", "--quiet", "--sandbox", "none", "--reps", "1", "--skip-unfit"]
    code: int = group.main([*arguments, *given], standalone_mode=False)
    return code


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["declared", "notes-work+maps-work"])
def test_both_skills_are_tried_alone_and_together_on_the_tasks_of_either(
    collection: Path, capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    assert run("--pairs", asked) == 0
    found = load_run(str(the_run(collection / "reports")))
    cells = ["control", *(f"subset:{each}" for each in ("maps-work", "notes-work"))]
    orders = ["subset:maps-work+notes-work", "subset:notes-work+maps-work"]
    assert list(found.manifest.arms) == [*cells, *orders]
    assert sorted(found.manifest.staged) == ["t00", "t01", "t03"]
    assert found.manifest.staged["t00"][orders[1]] == ("notes-work", "maps-work")
    (pair,) = found.manifest.pairs
    assert [each.skill for each in pair.declared] == ["maps-work"]
    out, err = capsys.readouterr()
    assert "pair maps-work+notes-work: 3 tasks, 0 of them for both skills" in err
    assert re.search(r"warning: [^:]* maps-work\+notes-work [^:]*: 6 tasks ", " ".join(err.split()))
    assert "Composition" in out and "maps-work says (section, " in out and "\u202e" not in out
    report = (the_run(collection / "reports") / "report.md").read_text()
    assert "### Composition" in report and "<b>" not in report
    (line,) = rows(collection / "reports" / "effectiveness-history.jsonl")
    assert (line["skill"], line["pairs"]) == (None, 1)
    told = read_effects(str(collection / "reports"), dict)
    assert told is not None and told.lines == () and [each.run_id for each in told.composed] == [found.run_id]


@pytest.mark.slow
def test_other_arms_are_tried_beside_them_where_they_are_given(collection: Path) -> None:
    assert run("--pairs", "maps-work+notes-work", "--arms", "target", "--hint", "also") == 0
    manifest = load_run(str(the_run(collection / "reports"))).manifest
    assert {"target", "target+hint", "subset:maps-work+notes-work+hint"} < {*manifest.arms}
    assert "subset:maps-work" not in manifest.staged["t02"]
    history = rows(collection / "reports" / "effectiveness-history.jsonl")
    assert [line["skill"] for line in history] == [None, "maps-work", "notes-work", "sums-work"]


@pytest.mark.slow
def test_the_configuration_names_pairs_unless_the_command_line_says_what_to_try(collection: Path) -> None:
    (collection / "skill-health.toml").write_text('[effectiveness]\npairs = ["maps-work+notes-work"]\n')
    assert run() == 0
    manifest = load_run(str(the_run(collection / "reports"))).manifest
    assert [pair.skills for pair in manifest.pairs] == [("maps-work", "notes-work")]
    assert "target" not in manifest.arms
    shutil.rmtree(collection / "reports")
    assert run("--arms", "target") == 0
    manifest = load_run(str(the_run(collection / "reports"))).manifest
    assert manifest.pairs == () and [*manifest.arms] == ["control", "target"]


def test_pairs_are_crossed_with_deliveries_and_hints(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--pairs", "maps-work+notes-work", "--delivery", "files,prompt", "--hint", "also", "--dry-run") == 0
    # The control, and three arms of one order and one more of the other, twice two times, on three tasks.
    err = capsys.readouterr().err
    assert "forecast: 51 trials" in err and re.search(r": 8 tasks .* 4 ", err)


NO_PAIRS = {"one": "maps-work", "the same twice": "maps-work+maps-work", "three": "maps-work+notes-work+sums-work"}
REFUSED = {
    "no such skill": (["--pairs", "maps-work+note-work"], "did you mean 'notes-work'?"),
    **{name: (["--pairs", pair], "must name two skills") for name, pair in NO_PAIRS.items()},
    "an order that an agent has not": (
        ["--agents", "claude-code:m", "--arms", "subset:maps-work+notes-work,subset:notes-work+maps-work"],
        "claude-code lists",
    ),
    "no skill of the collection": (["--arms", "subset:maps-work+x"], "subset:maps-work+x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_tried_is_refused(collection: Path, name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises((SkillHealthError, click.ClickException)) as caught:
        run(*given)
    assert message in str(getattr(caught.value, "message", caught.value))
    assert not (collection / "reports").exists()


def test_without_declared_pairs_there_is_nothing_to_try(collection: Path) -> None:
    path = next(collection.rglob("maps-work/SKILL.md"))
    path.write_text(path.read_text().replace("## Integration", "## Steps"))
    with pytest.raises(UsageError, match="no skill says that it works with another one"):
        run("--pairs", "declared")


@pytest.mark.parametrize("text", ["subset:", "subset:a+", "subset:+a", "subset:a+a", "subset"])
def test_a_subset_names_different_skills(text: str) -> None:
    with pytest.raises(UsageError, match="needs"):
        parse_arm(text)


def test_the_name_of_an_arm_is_read_as_it_is_written() -> None:
    for name in ("subset:b+a", "subset:a+b+hint", "subset:a"):
        assert parse_arm(name).name == name
    assert parse_arm("subset:b+a").subset == ("b", "a")
    refuse_unknown(parse_arms(["subset:a+b"]), {"a", "b"})


def test_a_subset_is_tried_where_it_is_held_against_a_larger_one() -> None:
    arms = ["control", "subset:maps-work", "subset:notes-work", "subset:sums-work", "subset:maps-work+notes-work"]
    arms += ["subset:notes-work+sums-work"]
    plan = a_plan(
        tasks=[task(n, name) for n, name in enumerate(("maps-work", "notes-work", "sums-work", "tides-work"))],
        arms=arms, skills=[skill(name) for name in ("maps-work", "notes-work", "sums-work", "tides-work")],
    )  # fmt: skip
    tried = {(task_id, arm.name) for task_id, arm in plan.staged}
    assert {task_id for task_id, name in tried if name == "subset:maps-work"} == {"t00", "t01"}
    assert {task_id for task_id, name in tried if name == "subset:notes-work"} == {"t00", "t01", "t02"}
    assert {task_id for task_id, name in tried if name == "subset:maps-work+notes-work"} == {"t00", "t01"}
    assert [left.task for left in plan.left_out] == ["t03"]
