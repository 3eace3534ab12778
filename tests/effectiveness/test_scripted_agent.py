"""The scripted agent: what it pretends is what it draws, what it draws is what was asked for, and it really does it."""

from __future__ import annotations

import ast
import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from effects_made import replace
from hypothesis import example, given
from hypothesis import strategies as st
from scripted_bench import bench, fixture_copies, fixture_tasks

from simulators.agents import _program, scripted
from simulators.agents.scripted import Drawn, ScriptPlan, chance, draw, effect, parse_plan
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import Job, ProgramOutput
from skill_health.effectiveness.agents._loop_stream import read
from skill_health.effectiveness.records import CONDITIONS, SkillCopy
from skill_health.effectiveness.tasks._api import Script, Task, script
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.staging import parse_arm

ARMS = (*CONDITIONS, "placebo", "aa", "order:3", "leave_one_out:tidy", "leave_one_out:other", "target+hint")


def made_skill(name: str) -> SkillCopy:
    text = f"---\nname: {name}\ndescription: Use when there is something to {name}.\n---\n# {name}\n\nDo it.\n"
    return make_copy(name, f"Use when there is something to {name}.", [File("SKILL.md", text.encode())])


JOB = Job("scripted", "", "Make it.", "/w", "/h", "/t", ())
SKILLS = {name: made_skill(name) for name in ("other", "tidy", "zeal")}


def made_task(oracle: str | None = "echo done > out.txt\n", **more: Any) -> Task:
    """A task whose oracle is one line of shell."""
    files = [File("solve.sh", oracle.encode(), True), File("final.txt", b"It is done.")] if oracle else []
    solve: Script | None = script(["sh", "solve.sh"], files, 5.0) if oracle else None
    given: dict[str, Any] = {
        "id": "made", "slug": "made", "path": "made", "format": "plan_directory", "prompt": "Make it.",
        "target_skills": ("tidy",), "irrelevant_skill": "other", "oracle": solve,
    }  # fmt: skip
    return Task(**given | more)


@pytest.mark.parametrize(("spec", "said"), [
    ("scripted:bse=1", "did you mean base=?"),
    ("scripted:zzzzzz=1", "the keys are base, invoke"),
    ("scripted:base", "there is no 'base'"),
    ("scripted:base=0.1,base=0.2", "base is given twice"),
    *((f"scripted:base={value}", "0 to 1") for value in ("1.5", "nan", "")),
    ("scripted:target=-1.01", "-1 to 1"),
    ("scripted:skill.tidy=2", "-1 to 1"),
    ("scripted:skill.=0.2", "there is no 'skill.=0.2'"),
    ("scripted:spread=inf", "0 to 10"),
    *((f"scripted:seed={value}", f"seed={value!r}: ") for value in ("-1", "1.5", "٣")),
    ("scripted:sleep=1e9", "0 to 3,600"),
    ("scripted:fail=0.6,hang=0.6", "fail, hang"),
])  # fmt: skip
def test_a_mistake_in_a_script_is_one_clear_line(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match="scripted: ") as caught:
        scripted.check(spec)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_script_is_read_with_and_without_its_name() -> None:
    text = "seed=7, base=0.5,target=-0.2,skill.tidy=0.4,control_full=0.1,fail=0.25,sleep=2,aa=0.3"
    plan = parse_plan(f"scripted:{text}")
    assert plan == parse_plan(text) == parse_plan(text, seed=99)
    assert (plan.seed, plan.base, plan.sleep, plan.skills) == (7, 0.5, 2.0, {"tidy": 0.4})
    assert plan.effects == {"target": -0.2, "aa": 0.3}
    assert (plan.control_effects, plan.failures) == ({"full": 0.1}, {"infrastructure": 0.25})
    assert parse_plan("scripted", 5) == parse_plan("", 5) == ScriptPlan(seed=5)


@pytest.mark.parametrize(("spec", "effects"), [
    ("", {"target": 0.3, "full": 0.3, "aa": 0.3, "target_plus_one": 0.3, "target_plus_unrelated": 0.3, "order:3": 0.3,
          "leave_one_out:other": 0.3, "leave_one_out:tidy": 0, "negative": 0, "placebo": 0, "control": 0}),
    ("target=0.2,full=0.1,hint=0.05,aa=0.25", {"target": 0.2, "full": 0.1, "order:3": 0.1, "leave_one_out:other": 0.1,
          "target_plus_one": 0.2, "target+hint": 0.25, "full+hint": 0.15, "aa": 0.25, "leave_one_out:tidy": 0}),
    ("skill.tidy=-0.1,target=0.4,plus_one=0.2", {"target": -0.1, "full": -0.1, "target_plus_one": 0.2}),
    ("skill.other=-0.1,target=0.4", {"target": 0.4}),
    ("negative=-0.05,placebo=0.02,plus_unrelated=0.1,order=0.6,leave_one_out=0.5",
         {"negative": -0.05, "placebo": 0.02, "target_plus_unrelated": 0.1, "order:3": 0.6, "leave_one_out:other": 0.5}),
])  # fmt: skip
def test_effects_by_arm(spec: str, effects: Mapping[str, float]) -> None:
    plan = parse_plan(spec)
    assert {arm: effect(plan, ("tidy",), parse_arm(arm), False) for arm in effects} == pytest.approx(effects)


def test_negative_controls_have_effects_of_their_own() -> None:
    plan = parse_plan("target=0.5,full=0.4,negative=-0.3,control_full=0.2")
    found = {arm: effect(plan, "none", parse_arm(arm), True) for arm in ("control", "full", "negative")}
    assert found == {"control": 0, "full": 0.2, "negative": 0}


@given(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 4), st.integers(0, 2**40))
@example(0.5, 0.5, 1.0, 1)
@example(0.5, -0.5, 1.0, 1)
def test_chances_are_shares_and_average_to_what_was_asked_for(
    base: float, change: float, spread: float, difficulty: int
) -> None:
    plan = parse_plan(f"base={base},target={change},spread={spread},difficulty={difficulty}")
    tasks = [f"task-{number}" for number in range(300)]
    for arm, share in (("control", base), ("target", base + change)):
        found = [chance(plan, task, ("tidy",), parse_arm(arm)) for task in tasks]
        assert all(0 <= value <= 1 for value in found)
        # The standard deviation of a chance is at most sqrt(p (1 - p)).
        expected = min(1.0, max(0.0, share))
        away = 5 * math.sqrt(expected * (1 - expected) / len(found)) + 1e-6
        assert abs(math.fsum(found) / len(found) - expected) <= away


def test_a_hard_task_is_hard_in_every_arm() -> None:
    plan = parse_plan("spread=2,target=0.2")
    tasks = [f"task-{number}" for number in range(50)]
    orders = [
        sorted(tasks, key=lambda task: chance(plan, task, ("tidy",), parse_arm(arm))) for arm in ("control", "target")
    ]
    assert orders[0] == orders[1]
    with_it, without = parse_arm("target"), parse_arm("control")
    assert all(chance(plan, task, ("tidy",), with_it) > chance(plan, task, "tidy", without) for task in tasks)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_frequencies_are_the_effects(spread: float) -> None:
    rates = "base=0.4,target=0.25,negative=-0.1,invoke=0.8,stray=0.1,fail=0.05,hang=0.1"
    plan = parse_plan(f"seed=11,{rates},spread={spread}")
    tasks, reps = range(400), range(3)
    expected = {"control": (0.4, 0.0), "target": (0.65, 0.8), "negative": (0.3, 0.1)}
    for arm, (share, opened) in expected.items():
        drawn = [draw(plan, f"t{task}", "tidy", parse_arm(arm), rep) for task in tasks for rep in reps]
        own = math.fsum(chance(plan, f"t{task}", "tidy", parse_arm(arm)) for task in tasks) / len(tasks)
        assert rate(each.success for each in drawn) == pytest.approx(own, abs=0.055)
        assert own == pytest.approx(share, abs=0.08)
        assert rate(each.invoked for each in drawn) == pytest.approx(opened, abs=0.05)
        assert rate(each.failure == "infrastructure" for each in drawn) == pytest.approx(0.05, abs=0.025)
        assert rate(each.failure == "timeout" for each in drawn) == pytest.approx(0.1, abs=0.035)
        for each in drawn:
            assert_sound(each)


def rate(values: Any) -> float:
    found = list(values)
    return sum(found) / len(found)


def assert_sound(drawn: Drawn) -> None:
    usage = drawn.usage
    assert usage.input_tokens is not None and usage.output_tokens is not None and usage.cached_tokens is not None
    assert 0 <= usage.cached_tokens <= usage.input_tokens and usage.output_tokens > 0
    assert drawn.cost_usd > 0 and drawn.duration_ms > 0
    assert drawn.turns == drawn.tool_calls + 1 >= 2 + drawn.invoked
    assert not (drawn.partial and drawn.success)


@given(st.integers(0, 2**59), st.text(max_size=20), st.sampled_from(ARMS), st.integers(0, 50))
def test_a_draw_depends_on_nothing_but_its_cell(seed: int, task: str, arm: str, replication: int) -> None:
    plan = parse_plan(f"seed={seed},fail=0.5")
    first = draw(plan, task, "tidy", parse_arm(arm), replication)
    draw(plan, task, "tidy", parse_arm("control"), replication + 1)
    assert draw(plan, task, "tidy", parse_arm(arm), replication) == first
    again = [draw(plan, task, "tidy", parse_arm(arm), replication, attempt=number) for number in range(1, 41)]
    assert {each.failure for each in again} == {"", "infrastructure"}
    assert len({(each.success, each.invoked, each.usage) for each in again}) == 1


def test_seeds_are_independent() -> None:
    cells = [(f"t{task}", arm, rep) for task in range(60) for arm in ("control", "target") for rep in range(3)]

    def successes(seed: int) -> list[bool]:
        plan = parse_plan(f"seed={seed},base=0.5,target=0,spread=0")
        return [draw(plan, task, "tidy", parse_arm(arm), rep).success for task, arm, rep in cells]

    same = rate(a == b for a, b in zip(successes(1), successes(2), strict=True))
    assert same == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))])
def test_the_program_does_what_is_drawn(seed: int) -> None:
    arm = ARMS[seed % len(ARMS)]
    spec = f"scripted:seed={seed},base=0.5,target=0,invoke=0.5,stray=0.5,spread=0.5,cost=0.5"
    task = made_task()
    drawn = draw(parse_plan(spec), task.id, "tidy", parse_arm(arm), seed)
    skills = () if arm == "control" else tuple(SKILLS.values())
    with bench(task, arm, skills=skills, spec=spec, replication=seed) as made:
        output = made.run(scripted)
        reading = scripted.read(output, made.job)
        assert (Path(made.places.workspace) / "out.txt").is_file() == drawn.success
        left = set(os.listdir(made.places.workspace)) - {".agents"}
        assert left == ({"out.txt"} if drawn.success else {_program.DRAFT} if drawn.partial else set())
    assert output.exit_code == 0, output.stderr
    assert bool(reading.invocations) == (drawn.invoked and bool(skills))
    assert set(reading.invocations) <= {"tidy"}
    assert reading.listed == tuple(skill.name for skill in skills)
    found = (reading.usage, reading.cost_usd, reading.turns, reading.tool_calls, reading.failure)
    assert found == (drawn.usage, drawn.cost_usd, drawn.turns, drawn.tool_calls, "")
    assert (reading.final_message == "It is done.") == drawn.success
    assert reading.stop_reason == "finished"


@pytest.mark.slow
def test_it_passes_and_fails_a_task_of_ours() -> None:
    (task,) = fixture_tasks("005-parcel-events")
    found = fixture_copies()
    for base, outcome in ((1, "pass"), (0, "fail")):
        with bench(task, "full", found, spec=f"scripted:base={base},target=0,invoke=1") as made:
            reading, verified = made.trial(scripted)
        assert verified.verdict.outcome == outcome
        assert reading.invocations == (task.target_name,)
        assert reading.evidence == (f"read .agents/skills/{task.target_name}/SKILL.md",)
        assert reading.listed == tuple(found)


def test_the_oracle_of_a_container_works_in_the_workspace() -> None:
    places = (("/app", "workspace"), ("/oracle", "oracle"))
    solve = script(
        ["bash", "run/solve.sh"],
        [File("run/solve.sh", b"cp /oracle/run/data.txt /app/out.txt; printenv GIVEN OWN >> /app/out.txt\n"),
         File("run/data.txt", b"here\n")],
        5.0, env=[("GIVEN", "1")],
    )  # fmt: skip
    task = made_task(oracle=None, target_skills=None, places=places, env=(("OWN", "2"),))
    task = replace(task, oracle=solve)
    with bench(task, "control", skills=(), spec="scripted:base=1") as made:
        output = made.run(scripted)
        assert (Path(made.places.workspace) / "out.txt").read_text() == "here\n1\n2\n", output


@pytest.mark.parametrize("key", ["fail", "quota", "auth", "refusal"])
def test_it_ends_early_as_it_is_told(key: str) -> None:
    failure = "infrastructure" if key == "fail" else key
    with bench(made_task(), "target", SKILLS, spec=f"scripted:base=1,{key}=1") as made:
        output = made.run(scripted)
        reading = scripted.read(output, made.job)
        assert not (Path(made.places.workspace) / "out.txt").exists()
    assert reading.failure == reading.stop_reason == failure
    assert reading.error == f"it is scripted to end so ({failure})"
    assert output.exit_code == (failure == "infrastructure")


@pytest.mark.slow
def test_it_hangs_as_it_is_told() -> None:
    with bench(made_task(), "target", SKILLS, spec="scripted:base=1,hang=1,invoke=1") as made:
        output = made.run(scripted, timeout=0.25)
        reading = scripted.read(output, made.job)
    assert (output.stopped, reading.failure, reading.invocations) == ("timeout", "", ("tidy",))
    assert (reading.usage.input_tokens, reading.cost_usd, reading.final_message) == (None, None, "")


@pytest.mark.slow
@pytest.mark.parametrize(("oracle", "said"), [
    (None, "the task has no oracle, so it cannot be done by script"),
    ("exit 3\n", "the oracle ended with 3"),
    ("sleep 60\n", "the oracle took too long"),
])  # fmt: skip
def test_an_oracle_that_does_not_work_is_no_failure_of_the_agent(oracle: str | None, said: str) -> None:
    task = made_task(oracle)
    if oracle and task.oracle:
        task = replace(task, oracle=script(task.oracle.argv, task.oracle.files, 0.2))
    with bench(task, "target", SKILLS, spec="scripted:base=1") as made:
        output = made.run(scripted)
        reading = scripted.read(output, made.job)
    assert (reading.failure, reading.error, output.exit_code) == ("infrastructure", said, 1)


def test_it_lists_what_lies_on_disk_whatever_was_planned() -> None:
    with bench(made_task(), "target", skills=(SKILLS["zeal"], SKILLS["tidy"]), spec="scripted:base=1,invoke=1") as made:
        assert scripted.listed(made.run(scripted, probing=True)) == ("zeal", "tidy")
        leaked = Path(made.places.home, ".agents/skills/leaked/SKILL.md")
        leaked.parent.mkdir(parents=True)
        leaked.write_text("---\nname: leaked\n---\n")
        Path(made.places.workspace, ".agents/skills/tidy/SKILL.md").unlink()
        for part in (".scripted/agent.py", ".scripted/plan.json"):
            Path(made.places.home, part).unlink()
        output = made.run(scripted)
        reading = scripted.read(output, made.job)
    assert reading.listed == scripted.listed(output) == ("zeal", "leaked")
    assert reading.invocations == ()
    assert reading.steps[1].tools[0].failed is True


def test_the_program_needs_the_base_library_only() -> None:
    tree = ast.parse(Path(_program.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert names == {"json", "os", "sys", "time"}


EVENTS = st.dictionaries(
    st.sampled_from(["event", "skills", "calls", "usage", "index", "text", "final", "turns", "failure", "model", "system"]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=5)
        | st.sampled_from(["start", "step", "result", "end", "quota"]),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "arguments", "input_tokens", "path"]), inner, max_size=3),
        max_leaves=6,
    ),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(EVENTS.map(lambda it: json.dumps(it).encode()) | st.binary(max_size=30), max_size=8), st.booleans())
def test_no_stream_breaks_the_reader(lines: list[bytes], stopped: bool) -> None:
    code, why = (None, "output") if stopped else (3, "")
    reading = read(ProgramOutput(code, b"\n".join(lines), b"\xff\nlast words", why), JOB)
    assert reading.failure in ("", "infrastructure", "quota", "auth", "refusal")
    assert all(isinstance(step.message, str) for step in reading.steps)
    ended = any(_event(line) == "end" for line in lines)
    if not ended:
        assert reading.failure == ("" if stopped else "infrastructure")
        assert stopped or reading.error == "the agent broke off with exit code 3: last words"


def _event(line: bytes) -> Any:
    try:
        data = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return data.get("event") if isinstance(data, dict) else None


def test_usage_of_steps_is_summed_and_missing_is_not_zero() -> None:
    steps = [
        {"event": "step", "usage": {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 4}},
        {"event": "step", "usage": {"input_tokens": 20, "output_tokens": 3}},
    ]
    whole = b"".join(json.dumps(step).encode() + b"\n" for step in steps)
    usage = read(ProgramOutput(None, whole, stopped="timeout"), JOB).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens) == (30, 5, 4, None)
    usage = read(ProgramOutput(None, whole + b'{"event": "step"}\n', stopped="timeout"), JOB).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (None, None, 4)
    assert read(ProgramOutput(None, b"", stopped="timeout"), JOB).usage.input_tokens is None


def test_the_interpreter_starts_without_site_packages() -> None:
    with bench(made_task(), "control", skills=()) as made:
        argv = scripted.probe(made.job).argv
    assert argv[1:3] == ("-I", "-S")
    assert os.path.samefile(argv[0], os.path.realpath(sys.executable))
