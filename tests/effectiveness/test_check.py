"""Tasks that are not fit to measure with are found, for the right reason; fit ones are not accused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from thinned import thinned
from trial_bench import SANDBOXES, needs_bubblewrap

from skill_health.commands.effectiveness import command
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.validation import load_schema
from skill_health.effectiveness.check.check import TaskCheck, as_json, as_text, check_tasks
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.folders import differences, snapshot
from skill_health.effectiveness.workspace.process import MAX_OUTPUT, clean_environment, run_process
from skill_health.effectiveness.workspace.scripts import ScriptOptions

Files = Mapping[str, str]
BOTH = pytest.mark.parametrize("sandbox", SANDBOXES)

SKILL = """---
name: sum-sheets
description: Adds up columns. Use when numbers have to be added.
---
# Sum sheets

Read every number of the sheet before you add any of them, because units differ between the parts of it.
"""
POEMS = "---\nname: poems\ndescription: Writes poems. Use when verse is wanted.\n---\n# Poems\n\nRhyme.\n"
META = {"id": "t1", "slug": "sum-it", "target_skill": "sum-sheets", "irrelevant_skill": "poems"}
TASK = {
    "task.md": "Add up the numbers in `in.txt` and write the sum to `out.txt`.\n",
    "metadata.json": json.dumps(META),
    "starting/in.txt": "1\n2\n",
    "verify.sh": '[ "$(cat out.txt)" = 3 ]\n',
    "oracle/solve.sh": "echo 3 > out.txt\n",
}
HARBOR = {
    "task.toml": 'version = "1.0"\n[metadata]\ntarget_skill = "sum-sheets"\n[verifier]\ntimeout_sec = 5\n',
    "instruction.md": "Write the sum of the numbers in /app/in.txt to /app/out.txt.\n",
    "environment/in.txt": "1\n2\n",
    "tests/test.sh": "python3 /tests/check.py\n",
    "tests/check.py": "from pathlib import Path\nout = Path('/app/out.txt')\nright = out.exists() and out.read_text() == '3\\n'\n"
    "Path('/logs/verifier/reward.json').write_text('{\"reward\": %d}' % right)\n",
    "solution/solve.sh": "awk '{ s += $1 } END { print s }' /app/in.txt > /app/out.txt\n",
}
BENCH = {
    "task.md": "---\nschema_version: '1.3'\nmetadata: {target_skill: sum-sheets}\n---\n\nAdd up /root/in.txt into /root/out.txt.\n",
    "environment/in.txt": "1\n2\n",
    "verifier/test.sh": "grep -qx 3 /root/out.txt && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
    "oracle/solve.sh": "echo 3 > /root/out.txt\n",
}


def write(root: Path, files: Files) -> Path:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return root


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., TaskCheck]:
    def call(files: Files, skill: str = SKILL, sandbox: str = "none", at_once: int = 2) -> TaskCheck:
        if sandbox == "bubblewrap":
            needs_bubblewrap()
        write(tmp_path, {"skill-health.toml": "", "skills/sum-sheets/SKILL.md": skill, "skills/poems/SKILL.md": POEMS})
        write(tmp_path / "tasks/one", files)
        loaded = load_tasks([str(tmp_path / "tasks")], str(tmp_path))
        assert loaded.problems == ()
        root, skills = collection((), None, str(tmp_path))
        terms = ScriptOptions(back_end(sandbox), at_once=at_once) if sandbox else None
        (checked,) = check_tasks(loaded.tasks, skills, root, terms)
        return checked

    return call


def kinds(checked: TaskCheck) -> list[str]:
    return [fault.kind for fault in checked.faults]


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("files", [TASK, HARBOR, BENCH], ids=["plan", "harbor", "skillsbench"])
def test_a_fit_task(files: Files, sandbox: str, check: Callable[..., TaskCheck]) -> None:
    checked = check(files, sandbox=sandbox)
    assert (checked.faults, checked.ok) == ((), True)
    assert checked.nothing_done and checked.solved
    assert [one.verified.verdict.outcome for one in checked.nothing_done.tried] == ["fail"] * 3
    assert [one.verified.verdict.outcome for one in checked.solved.tried] == ["pass"] * 3
    assert [one.verified.verdict.reward for one in checked.solved.tried] == [1, 1, 1]
    assert checked.solved.changes == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    thinned([
        ({"verify.sh": "true\n"}, "no-op-passes", "although nothing was done"),
        ({"oracle/solve.sh": "echo 4 > out.txt\n"}, "oracle-fails", "the verifier fails the oracle"),
        ({"oracle/solve.sh": "echo 3 > out.txt; echo no >&2; exit 3\n"}, "oracle-error", "exit code 3; it said: no"),
        ({"verify.sh": 'chmod 600 in.txt; [ "$(cat out.txt)" = 3 ]\n'}, "verifier-changes", "in.txt changed"),
        ({"verify.sh": 'rm -f in.txt; [ "$(cat out.txt)" = 3 ]\n'}, "verifier-changes", "in.txt removed"),
        ({"verify.sh": "kill -9 $$\n"}, "verifier-error", "with nothing done: the verifier was ended by signal 9"),
        ({"verify.sh": "sleep 60\n", "metadata.json": json.dumps(META | {"verifier_timeout_sec": 0.2})}, "verifier-error", "time limit"),
        ({"verify.sh": 'echo "{" > $VERIFIER_DIR/reward.json; [ "$(cat out.txt)" = 3 ]\n'}, "reward", "not JSON"),
        ({"verify.sh": 'echo \'{"reward": 0.5}\' > $VERIFIER_DIR/reward.json; [ -e out.txt ]\n'}, "oracle-reward", "is 0.5, not 1"),
        ({"starting/.claude/settings.json": "{}"}, "visible", ".claude/settings.json lies where agents look"),
        ({"starting/deep/verify.txt": TASK["verify.sh"]}, "leak", "deep/verify.txt is a copy of verify.sh"),
        ({"starting/x.sh": "\n" + TASK["oracle/solve.sh"]}, "leak", "x.sh is a copy of oracle/solve.sh"),
        ({"task.md": "Use the sum-sheets skill to add up in.txt.\n"}, "skill-named", "the prompt names the skill 'sum-sheets'"),
        ({"task.md": "Add up in.txt, so that verify.sh passes.\n"}, "leak", "the prompt names 'verify.sh'"),
        ({"metadata.json": json.dumps(META | {"target_skill": "sum-sheet"})}, "skills", "did you mean 'sum-sheets'?"),
        ({"metadata.json": json.dumps(META | {"irrelevant_skill": "sum-sheets"})}, "skills", "two parts at once"),
        ({"metadata.json": json.dumps(META | {"related_skill": "none"})}, "skills", "leave the key out"),
    ], 2),
)  # fmt: skip
def test_an_unfit_task(changes: Files, kind: str, words: str, check: Callable[..., TaskCheck]) -> None:
    # What is found by looking needs no run.
    checked = check(
        TASK | dict(changes), sandbox="" if kind in ("visible", "leak", "skill-named", "skills") else "none"
    )
    assert {fault.kind for fault in checked.faults if words in fault.message} == {kind}, checked.faults
    assert len(set(checked.faults)) == len(checked.faults)


@pytest.mark.slow
def test_no_oracle(check: Callable[..., TaskCheck]) -> None:
    checked = check({name: text for name, text in TASK.items() if name != "oracle/solve.sh"})
    assert kinds(checked) == ["no-oracle"]
    assert checked.nothing_done and checked.solved is None


@pytest.mark.slow
def test_evals_are_tried_with_nothing_done(check: Callable[..., TaskCheck], tmp_path: Path) -> None:
    asserted = ["$ test -s out.txt", {"command": ["grep", "-q", "1", "in.txt"]}, "It is polite."]
    evals = {"evals": [{"id": "a", "prompt": "Add up.", "files": ["evals/in.txt"], "assertions": asserted}]}
    check(TASK)
    write(tmp_path / "skills/sum-sheets/evals", {"evals.json": json.dumps(evals), "in.txt": "1\n"})
    loaded = load_tasks([str(tmp_path / "skills")], str(tmp_path))
    root, skills = collection((), None, str(tmp_path))
    (checked,) = check_tasks(loaded.tasks, skills, root, ScriptOptions(back_end("none")))
    assert checked.ok and checked.nothing_done and checked.solved is None
    assert [one.verified.verdict.reward for one in checked.nothing_done.tried] == [0.5, 0.5, 0.5]
    assert "not supported: an evaluation has no oracle: nothing shows that it can be solved" in checked.notes


@pytest.mark.slow
def test_a_verifier_that_changes_its_mind(check: Callable[..., TaskCheck]) -> None:
    flaky = 'n=$(cat "$HOME/n" 2>/dev/null || echo 0); echo $((n + 1)) > "$HOME/n"; [ "$n" != 1 ] && [ -e out.txt ]\n'
    checked = check({**TASK, "verify.sh": flaky})
    assert sorted(kinds(checked)) == ["oracle-fails", "verifier-varies"]
    assert "pass (1), fail (0), pass (1)" in next(f.message for f in checked.faults if f.kind == "verifier-varies")


@pytest.mark.slow
def test_a_verifier_whose_output_alone_differs_is_noted(check: Callable[..., TaskCheck]) -> None:
    checked = check({**TASK, "verify.sh": 'echo $RANDOM$RANDOM$RANDOM; [ "$(cat out.txt)" = 3 ]\n'})
    assert checked.ok
    assert any("output differs" in note for note in checked.notes)


@pytest.mark.slow
def test_a_container_verifier_without_a_reward_says_nothing(check: Callable[..., TaskCheck]) -> None:
    checked = check({**HARBOR, "tests/test.sh": "echo broken >&2; exit 1\n"})
    assert kinds(checked) == ["verifier-error", "verifier-error"]
    assert "wrote neither reward.json nor reward.txt (exit code 1); it said: broken" in checked.faults[0].message


def test_what_cannot_be_run_is_not_run(check: Callable[..., TaskCheck], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    docker = {"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nRUN make\n", "tests/test.sh": f"touch {trace}\n"}
    checked = check({**HARBOR, **docker})
    assert [fault.message for fault in checked.faults if fault.kind == "not-runnable"] == [
        "environment/Dockerfile:3: RUN make: no image is built here",
        "in a container of its own image it could be run: --sandbox podman, or docker",
    ]
    assert checked.nothing_done is None and not trace.exists()


@pytest.mark.slow
def test_skills_in_starting_files_are_no_skills_of_the_collection(
    check: Callable[..., TaskCheck], tmp_path: Path
) -> None:
    draft = {**TASK, "starting/draft/SKILL.md": POEMS.replace("poems", "draft")}
    assert check(draft).ok
    assert [skill.name for skill in collection((), None, str(tmp_path))[1]] == ["poems", "sum-sheets"]


def test_skills_of_tasks_are_found_where_they_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"skill-health.toml": "", "skills/sum-sheets/SKILL.md": SKILL})
    for name in ("one", "two", "three"):
        own = SKILL.replace("sum-sheets", f"own-{name}")
        write(tmp_path / "tasks" / name, {**HARBOR, f"environment/skills/own-{name}/SKILL.md": own})

    def found(*paths: str) -> list[str]:
        return [skill.name for skill in collection([str(tmp_path / path) for path in paths], None, str(tmp_path))[1]]

    one, two = "tasks/one/environment/skills", "tasks/two/environment/skills"
    assert found(one) == ["own-one"]
    assert found(one, two) == found(two, one) == ["own-one", "own-two"]
    # The name of a file brings the collection around it.
    assert {"own-one", "own-two"} <= set(found(f"{one}/own-one/SKILL.md", two))
    assert found("skills", two) == ["sum-sheets", "own-two"]
    # A folder around tasks names none of theirs.
    assert found(".", two) == ["sum-sheets", "own-two"]
    assert found("skills", "tasks") == found(".") == ["sum-sheets"]


ESCAPES = {
    "the environment is clean": 'test -z "${PLANTED_KEY:-}" && test -z "${VIRTUAL_ENV:-}" && test -z "${PYTHONPATH:-}"',
    "home is empty": 'test -z "$(ls -A "$HOME")"',
    "the verifier's folder is not there yet": 'test ! -e ../run-0-verifier && test -z "$(find .. -maxdepth 2 -name "verify*")"',
    "the workspace is no repository": "! git rev-parse --show-toplevel 2>/dev/null",
    "only the starting files are there": 'test "$(ls -A)" = in.txt',
}


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("test", ESCAPES.values(), ids=ESCAPES)
def test_what_an_oracle_sees(
    test: str, sandbox: str, check: Callable[..., TaskCheck], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PLANTED_KEY", "VIRTUAL_ENV", "PYTHONPATH"):
        monkeypatch.setenv(name, "/planted")
    assert check({**TASK, "oracle/solve.sh": f"if {test}; then echo 3 > out.txt; fi\n"}, sandbox=sandbox).ok


@pytest.mark.slow
@BOTH
def test_what_a_verifier_gets(sandbox: str, check: Callable[..., TaskCheck]) -> None:
    verify = (
        'test "$PWD" != "$(cd "$(dirname "$0")" && pwd)" || exit 1\ntest -z "$(ls -A "$VERIFIER_DIR")" || exit 1\n'
        'test -f "$FINAL_MESSAGE" && test "$(cat "$(dirname "$0")/verifier/x")" = y || exit 1\n'
        'test ! -e "$(dirname "$0")/oracle" || exit 1\n[ "$(cat out.txt)" = 3 ]\n'
    )
    assert check({**TASK, "verify.sh": verify, "verifier/x": "y\n"}, sandbox=sandbox).ok


@pytest.mark.slow
def test_an_oracle_may_answer_in_words(check: Callable[..., TaskCheck]) -> None:
    says = {"oracle/final.txt": "It is three.\n", "oracle/solve.sh": "true\n"}
    checked = check({**TASK, **says, "verify.sh": 'grep -q three "$FINAL_MESSAGE"\n'})
    assert checked.ok and any("the final message alone" in note for note in checked.notes)


@pytest.mark.slow
def test_a_verifier_of_the_plans_own_runner(check: Callable[..., TaskCheck]) -> None:
    verify = (
        "test -f .runner/final.txt || exit 2\nif [ -s out.txt ]; then s=1; else s=0.25; fi\n"
        'echo "{\\"score\\": $s}" > .runner/score.json\n[ -s out.txt ]\n'
    )
    checked = check({**TASK, "verify.sh": verify})
    assert checked.ok and checked.nothing_done
    assert checked.nothing_done.tried[0].verified.verdict.reward == 0.25
    assert checked.nothing_done.tried[0].verified.verdict.source == ".runner/score.json"


@pytest.mark.slow
def test_a_forged_score_counts_for_nothing(check: Callable[..., TaskCheck]) -> None:
    forged = "mkdir .runner; echo '{\"score\": 1}' > .runner/score.json\n"
    checked = check({**HARBOR, "solution/solve.sh": forged, "tests/test.sh": "true\n"})
    assert kinds(checked)[-1] == "verifier-error"


@pytest.mark.slow
def test_what_outlives_its_script_is_ended(check: Callable[..., TaskCheck], tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    checked = check({**TASK, "oracle/solve.sh": f"sleep 3000 & echo $! > {pid}; echo 3 > out.txt\n"})
    assert checked.ok
    with suppress(OSError):
        # Who is dead may not be reaped yet.
        while Path(f"/proc/{pid.read_text().strip()}/stat").read_text().split()[2] != "Z":
            time.sleep(0.01)


@pytest.mark.slow
def test_the_folders_are_removed(
    check: Callable[..., TaskCheck], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    assert check({**TASK, "oracle/solve.sh": "echo 3 > out.txt; mkdir -m 000 locked\n"}).solved
    assert list(place.iterdir()) == []


def test_a_workspace_that_resists(tmp_path: Path) -> None:
    write(tmp_path, {"plain": "1", "deep/er": "2", ".runner/score.json": "{}"})
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "sparse", "wb") as stream:
        stream.truncate(1 << 40)
    before = snapshot(str(tmp_path))
    assert sorted(before) == ["deep", "deep/er", "link", "pipe", "plain", "sparse"]
    assert differences(before, snapshot(str(tmp_path))) == []
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/etc/shadow")
    (tmp_path / "plain").write_text("2")
    (tmp_path / "deep/new").mkdir()
    os.truncate(tmp_path / "sparse", 1 << 39)
    found = differences(before, snapshot(str(tmp_path)))
    assert found == ["deep/new added", "link changed", "plain changed", "sparse changed"]


@pytest.mark.parametrize(("name", "said"), [("a b", "holds spaces or signs"), ("tmp", "lies inside")])
def test_a_temporary_folder_that_will_not_do_is_refused(
    name: str, said: str, check: Callable[..., TaskCheck], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    if name == "tmp":
        subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    with pytest.raises(AbortedError, match=said):
        check(TASK)


def test_a_flood_is_cut(tmp_path: Path) -> None:
    ran = run_process(["bash", "-c", "yes | head -c 3000000; exit 5"], str(tmp_path), clean_environment("/", "/"), 20)
    assert (ran.exit_code, len(ran.stdout)) == (5, MAX_OUTPUT)


@pytest.mark.slow
def test_an_open_pipe_does_not_hold_us(tmp_path: Path) -> None:
    (tmp_path / "held").touch()
    leave = "(while test -e held; do sleep 0.05; done) &"
    ran = run_process(["setsid", "bash", "-c", leave], str(tmp_path), clean_environment("/", "/"), 2000)
    assert ran.exit_code == 0
    (tmp_path / "held").unlink()


SLEEP = "import time; time.sleep(6000)"


@pytest.mark.slow
@pytest.mark.parametrize("code", [SLEEP, "while True: pass", f"import os; os.close(1); os.close(2); {SLEEP}"])
def test_a_time_limit_holds(code: str, tmp_path: Path) -> None:
    ran = run_process([sys.executable, "-c", code], str(tmp_path), clean_environment("/", "/"), 0.3)
    assert ran.exit_code is None


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    ran = run_process(["no-such-program-here"], str(tmp_path), clean_environment("/", "/"), 5)
    assert ran.exit_code == 127 and ran.stderr.startswith("no-such-program-here: ")


@pytest.mark.slow
def test_the_command(tmp_path: Path, check: Callable[..., TaskCheck], monkeypatch: pytest.MonkeyPatch) -> None:
    check(TASK)
    second = {**TASK, "metadata.json": json.dumps(META | {"id": "t2"}), "verify.sh": "echo '\x1b[2J'\n"}
    write(tmp_path / "tasks/two", second)
    write(tmp_path / "tasks/wrong", {**TASK, "metadata.json": "{"})
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[object, str]:
        words = ["check", "--sandbox", "none", *arguments]
        done = CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)
        return done.return_value, done.output

    code, text = call("tasks")
    assert code == 1
    broken, bought, counted = text.splitlines()
    assert broken.startswith("tasks/wrong/metadata.json:1: ") and bought.startswith("tasks/two: no-op-passes: ")
    assert counted == "3 tasks, 1 fit to use, 2 tried; 4 notes (--notes)"
    assert call("tasks/one")[0] == 0
    assert "note: no related_skill" in call("tasks/one", "--notes")[1]
    code, text = call("tasks", "--format", "json", "--static")
    record = json.loads(text)
    jsonschema.Draft202012Validator(load_schema("effectiveness-check")).validate(record)
    assert (code, record["ok"], record["tasks"][0]["nothing_done"]) == (1, False, None)
    for words in (["skills"], ["tasks/one", "--skills", "tasks/one"]):
        with pytest.raises(UsageError):
            call(*words)


@pytest.mark.slow
def test_the_records_are_the_same_each_time_and_hold_no_machine(
    check: Callable[..., TaskCheck], tmp_path: Path
) -> None:
    wordy = {**TASK, "verify.sh": 'echo "in $PWD for $0" >&2; exit 1\n'}
    first, second = check(wordy), check(wordy, at_once=1)
    assert as_json([first], ()) == as_json([second], ())
    jsonschema.Draft202012Validator(load_schema("effectiveness-check")).validate(json.loads(as_json([first], ())))
    text = as_text([first], (), True)
    assert tempfile.gettempdir() not in text and str(tmp_path) not in text
    assert "it said: in <temporary>/workspace for <temporary>/run-0-verifier/verify.sh" in text


@pytest.mark.slow
def test_an_interrupt_ends_what_runs(tmp_path: Path, checkout: Path) -> None:
    write(tmp_path / "skills/poems", {"SKILL.md": POEMS})
    mark = tmp_path / "begun"
    slow = {**TASK, "metadata.json": json.dumps(META | {"target_skill": "poems", "irrelevant_skill": "x"})}
    write(tmp_path / "tasks/one", {**slow, "oracle/solve.sh": f"touch {mark}; sleep 3000\n"})
    code = "from skill_health.commands.effectiveness import command; command.main(['check', 'tasks', '--skills', 'skills', '--sandbox', 'none'])"
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with process:
        while not mark.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode != 0


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("001-member-export", "016-parish-dates"), id="two", marks=pytest.mark.slow),
        pytest.param(("",), id="all", marks=pytest.mark.exhaustive),
    ],
)
@BOTH
def test_our_own_tasks_are_fit(checkout: Path, names: tuple[str, ...], sandbox: str) -> None:
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    root, skills = collection((), None, str(checkout / "fixtures"))
    loaded = load_tasks([str(checkout / "fixtures/tasks" / name) for name in names], root)
    checked = check_tasks(loaded.tasks, skills, root, ScriptOptions(back_end(sandbox)))
    assert as_text(checked, loaded.problems, False).splitlines()[:-1] == []
    assert all(one.nothing_done and one.solved for one in checked)
