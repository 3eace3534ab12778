"""`effectiveness run` from the command line: what is refused, what is said, what is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from effects_made import replace
from jsonschema import Draft202012Validator
from run_made import Made, failing, honest, make_up, rows, the_run, write_collection, write_task

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import AbortedError, GateError, SkillHealthError
from skill_health.core.validation import load_schema
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.check import check
from skill_health.effectiveness.plan import preflight
from skill_health.effectiveness.run.probes import Probe
from skill_health.effectiveness.run.runs import load_run
from skill_health.effectiveness.trial.spec import TrialSpec

TIME = "2026-03-01T00:00:00Z"
SERVER = '[router.providers.here]\nprotocol = "openai"\nbase-url = "http://127.0.0.1:9/v1"\n'
Call = Callable[..., int]


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path / "collection")
    monkeypatch.chdir(root)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return root


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were checked, which is not done for each test anew: it takes a process for each of 6 tries."""
    seen: list[str] = []

    def remember(tasks: Any, skills: Any, root: str, terms: Any = None) -> Any:
        seen.extend(task.id for task in tasks)
        return check.check_tasks(tasks, skills, root)

    monkeypatch.setattr(preflight, "check_tasks", remember)
    return seen


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Trials that are made up in the place of real ones."""
    trial = Made()
    make_up(monkeypatch, trial)
    return trial


@pytest.fixture
def call(collection: Path) -> Call:
    """Run `effectiveness run` in the collection; errors are raised as they are."""

    def run(*given: str, agents: str = "scripted", reps: int = 1) -> int:
        arguments = ["run", "tasks", "--agents", agents, "--time", TIME, "--quiet", "--sandbox", "none"]
        code: int = group.main([*arguments, "--reps", str(reps), *given], standalone_mode=False)
        return code

    return run


def runs(collection: Path) -> list[Path]:
    folder = collection / "reports" / "effectiveness"
    return sorted(folder.iterdir()) if folder.exists() else []


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_real_run_writes_everything_and_says_so(
    call: Call, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--arms", "target", "tasks/t04", agents="scripted:base=0,target=1") == 0
    folder = the_run(collection / "reports")
    assert sorted(path.name for path in folder.iterdir()) == [
        "attempts.jsonl", "manifest.json", "probe.json", "report.json", "report.md", "results.jsonl", "trials",
    ]  # fmt: skip
    run = load_run(str(folder))
    assert (run.manifest.created, run.run_id, run.manifest.kind) == (TIME, folder.name, "effectiveness")
    assert {(each.task_id, each.arm): each.outcome for each in run.results} == {
        (f"t{n:02}", arm): "pass" if arm == "target" else "fail" for n in range(4) for arm in ("control", "target")
    }
    history = rows(collection / "reports" / "effectiveness-history.jsonl")
    attempts = rows(folder / "attempts.jsonl")
    records = {"result": rows(folder / "results.jsonl"), "attempt": attempts, "history": history}
    records["result"] += [event["result"] for event in attempts if event["event"] == "end"]
    records |= {name: [json.loads((folder / f"{name}.json").read_text())] for name in ("manifest", "probe")}
    for name, own in records.items():
        for record in own:
            Draft202012Validator(load_schema(f"effectiveness-{name}")).validate(record)
    assert [line["skill"] for line in history] == [None, "maps-work", "notes-work", "sums-work"]
    out, err = capsys.readouterr()
    for said in (
        "forecast: 8 trials",
        "such as t04 target: ",
        "written: reports/effectiveness/",
    ):
        assert said in err
    assert re.search("^warning: .*sandbox: ", err, re.MULTILINE)
    assert "SIMULATED" in out


@pytest.mark.slow
@pytest.mark.parametrize(("format_", "start"), [("md", "# "), ("junit", "<?xml")])
def test_formats(call: Call, made: Made, capsys: pytest.CaptureFixture[str], format_: str, start: str) -> None:
    assert call("--format", format_) == 0
    assert capsys.readouterr().out.startswith(start)
    assert len(made.made) == 31


def test_a_dry_run_starts_nothing_needs_no_key_and_writes_nothing(
    call: Call,
    collection: Path,
    made: Made,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    before = sorted(tmp_path.rglob("*"))
    assert call("--dry-run", agents="loop:openai:gpt-5-mini,scripted", reps=3) == 0
    assert (sorted(tmp_path.rglob("*")), made.made) == (before, [])
    out, err = capsys.readouterr()
    assert out == ""
    for said in ("forecast: 186 trials", "verifiers of 5 tasks", "by genai-prices", "gpt-5-mini "):
        assert said in err
    assert re.search("warning: .*: 7 tasks .* 4", err)


REFUSED = {
    "unknown agent": (["--agents", "scriptd"], "did you mean scripted"),
    "unknown arm": (["--arms", "targett"], "did you mean 'target'"),
    "no key": (["--agents", "loop:openai:gpt-5-mini", "--max-runs", "9"], "OPENAI_API_KEY"),
    "unknown sandbox": (["--sandbox", "bubblewrab"], "did you mean bubblewrap"),
    "no such run": (["--resume", "x"], "'x'"),
    "no such task": (["nowhere"], ": nowhere"),
    "no skills there": (["--skills", "tasks"], "no skill below tasks"),
    "an order that it has not": (["--agents", "claude-code:m", "--arms", "order:3"], "no arm order:3"),
    "no such cap": (["--max-usd-per-trial", "nan"], "nan"),
    "no time": (["--timeout", "0"], "is not in the range"),
    "wrong script": (["--agents", "scripted:bas=1"], "did you mean base"),
    "no skill": (["--arms", "leave_one_out:nothing"], "leave_one_out:nothing"),
    "both": (["--resume", "x", "--no-resume"], "--no-resume"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_costs_nothing_and_leaves_nothing(call: Call, collection: Path, made: Made, name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises((SkillHealthError, click.ClickException)) as caught:
        call(*given)
    assert message in str(getattr(caught.value, "message", caught.value))
    assert getattr(caught.value, "exit_code", 2) == 2
    assert (runs(collection), made.made) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(("price", "given", "message"), [
    ("", [], "--max-budget-usd"),
    ("", ["--max-runs", "5"], "no price is known for loop:here:m"),
    ("input = 1\noutput = 2\n", [], "--max-budget-usd"),
    ("input = 1\noutput = 2\n", ["--max-budget-usd", "2"], "less than one trial of loop:here:m may cost, $2.12"),
    ("input = 1\noutput = 2\n", ["--max-runs", "5"], ""),
    ("input = 0\noutput = 0\n", [], ""),
    ("", ["--unsafe-no-cost-cap"], ""),
])  # fmt: skip
def test_money_needs_a_cap_and_a_price(
    call: Call, collection: Path, made: Made, price: str, given: list[str], message: str
) -> None:
    prices = f'[router.prices."here:m"]\n{price}' if price else ""
    (collection / "skill-health.toml").write_text(SERVER + prices, "utf-8")
    try:
        code = call("--config", "skill-health.toml", *given, agents="loop:here:m")
    except SkillHealthError as error:
        if not message:
            assert re.search(r"incomplete: 26 trials .*\b5 trials\b", str(error))
            assert isinstance(error, AbortedError)
        else:
            assert (message in str(error), error.exit_code, made.made) == (True, 2, [])
    else:
        assert (code, message, len(made.made)) == (0, "", 31)
    if made.cells and price.startswith("input = 1"):
        assert {cell.max_usd for cell in made.cells} == {(2_000_000 * 1 + 60_000 * 2) / 1e6}


@pytest.mark.slow
def test_the_cap_of_a_trial_can_be_set(call: Call, collection: Path, made: Made) -> None:
    (collection / "skill-health.toml").write_text(
        f"{SERVER}"
        '[router.prices."here:m"]\ninput = 1\noutput = 2\n[effectiveness]\nagents = ["loop:here:m"]\narms = ["full"]\n',
        "utf-8",
    )
    arguments = ["run", "tasks", "--time", TIME, "--quiet", "--sandbox", "none", "--reps", "1"]
    more = ["--max-budget-usd", "0.25", "--max-usd-per-trial", "0.1", "--config", "skill-health.toml"]
    with pytest.raises(AbortedError, match=r"\$0\.25"):
        group.main([*arguments, *more], standalone_mode=False)
    assert {cell.max_usd for cell in made.cells} == {0.1}
    # Trials cost 0.02, and up to 0.1 are held back for each: after eight 0.16 are spent.
    assert len(made.made) == 8
    events = rows(the_run(collection / "reports") / "attempts.jsonl")
    assert {event["reserved_usd"] for event in events if event["event"] == "start"} == {0.1}


@pytest.mark.slow
def test_a_task_that_is_not_fit_is_refused_or_left_out(
    call: Call, collection: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(collection / "tasks" / "t09", 9, "no-such-skill")
    for name, text in (("task.md", "Only words.\n"), ("metadata.json", "{}")):
        (collection / "tasks" / "t10").mkdir(exist_ok=True)
        (collection / "tasks" / "t10" / name).write_text(text)
    with pytest.raises(SkillHealthError, match=r"is not fit to use.*--skip-unfit"):
        call()
    assert runs(collection) == []
    assert call("--skip-unfit") == 0
    manifest = load_run(str(the_run(collection / "reports"))).manifest
    assert [each.task for each in manifest.skipped] == ["t09", "tasks/t10/metadata.json"]
    assert "no-such-skill" in manifest.skipped[0].reasons[0]
    assert [task.id for task in manifest.tasks] == [f"t{n:02}" for n in range(5)]
    assert "t09 is not fit to use: skills: target_skill 'no-such-skill'" in capsys.readouterr().err


@pytest.mark.slow
def test_tasks_are_checked_once_and_again_after_a_change(
    call: Call, collection: Path, made: Made, checked: list[str]
) -> None:
    def checked_by(*given: str) -> list[str]:
        checked.clear()
        call(*given)
        return sorted(checked)

    skill, every = collection / "skills" / "maps-work" / "SKILL.md", [f"t{n:02}" for n in range(5)]
    skill.write_text(f"---\nname: maps-work\ndescription: Maps of {collection}.\n---\n# Work\n", "utf-8")
    assert checked_by() == every
    assert checked_by("--no-resume") == []
    (collection / "tasks" / "t03" / "verify.sh").write_text("#!/bin/sh\nfalse\n", "utf-8")
    assert checked_by() == ["t03"]
    skill.write_text("---\nname: maps-work\ndescription: Other.\n---\n")
    assert checked_by() == every


@pytest.mark.slow
def test_a_stopped_run_goes_on_and_a_finished_one_begins_anew(
    call: Call, collection: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AbortedError, match=r"incomplete: 21 trials .*\b10 trials\b"):
        call("--max-runs", "10")
    folder = the_run(collection / "reports")
    assert (folder / "report.md").exists(), "what is there is reported"
    history = collection / "reports" / "effectiveness-history.jsonl"
    assert not history.exists()
    assert call("--max-runs", "31") == 0
    assert "resuming reports/effectiveness/" in capsys.readouterr().err
    assert (len(made.made), len(set(made.made))) == (31, 31)
    assert len(rows(history)) == 4
    assert call("--resume", folder.name) == 0, "nothing is left, and it is reported again"
    assert (len(rows(history)), len(made.made)) == (4, 31)
    assert call() == 0
    assert (len(rows(history)), len(runs(collection))) == (8, 2)


@pytest.mark.slow
def test_a_run_that_is_named_must_be_the_same(call: Call, collection: Path, made: Made) -> None:
    with pytest.raises(AbortedError):
        call("--max-runs", "3")
    folder = the_run(collection / "reports")
    before = files(folder)
    change = ("--seed", "2", "--arms", "target", "--timeout", "3", "--agents", "scripted:base=0.5")
    with pytest.raises(SkillHealthError, match=re.escape(folder.name)) as caught:
        call("--resume", folder.name, *change)
    for said in ("seed: 1 then, 2 now", "arms: ", "limits: changed: timeout_sec", "new: scripted:base=0.5"):
        assert said in str(caught.value)
    assert files(folder) == before


@pytest.mark.slow
def test_a_bias_of_negative_controls_is_exit_1_and_in_the_history(
    call: Call, collection: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(10, 22):
        write_task(collection / "tasks" / f"t{number}", number, "none")
    made.script = "base=0.05,control_negative=0.9,spread=0"
    assert call(reps=3) == 1
    history = rows(collection / "reports" / "effectiveness-history.jsonl")
    assert {line["verdict"] for line in history} == {"biased"}
    assert all(line["biased"] for line in history)


@pytest.mark.slow
def test_trials_without_an_outcome_are_told(call: Call, made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    made.also = lambda cell, result: failing(9 if cell.arm.name == "full" and cell.task.id < "t02" else 0)(cell, result)
    assert call() == 0
    err = capsys.readouterr().err
    assert "trials without an outcome that counts: 2; --resume 20260301T000000Z-" in err


@pytest.mark.slow
def test_quota_is_exit_3_and_says_how_to_go_on(call: Call, made: Made) -> None:
    made.also = failing(1, "quota", "the account is empty")
    with pytest.raises(AbortedError, match=r"31 trials .*\(quota: the account is empty\); run the same command"):
        call()


@pytest.mark.slow
def test_an_agent_that_sees_other_skills_costs_nothing(
    call: Call, collection: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TrialSpec] = []

    async def leaky(cell: TrialSpec) -> Probe:
        asked.append(cell)
        return replace(await honest(cell), listed=(*(skill.name for skill in cell.skills), "sums-work"))

    make_up(monkeypatch, made, leaky)
    with pytest.raises(GateError, match=r"nothing was spent.*scripted with no skill: sums-work is listed"):
        call()
    assert (made.made, len(asked)) == ([], 1), "after a leak into the control nothing else is asked"
    make_up(monkeypatch, made)
    assert call() == 0
    assert len(runs(collection)) == 1


@pytest.mark.slow
def test_probes_are_made_once_for_each_set_of_skills_and_not_again(
    call: Call, collection: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def ask(cell: TrialSpec) -> Probe:
        asked.append((cell.choice.name, tuple((skill.name, skill.placebo) for skill in cell.skills)))
        return await honest(cell)

    make_up(monkeypatch, made, ask)
    with pytest.raises(AbortedError):
        call("--max-runs", "3", agents="scripted:seed=1,scripted:seed=2")
    assert asked[0] == ("scripted", ())
    assert len(asked) == len(set(asked)) == 12, "none, four alone, three placebos, three pairs, all"
    before = (the_run(collection / "reports") / "probe.json").read_bytes()
    assert call(agents="scripted:seed=1,scripted:seed=2") == 0
    assert len(asked) == 12
    assert (the_run(collection / "reports") / "probe.json").read_bytes() == before
    assert {cell.expected for cell in made.cells} == {("built-in",)}


@pytest.mark.slow
def test_a_trial_that_contradicts_the_probe_stops_the_run(call: Call, collection: Path, made: Made) -> None:
    def also(cell: TrialSpec, result: TrialResult) -> TrialResult:
        bad = cell.task.id == "t02" and cell.arm.name == "target"
        return replace(result, outcome="infrastructure", error="odd", disagreement="x is listed") if bad else result

    made.also = also
    with pytest.raises(GateError, match="so the run stopped: scripted, target, task t02: x is listed"):
        call()
    assert not (the_run(collection / "reports") / "report.json").exists()


def test_a_run_needs_an_agent(collection: Path) -> None:
    with pytest.raises(SkillHealthError, match="--agents claude-code:MODEL"):
        group.main(["run", "tasks"], standalone_mode=False)


@pytest.mark.slow
def test_without_tasks_on_the_command_line_those_of_the_configuration_are_tried(collection: Path, made: Made) -> None:
    arguments = ["run", "--agents", "scripted", "--time", TIME, "--quiet", "--sandbox", "none", "--reps", "1"]
    assert group.main(arguments, standalone_mode=False) == 0
    assert len(made.made) == 31
