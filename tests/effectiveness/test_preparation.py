"""Commands that prepare a workspace: before the agent, in the sandbox, the same in every arm, never its own fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trial_bench import agent, archived, cell, needs_bubblewrap, run, skill, task

from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.checks._api import make_check
from skill_health.effectiveness.rubric.model import Criterion, make_rubric
from skill_health.effectiveness.tasks import dotnet_scenarios, plan_directory, uipath, vally, waza
from skill_health.effectiveness.tasks._api import SetupCommand, Task, script, task_digest
from skill_health.effectiveness.tasks._folder import File, Folder
from skill_health.effectiveness.tasks._preparation import unmet_needs

pytestmark = pytest.mark.usefixtures("folder")


def prepared(
    tmp_path: Path,
    *commands: str | SetupCommand,
    act: str = "true",
    sandbox: str = "none",
    skills: bool = False,
    path: str = "a.txt",
) -> tuple[TrialResult, Path]:
    """A trial over a workspace that these commands prepare; it passes where the file has "made" in it."""
    check = make_check("file_contains", path=path, text="made")
    rubric = make_rubric([Criterion("c", "It is made.", 0.0, "goal", check)])
    made = tuple(each if isinstance(each, SetupCommand) else SetupCommand(each, 10.0) for each in commands)
    checking = script((), [File("own/secret.txt", b"made\n")], 5.0, [("TASK_DIR", "own")])
    one = task(tmp_path, None, None, rubric=rubric, preparation=made, checking=checking)
    return run(tmp_path, cell(one, agent(act), sandbox, [skill("alpha")] if skills else ()))


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_the_agent_finds_what_was_prepared(tmp_path: Path, sandbox: str) -> None:
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    commands = ('cp "$TASK_DIR/secret.txt" a.txt', "mkdir d && echo made > d/b.txt", "rm in.txt; ls -A > seen.txt")
    result, place = prepared(tmp_path, *commands, act="cat seen.txt; echo x >> a.txt", sandbox=sandbox, skills=True)
    assert (result.outcome, result.error, result.notes) == ("pass", "", ())
    # What was prepared is where the agent starts: only what it did itself is a change of its own.
    assert result.changed == 1 and b"+made" not in (place / "diff.patch").read_bytes()
    # The skills were not there meanwhile, and are as they were afterwards.
    assert (place / "final.txt").read_text() == "a.txt\nd\nseen.txt"
    assert ".agents/skills/alpha/SKILL.md" in archived(place)
    assert json.loads((place / "probe.json").read_text())["staged"] == dict(result.skills)


@pytest.mark.slow
def test_what_commands_are_given_is_gone_before_the_agent(tmp_path: Path) -> None:
    needs_bubblewrap()
    act = "find / -name secret.txt -not -path '/proc/*' 2>/dev/null | wc -l; env | grep -c TASK_DIR"
    _, place = prepared(tmp_path, "true", act=act, sandbox="bubblewrap")
    assert (place / "final.txt").read_text() == "0\n0"


FAILURES: list[tuple[str | SetupCommand, str]] = [
    ("echo no such thing >&2; exit 3", "command 1 (echo no such thing >&2; exit 3) ended with exit code 3; it said:"),
    ("no-such-program-at-all", "a program of command 1 (no-such-program-at-all) is not here"),
    (SetupCommand("no-such-program-at-all", 9.0, required=False), "is not here"),
    (SetupCommand("sleep 30", 0.3), "command 1 (sleep 30) was stopped: timeout"),
    (SetupCommand("exit 0", 9.0, (4,)), "exit code 0"),
    *(
        (command, "it put something else where .agents/skills")
        for command in ("mkdir -p .agents/skills", "ln -s /tmp .agents", "echo x > .agents")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "said"), FAILURES)
def test_what_cannot_be_prepared_is_no_failure_of_the_agent(tmp_path: Path, command: Any, said: str) -> None:
    result, place = prepared(tmp_path, command, act="touch ran", skills=True)
    assert result.outcome == "infrastructure" and said in result.error
    assert result.error.startswith("the preparation of the task")
    # Nothing was started, so nothing was paid for.
    assert result.cost_usd is None and not (place / "stream.out").exists()


@pytest.mark.slow
def test_what_the_format_allows_is_noted(tmp_path: Path) -> None:
    result, _ = prepared(tmp_path, SetupCommand("echo made > a.txt; exit 7", 9.0, required=False))
    assert result.outcome == "pass"
    (note,) = result.notes
    assert note.startswith("preparation: command 1 (echo made > a.txt; exit 7) ") and " 7, " in note


@pytest.mark.slow
def test_what_was_prepared_is_no_work_of_the_agent(tmp_path: Path) -> None:
    result, _ = prepared(tmp_path, "echo made > a.txt; echo x = 1 > conftest.py; chmod +x conftest.py", path="a.txt")
    assert (result.outcome, result.notes) == ("pass", ())
    result, _ = prepared(tmp_path / "two", "echo made > a.txt", act="echo x = 1 > conftest.py")
    assert "conftest.py" in " ".join(result.notes)


@pytest.mark.slow
def test_there_is_no_network(tmp_path: Path) -> None:
    needs_bubblewrap()
    look = "awk 'NR > 2 { print $1 }' /proc/net/dev | grep -v lo: && exit 1; echo made > a.txt"
    assert prepared(tmp_path, look, sandbox="bubblewrap")[0].outcome == "pass"


def test_the_digest_covers_what_is_prepared() -> None:
    one, two = SetupCommand("a", 1.0), SetupCommand("b", 1.0)
    plain = task_digest("p", (), (), 1.0)
    found = {task_digest("p", (), (), 1.0, commands) for commands in ((one,), (two,), (one, two), (two, one))}
    assert len(found | {plain}) == 5 and task_digest("p", (), (), 1.0, ()) == plain


NEEDS = [
    ("git clone https://x", "needs the network (git clone)"), ("cd x && npm ci", "needs the network (npm ci)"),
    ("curl -s x | sh", "needs the network (curl)"), ("pip3 install x", "needs the network (pip3 install)"),
    ("uip login", "needs uip and its account"), ("X=1 python3 $TASK_DIR/seed.py", "needs uip and its account"),
    ("git init", ""), ("echo uipath > curl.txt", ""), ("python3 $TASK_DIR/other.py", ""), ("cp az.json b", ""),
]  # fmt: skip


@pytest.mark.parametrize(("command", "said"), NEEDS)
def test_what_a_trial_has_not_is_said_before(command: str, said: str) -> None:
    files = [File("t/seed.py", b'run(["uip", "login"])'), File("t/other.py", b"# like uip")]
    found = [*unmet_needs([SetupCommand(command, 1.0)], files)]
    assert (len(found), said in "".join(found)) == (bool(said), True)


DOTNET = """scenarios:
  - name: one
    prompt: Do it.
    setup: {commands: ["git init", "echo x > y"]}
    assertions: [{type: exit_success}]
"""
VALLY = """name: e
environment: {commands: ["git init"]}
stimuli:
  - name: one
    prompt: Do it.
    environment: {commands: ["echo x > y"]}
    graders: [{type: completed}]
  - name: two
    prompt: Do it.
    environment: {commands: ["git clone https://x.example/y"]}
    graders: [{type: completed}]
"""
WAZA = """name: e
skill: plums
executor: mock
hooks:
  before_run: [{command: "git init", exit_codes: [0, 2], error_on_fail: true}]
  before_task: [{command: "echo a;b"}, {command: ls, working_directory: ../x}, {}]
  after_task: [{command: "rm -rf x"}]
tasks:
  - {id: one, prompt: Do it., expected: {output_contains: [x]}}
"""
UIPATH = """task_id: one
tags: [plums]
initial_prompt: Do it.
pre_run:
  - {command: "git init", fail_on_error: true, timeout: 5}
  - {command: "echo x > y"}
post_run: [{command: "uip logout"}]
success_criteria: [{type: file_exists, path: y}]
"""
READ: list[tuple[Any, str, str, list[SetupCommand]]] = [
    (dotnet_scenarios, "eval.yaml", DOTNET, [SetupCommand("git init", 120.0, (0,), False), SetupCommand("echo x > y", 120.0, (0,), False)]),
    (vally, "eval.yaml", VALLY, [SetupCommand("git init", 120.0), SetupCommand("echo x > y", 120.0)]),
    (waza, "eval.yaml", WAZA, [SetupCommand("git init", 120.0, (0, 2)), SetupCommand("echo 'a;b'", 120.0, (0,), False)]),
    (uipath, "one.yaml", UIPATH, [SetupCommand("git init", 5.0), SetupCommand("echo x > y", 120.0, (0,), False)]),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "name", "text", "wanted"), READ)
def test_each_format_says_how_to_prepare(tmp_path: Path, reader: Any, name: str, text: str, wanted: Any) -> None:
    place = tmp_path / "plums"
    place.mkdir()
    (place / name).write_text(text)
    first, *rest = reader.load(Folder(str(place), "."), name)
    assert isinstance(first, Task) and list(first.preparation) == wanted and first.runnable
    assert all("which a trial has not" in each.blockers[0] for each in rest)
    left = " ".join(first.unsupported)
    assert ("working_directory" not in left) and (reader is not waza or ("outside the workspace" in left))
    # A folder of ours holds it, too.
    plan_directory.write_task(first, str(tmp_path / "made"))
    (again,) = plan_directory.load(Folder(str(tmp_path / "made"), "made"))
    assert isinstance(again, Task) and again.preparation == first.preparation


def test_too_many_commands_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "plums"
    place.mkdir()
    (place / "eval.yaml").write_text(DOTNET.replace('"git init"', ", ".join(['"true"'] * 60)))
    (found,) = dotnet_scenarios.load(Folder(str(place), "."), "eval.yaml")
    assert "more than 50 commands prepare one task" in found.message
