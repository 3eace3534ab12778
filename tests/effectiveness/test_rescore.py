"""Verified again: what a new verifier says of old workspaces, what cannot be verified, and how results are replaced."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from effects_made import replace, typed
from msgspec import structs
from report_runs import frozen, kept
from trial_bench import agent, cell, needs_bubblewrap, record, skill, task, verifier

from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import load_result_records
from skill_health.commands.effectiveness import command
from skill_health.documents._record import record_values
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.run import rescore as rescoring
from skill_health.effectiveness.run.history import HISTORY
from skill_health.effectiveness.run.rescore import Rescored, as_text, rescore, verified_now
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Script, SetupCommand, Task, script
from skill_health.effectiveness.trial.trial import run_trial
from skill_health.effectiveness.workspace.scripts import ScriptOptions

pytestmark = pytest.mark.usefixtures("folder")

FIRST = "test -f out.txt"
SECOND = 'grep -q 3 out.txt && grep -q "all done" "$FINAL_MESSAGE" && test ! -e .agents && echo \'{"reward": 0.5}\' > "$VERIFIER_DIR/reward.json"'
RUN = typed(frozen())
RIGHT, WRONG, LOST = "echo 3 > out.txt; echo all done", "echo 4 > out.txt", "true"
LATE = f"{RIGHT}; sleep 9"


KEPT: list[Path] = []
TRIED: dict[str, tuple[Path, TrialResult]] = {}
"""What trials with the first verifier left, by their agents, and where it is kept."""


@pytest.fixture(scope="module", autouse=True)
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    KEPT[:] = [tmp_path_factory.mktemp("kept")]
    yield
    TRIED.clear()


def a_task(tmp_path: Path, check: str | Script | None) -> Task:
    return task(tmp_path, verifier(check) if isinstance(check, str) else check)


def made(
    tmp_path: Path, *texts: str, check: str | Script | None = FIRST, sandbox: str = "none"
) -> tuple[str, list[TrialResult]]:
    """The folder of a run with one trial for each agent; what is kept of the usual ones is copied."""
    run = tmp_path / "run"
    (run / "trials").mkdir(parents=True)
    results = []
    for number, text in enumerate(texts):
        usual, place = (check, sandbox) == (FIRST, "none"), run / "trials" / f"t{number}"
        if usual and text in TRIED:
            result = TRIED[text][1]
            shutil.copytree(TRIED[text][0], place, symlinks=True)
        else:
            of = {"skills": [skill("alpha")], "limits": SandboxLimits(timeout_sec=0.4)}
            result = asyncio.run(run_trial(cell(a_task(tmp_path, check), agent(text), sandbox, **of), str(place)))
            if usual:
                TRIED[text] = (shutil.copytree(place, KEPT[0] / str(len(TRIED)), symlinks=True), result)
        results.append(replace(result, replication=number, folder=f"trials/t{number}"))
    return str(run), results


def again(run: str, results: list[TrialResult], now: Task | None, sandbox: str = "none") -> list[Rescored]:
    return asyncio.run(rescore(run, results, {"t1": now} if now else {}, ScriptOptions(back_end(sandbox))))


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_the_same_verifier_says_the_same(tmp_path: Path, sandbox: str) -> None:
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    run, results = made(tmp_path, RIGHT, LOST, sandbox=sandbox)
    trials = again(run, results, a_task(tmp_path, FIRST), sandbox)
    assert [(trial.word, trial.reasons) for trial in trials] == [("same", ()), ("same", ())]
    assert [trial.after for trial in trials] == results
    (other, _) = again(run, results, replace(a_task(tmp_path, FIRST), digest="another"), sandbox)
    assert other.word == "same" and "the task itself is another one" in other.reasons[0]


@pytest.mark.slow
def test_a_new_verifier(tmp_path: Path) -> None:
    run, results = made(tmp_path, RIGHT, WRONG, LATE, LOST)
    assert [result.outcome for result in results] == ["pass", "pass", "timeout", "fail"]
    trials = again(run, results, a_task(tmp_path, SECOND))
    assert [trial.word for trial in trials] == ["changed", "changed", "changed", "same"]
    assert [(trial.after.outcome, trial.after.reward) for trial in trials] == [
        ("pass", 0.5), ("fail", 0.0), ("timeout", 0.5), ("fail", 0.0),
    ]  # fmt: skip
    other = trials[3].reasons[0]
    assert trials[0].reasons == ("reward 1 -> 0.5", other)
    assert trials[1].reasons == ("outcome pass -> fail", "reward 1 -> 0", other)
    assert trials[3].reasons == (other,) and trials[3].after == results[3]
    assert trials[0].after.notes[-1] == rescoring.NOTE and trials[0].after.usage == results[0].usage


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_what_was_prepared_is_there_when_it_is_verified_again(tmp_path: Path, sandbox: str) -> None:
    """Files that steer a verifier are put back as the agent found them, not as they lie in the task's folder."""
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    commands = tuple(SetupCommand(each, 10.0) for each in ("echo x = 1 > conftest.py", "echo prepared >> count.txt"))
    check = 'grep -q "x = 1" conftest.py && [ "$(cat count.txt)" = prepared ]'
    one = replace(a_task(tmp_path, check), preparation=commands)
    place = tmp_path / "run/trials/t0"
    place.parent.mkdir(parents=True)
    tampered = "echo evil > conftest.py"
    result = asyncio.run(run_trial(cell(one, agent(tampered), sandbox, [skill("alpha")]), str(place)))
    assert (result.outcome, result.error) == ("pass", ""), result
    (trial,) = again(str(tmp_path / "run"), [result], one, sandbox)
    assert (trial.word, trial.reasons, trial.after) == ("same", (), result)
    broken = replace(one, preparation=(SetupCommand("exit 3", 10.0),))
    (trial,) = again(str(tmp_path / "run"), [result], broken, sandbox)
    assert trial.word == "skipped" and "command 1 (exit 3) " in trial.reasons[0]


@pytest.mark.slow
def test_the_report_of_a_test_runner_is_kept_and_replaced(tmp_path: Path) -> None:
    def tested(passed: int) -> str:
        summary = {"tests": 3, "passed": passed, "failed": 3 - passed}
        said = json.dumps({"reportFormat": "CTRF", "results": {"summary": summary}})
        return f"echo '{said}' > \"$VERIFIER_DIR/ctrf.json\""

    run, (result,) = made(tmp_path, RIGHT, check=tested(2))
    kept = Path(run) / "trials/t0/verifier/ctrf.json"
    assert json.loads(kept.read_text())["results"]["summary"]["passed"] == 2
    assert result.outcome == "pass" and (result.tests.passed, result.tests.counted) == (2, 3)  # type: ignore[union-attr]
    (trial,) = again(run, [result], a_task(tmp_path, tested(3)))
    assert "tests passed 2 of 3 -> 3 of 3" in trial.reasons
    rescoring.replace_verdict(str(kept.parents[1]), trial)
    assert json.loads(kept.read_text())["results"]["summary"]["passed"] == 3


@pytest.mark.slow
def test_a_verifier_that_broke_then_and_works_now(tmp_path: Path) -> None:
    lost = task(tmp_path, script(("no-such-program-here",), (), 5.0))
    run, results = made(tmp_path, RIGHT, check=lost.verifier)
    assert results[0].outcome == "infrastructure"
    trials = again(run, results, a_task(tmp_path, FIRST))
    assert (trials[0].word, trials[0].after.outcome, trials[0].after.error) == ("changed", "pass", "")


@pytest.mark.slow
def test_a_verifier_that_breaks_now_changes_nothing(tmp_path: Path) -> None:
    run, results = made(tmp_path, RIGHT)
    trials = again(run, results, a_task(tmp_path, "kill -9 $$"))
    assert trials[0].word == "failed" and trials[0].after == results[0]
    assert trials[0].reasons[0].endswith("signal 9")


@pytest.mark.slow
def test_work_that_a_verifier_does_not_survive(tmp_path: Path) -> None:
    """The verifier of then was seen to end by itself by the check of then; of another one nobody knows that."""
    run, results = made(tmp_path, "echo 'kill -9 $PPID' > work.sh", check="sh work.sh; true")
    assert results[0].outcome == "fail"
    (same,) = again(run, results, a_task(tmp_path, "sh work.sh; true"))
    assert (same.word, same.reasons) == ("same", ())
    (other,) = again(run, results, a_task(tmp_path, "sh work.sh; exit 0"))
    assert other.word == "failed" and other.reasons[0].endswith("signal 9")


@pytest.mark.slow
def test_what_cannot_be_verified_again(tmp_path: Path) -> None:
    run, results = made(tmp_path, RIGHT, "echo '@failure infrastructure'")
    now = a_task(tmp_path, FIRST)
    place = Path(run, "trials")

    def why(result: TrialResult = results[0], of: Task | None = now) -> str:
        trial = again(run, [result], of)[0]
        assert trial.word == "skipped" and trial.after == result
        return trial.reasons[0]

    assert why(results[1]) == "its agent came to no end of its own (infrastructure)"
    assert "its task" in why(of=None)
    assert why(of=a_task(tmp_path, None)) == "its task has no verifier any more"
    for odd in ("", "trials/../../x", "/etc", "elsewhere/t0"):
        assert why(replace(results[0], folder=odd)) == "its result names no folder of a trial"
    lost = why(replace(results[0], folder="trials/none"))
    assert "its folder" in lost
    (place / "t0" / "workspace.tar.gz").write_bytes(b"damaged")
    assert why().startswith("the kept workspace cannot be used: it is damaged")
    (place / "t0" / "workspace.tar.gz").unlink()
    assert why() == "its workspace was not kept"
    (place / "t0" / "verdict.json").write_text("{")
    assert why() == lost


@pytest.mark.slow
def test_workspaces_that_attack(tmp_path: Path) -> None:
    """What an agent left is as hostile as it was: nothing is written through its links."""
    aim = tmp_path / "aim"
    aim.mkdir()
    links = f"ln -s {aim} .runner; ln -s {aim} d; rm -r .agents; ln -s {aim} .agents"
    run, results = made(tmp_path, f"{links}; echo 3 > out.txt")
    assert again(run, results, a_task(tmp_path, f"{FIRST}; true # .runner"))[0].word in ("same", "changed")
    assert list(aim.iterdir()) == []


@pytest.mark.slow
def test_results_are_replaced(tmp_path: Path) -> None:
    run, results = made(tmp_path, RIGHT, WRONG, LOST)
    trials = again(run, results, a_task(tmp_path, SECOND))
    rescoring.replace_results(run, RUN, trials)
    assert load_result_records(str(run), TrialResult) == tuple(trial.after for trial in trials)
    verdict = record(Path(run, "trials/t1"), "verdict.json")
    assert (verdict["outcome"], verdict["imposed"]) == ("fail", "")
    assert verdict["verifier_digest"] == trials[1].verifier_digest
    assert record(Path(run, "trials/t0"), "verifier/reward.json") == {"reward": 0.5}
    # Once more, nothing is left to change.
    later = again(run, [trial.after for trial in trials], a_task(tmp_path, SECOND))
    assert [trial.word for trial in later] == ["same"] * 3
    assert [trial.reasons for trial in later[:2]] == [(), ()]


@pytest.mark.slow
def test_what_is_said(tmp_path: Path) -> None:
    run, results = made(tmp_path, RIGHT, WRONG)
    odd = replace(results[0], task_id="t\x1b[2J", folder="")
    trials = [*again(run, results, a_task(tmp_path, SECOND)), *again(run, [odd], None)]
    text = as_text(trials, written=False)
    assert "t1, script, target, replication 1: outcome pass -> fail; reward 1 -> 0; " in text
    assert "left out, 1: its task is not among those that were read\n" in text and "\x1b" not in text
    assert re.search(r"^2 of 3 trials .*: 0 .*, 2 ", text, re.MULTILINE)
    assert "--write" in text and "the results were replaced" in as_text(trials, written=True)
    told = json.loads(json.dumps(rescoring.as_json(trials, False)))
    assert told["trials"][1]["after"] == {"outcome": "fail", "reward": 0.0}


@pytest.mark.slow
def test_the_manifest_names_the_verifiers_that_judged(tmp_path: Path) -> None:
    """Or `compare` would take two verifiers for one."""
    run, results = made(tmp_path, RIGHT, LOST, "echo '@failure infrastructure'")
    old, now = a_task(tmp_path, FIRST), a_task(tmp_path, SECOND)
    assert old.verifier and now.verifier
    first, second = RUN.tasks[:2]
    first = structs.replace(first, id="t1", verifier_digest=old.verifier.digest)
    before = structs.replace(RUN, tasks=(first, structs.replace(second, verifier_digest="x")))
    trials = again(run, results, now)
    assert [trial.word for trial in trials] == ["changed", "same", "skipped"]
    after = verified_now(before, trials)
    # What was no matter of the verifier keeps nothing of the old one.
    assert [task.verifier_digest for task in after.tasks] == [now.verifier.digest, "x"]
    assert after.hashes == {**before.hashes, "tasks": digest(record_values(after)["tasks"])}
    assert structs.replace(after, tasks=before.tasks, hashes=before.hashes) == before
    assert verified_now(before, again(run, results, None)) == before
    # A verdict that stays the old one's is a mixture, and equal to neither.
    mixed = verified_now(before, [trials[0], replace(trials[1], word="failed")]).tasks[0].verifier_digest
    assert mixed not in (old.verifier.digest, now.verifier.digest)


TASK = {
    "task.md": "Write 3.\n", "starting/in.txt": "1\n", "verify.sh": f"{FIRST}\n", "oracle/solve.sh": "echo 3 > out.txt\n",
    "metadata.json": json.dumps({"id": "t1", "slug": "t-1", "target_skill": "alpha", "irrelevant_skill": "beta"}),
}  # fmt: skip


def collection(root: Path) -> Path:
    skills = {
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: Does {name}.\n---\n# {name}\n"
        for name in ("alpha", "beta")
    }
    files = {"skill-health.toml": "", **skills, **{f"tasks/one/{path}": text for path, text in TASK.items()}}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def invoke(*words: str) -> Any:
    return CliRunner().invoke(command, words, standalone_mode=False)


@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = collection(tmp_path / "c")
    monkeypatch.chdir(root)
    run, results = made(tmp_path, RIGHT, LOST)
    reports = tmp_path / "reports"
    place = kept(reports, EffectRun("", RUN, tuple(results)))
    shutil.move(f"{run}/trials", place / "trials")

    def call(*words: str) -> Any:
        return invoke("rescore", *words, "--sandbox", "none", "--out", str(reports))

    ended = call("last", "--tasks", "tasks")
    assert (ended.return_value, ended.exception) == (0, None)
    assert "2 of 2 " in ended.output and ": 2 as they were, 0 changed\n" in ended.output
    (root / "tasks/one/verify.sh").write_text("test ! -f out.txt\n")
    before = (place / "results.jsonl").read_bytes()
    ended = call(str(place), "--tasks", "tasks/one", "--format", "json")
    assert ended.return_value == 1
    assert [trial["word"] for trial in json.loads(ended.output)["trials"]] == ["changed"] * 2
    assert (place / "results.jsonl").read_bytes() == before
    ended = call(str(place), "--tasks", "tasks", "--write", "--concurrency", "1")
    assert ended.return_value == 1
    assert [result.outcome for result in load_result_records(str(place), TrialResult)] == ["fail", "pass"]
    assert call(str(place), "--tasks", "tasks").return_value == 0
    assert "'nothing'" in str(call("nothing", "--tasks", "tasks").exception)


@pytest.mark.slow
def test_a_run_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of the command, with the tasks of the configuration; its report follows the new results."""
    root = collection(tmp_path / "c")
    # What empty files pass is refused before any trial.
    (root / "tasks/one/verify.sh").write_text("grep -qx 3 out.txt\n")
    monkeypatch.chdir(root)
    words = "run tasks --agents scripted:base=0,target=1 --arms control,target --reps 2 --sandbox none --quiet".split()
    ended = invoke(*words)
    assert ended.exception is None, ended.output
    place = next((root / "reports" / "effectiveness").iterdir())
    then = json.loads((place / "report.json").read_text())
    (root / "tasks/one/verify.sh").write_text("false\n")
    ended = invoke("rescore", "last", "--sandbox", "none", "--write")
    assert (ended.return_value, ended.exception) == (1, None), ended.output
    now = json.loads((place / "report.json").read_text())
    lines = [json.loads(line) for line in (root / "reports" / HISTORY).read_text().splitlines()]
    assert [(line["skill"], line["delta"]["value"]) for line in lines] == [
        (None, 1.0), ("alpha", 1.0), (None, 0.0), ("alpha", 0.0),
    ]  # fmt: skip
    assert then["models"][0]["outcomes"]["pass"] > 0 and not now["models"][0]["outcomes"].get("pass")
