"""A review: each criterion by its rule, the recommendation by the weightiest, and all six parts over a real folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from effects_made import MODEL, replace
from report_runs import kept, run, tasks
from test_check import POEMS, SKILL, TASK, write
from trial_made import HOSTILE, RUN, trajectory
from trials_run import ctrf

from skill_health.commands.effectiveness import command as group
from skill_health.core.validation import load_schema
from skill_health.documents import task_review
from skill_health.documents._record import FullFigure, NotedFigure
from skill_health.documents.effect_check import CheckedTask, FaultKind, TaskFault
from skill_health.documents.task_review import CriterionCode, Recommendation, ReviewedArm, ReviewedOracle, SkillsImpact
from skill_health.effectiveness.review.build import cause_of
from skill_health.effectiveness.review.criteria import CATEGORIES, ReviewFacts, judge_task, recommend
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.effectiveness.tasks._api import TaskAbout, about_task
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.text.terminal import clean

Review = Callable[..., Any]


def delta(value: float, low: float, high: float, simulated: bool = False) -> SkillsImpact:
    figure = FullFigure(
        value=value, low=low, high=high, n=18, clusters=1, p=None, p_adjusted=None, method="", note=""
    )  # fmt: skip
    return SkillsImpact(run="a", model="m", simulated=simulated, delta=figure)


def arm(passed: int, n: int, name: str = "control", simulated: bool = False) -> ReviewedArm:
    share = NotedFigure(value=passed / n, low=0.0, high=1.0, n=n, clusters=1, note="")
    return ReviewedArm(
        run="a", model="m", simulated=simulated, arm=name, passed=share, missing=0, seconds=1.0, tokens=1.0
    )  # fmt: skip


def checked(*faults: FaultKind, ran: bool = True) -> CheckedTask:
    problems = tuple(TaskFault(kind, f"about {kind}") for kind in faults)
    state = () if ran else None
    return CheckedTask(
        id="t", path="t", format="skillsbench", target_skill="a", digest="0" * 32, verifier_digest=None, runnable=True,
        ok=not problems, problems=problems, notes=(), nothing_done=state, solved=state,
    )  # fmt: skip


NOTHING_SAID = TaskAbout()
CAVEATS: Recommendation = "approve with caveats"
MAJOR: Recommendation = "major changes needed"
UNDECIDED: Recommendation = "not decided"


def facts(about: TaskAbout = NOTHING_SAID, **changes: Any) -> ReviewFacts:
    """A task without a fault, of three skills that help; `changes` are of its facts, or of its metadata."""
    metadata = task_review.ReviewedMetadata(
        id="t", path="t", format="skillsbench", category="cybersecurity", difficulty="easy", tags=(), instruction_by="human",
        instruction_words=20, skills=("a", "b", "c"), tests=4, criteria=0, judged=0, requirements=(),
    )  # fmt: skip
    of_metadata = {name: changes.pop(name) for name in tuple(changes) if hasattr(metadata, name)}
    made = ReviewFacts(
        replace(metadata, **of_metadata), about, checked(), ReviewedOracle(state="passes", reward=1.0, tests=None, seconds=1.0),
        (arm(0, 9),), (delta(0.8, 0.4, 0.95),), {"a": 0, "b": 0, "c": 0}, CATEGORIES,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_task_without_a_fault_is_approved() -> None:
    criteria = judge_task(facts())
    assert recommend(criteria) == "approve"
    assert [each.code for each in criteria if each.answer != "met"] == ["realistic"]
    assert {each.code for each in criteria} == set(get_args(CriterionCode))


@pytest.mark.parametrize(("changes", "code", "answer", "then"), [
    ({"check": checked("oracle-fails")}, "oracle-passes", "not met", MAJOR),
    ({"check": checked("no-oracle")}, "oracle-passes", "not met", MAJOR),
    ({"check": checked(ran=False)}, "oracle-passes", "not known", UNDECIDED),
    ({"check": checked("no-op-passes")}, "no-op-fails", "not met", MAJOR),
    ({"check": checked("verifier-bought")}, "verifier-sound", "not met", MAJOR),
    ({"check": checked("leak")}, "no-leak", "not met", "reject"),
    ({"check": checked("skill-named")}, "no-skill-named", "not met", MAJOR),
    ({"criteria": 3, "judged": 2}, "programs-decide", "not met", CAVEATS),
    ({"skill_errors": {"a": 2}}, "skills-sound", "not met", MAJOR),
    ({"skill_errors": {}}, "skills-sound", "not known", UNDECIDED),
    ({"skills": ("a",)}, "skill-count", "not met", CAVEATS),
    ({"skills": ("a",), "about": TaskAbout(skills_reason="one does it all")}, "skill-count", "met", "approve"),
    ({"skills": tuple("abcdefg")}, "skill-count", "not met", CAVEATS),
    ({"tests": 10}, "test-count", "not met", CAVEATS),
    ({"tests": 10, "about": TaskAbout(tests_reason="ten forms")}, "test-count", "met", "approve"),
    ({"tests": None}, "test-count", "not known", CAVEATS),
    ({"tests": None, "criteria": 9}, "test-count", "met", "approve"),
    ({"category": "flink"}, "closed-words", "not met", CAVEATS),
    ({"category": "flink", "categories": ()}, "closed-words", "met", "approve"),
    ({"difficulty": "middle"}, "closed-words", "not met", CAVEATS),
    ({"instruction_by": "model"}, "human-instruction", "not met", "reject"),
    ({"instruction_by": "mixed"}, "human-instruction", "not shown", CAVEATS),
    ({"instruction_by": None}, "human-instruction", "not shown", CAVEATS),
    ({"impact": ()}, "skill-dependent", "not known", UNDECIDED),
    ({"impact": (delta(0.8, 0.4, 0.95, simulated=True),)}, "skill-dependent", "not known", UNDECIDED),
    ({"impact": (delta(0.2, -0.1, 0.4),)}, "skill-dependent", "not shown", CAVEATS),
    # Nine passes of nine without a skill: Wilson's interval begins at 0.70.
    ({"impact": (delta(0, -0.3, 0.3),), "agents": (arm(9, 9),)}, "skill-dependent", "not met", "reject"),
    ({"impact": (delta(0, -0.3, 0.3),), "agents": (arm(9, 9, simulated=True),)}, "skill-dependent", "not shown", CAVEATS),
    # Three of three say little: it begins at 0.44.
    ({"impact": (delta(0, -0.3, 0.3),), "agents": (arm(3, 3),)}, "skill-dependent", "not shown", CAVEATS),
    ({"impact": (delta(0.3, 0.05, 0.5),), "agents": (arm(7, 9),)}, "skill-dependent", "met", "approve"),
    ({"impact": (delta(-0.8, -0.9, -0.4),)}, "no-harm", "not met", MAJOR),
    ({"skills": (), "impact": (), "skill_errors": {}}, "skill-dependent", "met", "approve"),
])  # fmt: skip
def test_each_criterion_has_its_weight(
    changes: Mapping[str, Any], code: CriterionCode, answer: str, then: Recommendation
) -> None:
    criteria = judge_task(facts(**changes))
    (found,) = (each for each in criteria if each.code == code)
    assert (found.answer, recommend(criteria)) == (answer, then), found.said


@pytest.mark.parametrize(("said", "cause"), [
    ("AssertionError: assert 3 == 4", "assertion"),
    ("assert False", "assertion"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'out.txt'", "missing file"),
    ("AssertionError: out.txt does not exist", "missing file"),
    ("AssertionError: Output file not found: out.docx", "missing file"),
    ("AssertionError: the total was not found in the answer", "assertion"),
    ("KeyError: 'total'", "exception"),
    ("subprocess.TimeoutExpired", "not said"),
    ("the total is wrong", "not said"),
    ("", "not said"),
])  # fmt: skip
def test_causes_are_those_that_the_message_names(said: str, cause: str) -> None:
    assert cause_of(said) == cause


@pytest.mark.parametrize("written", ["a robot", 3, None, ["human"]])
def test_metadata_of_other_kinds_are_as_none(written: Any) -> None:
    assert about_task({"instruction_by": written, "tags": "data", "tests_reason": None}) == TaskAbout()
    assert about_task({"instruction_by": "Human", "tags": ["a", 1]}) == TaskAbout(("a",), "human")


OF_ONE = {"category": "data", "difficulty": "easy", "tags": ["sums"], "instruction_by": "human"}
TESTS = [("total", "failed"), ("file", "passed"), ("sum", "failed")]


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Review:
    """What `effectiveness review` prints for the one task; `told` becomes a part of its metadata."""
    monkeypatch.chdir(tmp_path)
    told = json.loads(TASK["metadata.json"]) | OF_ONE
    write(tmp_path, {"skill-health.toml": "", "skills/sum-sheets/SKILL.md": SKILL, "skills/poems/SKILL.md": POEMS})
    write(tmp_path / "tasks/one", {**TASK, "metadata.json": json.dumps(told)})

    def asked(*given: str, exit_code: int = 0) -> Any:
        capsys.readouterr()
        assert group.main(["review", "tasks", *given], standalone_mode=False) == exit_code
        printed = capsys.readouterr().out
        if "json" not in given:
            return printed
        jsonschema.Draft202012Validator(load_schema("effectiveness-review")).validate(json.loads(printed))
        return json.loads(printed)

    return asked


def write_run(root: Path, model: str = "agent:m", digest: str | None = None, said: str = "") -> None:
    """A run with the task as it lies there: in three replications the target passes and the control fails."""
    (task,) = load_tasks([str(root / "tasks")], str(root)).tasks
    of_task = {"id": task.id, "digest": digest or task.digest, "verifier_digest": task.verifier_digest}
    made = run(RUN, tasks=[tasks(1, 0, 1)[0] | of_task], arms=("control", "target"), replications=3)
    agents = tuple(replace(each, spec=model, simulated=model == MODEL) for each in made.manifest.models)
    made = replace(made, manifest=replace(made.manifest, models=agents))
    results = tuple(
        replace(
            each, model=model, outcome="pass" if each.arm == "target" else "fail", folder=f"trials/{each.arm}-{each.replication}",
            duration_ms=2000.0,
        )
        for each in made.results
    )  # fmt: skip
    folder = kept(root / "reports", EffectRun("", made.manifest, results))
    tests = json.loads(ctrf(*TESTS))
    for test in tests["results"]["tests"][::2]:
        test |= {"message": "The test failed", "trace": f"def test():\n>  assert 3 == 4\nE   assert 3 == 4{said}\n"}
    for each in results:
        files = {"trajectory.json": trajectory({"step_id": 1, "source": "agent", "message": f"It is 3.{said}"})}
        if each.outcome == "fail":
            files["verifier/ctrf.json"] = json.dumps(tests).encode()
        write(folder / each.folder, {name: data.decode() for name, data in files.items()})


@pytest.mark.slow
def test_the_six_parts(review: Review, tmp_path: Path) -> None:
    write_run(tmp_path)
    found = review("--sandbox", "none", "--format", "json")
    (task,) = found["tasks"]
    assert (task["recommendation"], found["runs"]) == (CAVEATS, [RUN])
    assert task["metadata"]["tags"] == ["sums"] and task["metadata"]["instruction_by"] == "human"
    assert task["oracle"]["state"] == "passes" and task["oracle"]["reward"] == 1
    arms = {each["arm"]: each["passed"] for each in task["agents"]}
    # Wilson's interval of none of three, and of three of three.
    assert (arms["control"]["low"], arms["control"]["high"]) == (0, pytest.approx(0.561497, abs=1e-6))
    assert (arms["target"]["value"], arms["target"]["n"]) == (1, 3)
    (impact,) = task["impact"]
    assert impact["delta"]["value"] == 1 and impact["delta"]["low"] > 0
    (failure,) = task["failures"]
    assert (failure["names"], failure["cause"], failure["said"]) == (["sum", "total"], "assertion", "assert 3 == 4")
    assert failure["failed"] == [{"arm": "control", "failed": 3, "of": 3}]
    assert failure["example"]["last"].strip() == "It is 3."
    missed = {each["code"] for each in task["criteria"] if each["answer"] == "not met"}
    assert missed == {"skill-count"}


PRINTED = """=== FAILURES ===
____________ TestTotal.test_total ____________

    def test_total():
>       assert total() == 4
E       FileNotFoundError: [Errno 2] No such file or directory: 'out.txt'

tests/test_outputs.py:3: FileNotFoundError
____________ test_file ____________
E       assert 3 == 4
=== short test summary info ===
E is no mark here
FAILED tests/test_outputs.py::test_file - assert 3 == 4
"""


def test_without_a_report_of_tests_what_pytest_printed_is_read(review: Review, tmp_path: Path) -> None:
    write_run(tmp_path)
    for folder in (tmp_path / "reports/effectiveness" / RUN / "trials").glob("control-*"):
        (folder / "verifier/ctrf.json").unlink()
        (folder / "verifier/stdout").write_text(PRINTED)
    (task,) = review("--static", "--format", "json", exit_code=1)["tasks"]
    told = {tuple(each["names"]): (each["cause"], each["said"]) for each in task["failures"]}
    missing = "FileNotFoundError: [Errno 2] No such file or directory: 'out.txt'"
    total, file = ("missing file", missing), ("assertion", "assert 3 == 4")
    assert told == {("TestTotal.test_total",): total, ("test_file",): file}


def test_text_and_markdown_have_the_same_parts(review: Review, tmp_path: Path) -> None:
    write_run(tmp_path)
    text, md = (review("--static", "--format", each, exit_code=1) for each in ("text", "md"))
    parts, same = (re.findall(r"^(?:## )?([1-6])\. (.*)$", page, re.MULTILINE) for page in (text, md))
    assert parts == same and [number for number, _ in parts] == list("123456")
    assert [title for _, title in parts if " " not in title] == ["Metadata", "Oracle", "Agents", "Criteria"]
    assert "effectiveness show" in text and "control 3 of 3" in text


@pytest.mark.slow
def test_trials_of_another_state_of_the_task_are_no_evidence(review: Review, tmp_path: Path) -> None:
    write_run(tmp_path, digest="0" * 32)
    (task,) = review("--sandbox", "none", "--format", "json", exit_code=1)["tasks"]
    assert (task["agents"], task["recommendation"]) == ([], UNDECIDED)


@pytest.mark.slow
def test_simulated_trials_decide_nothing(review: Review, tmp_path: Path) -> None:
    write_run(tmp_path, model=MODEL)
    (task,) = review("--sandbox", "none", "--format", "json", exit_code=1)["tasks"]
    assert task["impact"][0]["simulated"] and task["recommendation"] == UNDECIDED


def test_nothing_runs_with_static(review: Review, tmp_path: Path) -> None:
    write(tmp_path / "tasks/one", {"oracle/solve.sh": f"touch {tmp_path}/ran\necho 3 > out.txt\n"})
    (task,) = review("--static", "--format", "json", exit_code=1)["tasks"]
    assert not (tmp_path / "ran").exists() and task["oracle"]["state"] == "not run"


def test_a_named_skill_and_an_instruction_of_a_model(review: Review, tmp_path: Path) -> None:
    told = json.loads(TASK["metadata.json"]) | {"instruction_by": "model"}
    text = "Use the sum-sheets skill on in.txt.\n"
    write(tmp_path / "tasks/one", {"task.md": text, "metadata.json": json.dumps(told)})
    text = review("--static", exit_code=1)
    assert "REJECT" in text and "reject: human-instruction" in text and "major: no-skill-named" in text


def test_what_trials_hold_cannot_forge_output(review: Review, tmp_path: Path) -> None:
    write_run(tmp_path, said=HOSTILE.replace("\ud800", "").replace("\x00", ""))
    text, md = (review("--static", "--format", each, exit_code=1) for each in ("text", "md"))
    assert all(clean(line) == line for line in text.splitlines())
    assert "<script>" not in md and "<img" not in md and "\x1b" not in md


def test_what_is_no_task_is_said(review: Review, tmp_path: Path) -> None:
    write(tmp_path / "tasks/two", {"task.md": "Add.\n", "metadata.json": "{"})
    assert "tasks/two/metadata.json:1:" in review("--static", exit_code=1)
