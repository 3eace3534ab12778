"""An agent of known effect: it looks up what it shall come to, and then really does the work, or does not.

`scripted:base=0.35,target=0.3,seed=7` asks no model. It is a program like any other agent: it reads the skills that lie
on disk, works in the workspace (by the task's own oracle) or leaves it undone, and prints a stream. Shares are 0 to 1,
effects are differences of shares, 0 unless said otherwise:

    base=0.35               share of successes in the control, over all tasks there could be
    target=0.3              effect of the target skill; skill.NAME=0.4 that of one skill on the tasks it is for
    full, plus_one, plus_unrelated, aa   as the target's unless given; order, leave_one_out as full's unless given
    negative, placebo       effect of an irrelevant skill, and of neutral text
    hint                    on top, in arms with the hint
    control_full, control_negative   of negative controls, whose results are biased then
    spread=1                standard deviation of the tasks' difficulty, in logits; 0: all are alike
    difficulty=1            seed of how hard each task is, the same for all agents unless said otherwise
    invoke=0.9, stray       share of trials in which a skill is opened that holds for the task, and any other one
    partial=0.5             share of trials without success that leave something behind, which is of no use
    fail, quota, auth, refusal, hang   the trial ends so; `fail` breaks down, `hang` never ends
    tokens=12000, cost=0.01, duration=60   medians of input tokens, of dollars, and of seconds in a simulation
    sleep                   seconds that the agent really sleeps
    seed                    that of the run unless given: two scripts of one seed draw alike, so give each its own

`_plan` tells how chances come about; it makes the same draws without any process.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from simulators.agents._parse import ScriptPlan, parse_plan
from simulators.agents._plan import Drawn, draw
from skill_health.effectiveness.agents._api import Command, Job
from skill_health.effectiveness.agents._loop_stream import SKILLS, listed, read
from skill_health.effectiveness.check.verifier_runs import FINAL
from skill_health.effectiveness.sandbox._host import interpreter
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import ORACLE, WORKSPACE, replace_places, text_of
from skill_health.effectiveness.workspace.staging import parse_arm

__all__ = ["SKILLS", "command", "listed", "probe", "read"]

TITLE = "Simulated agent of known effects, which really works or does not, for tests and demonstrations"
PROGRAM = ""
PROTOCOLS: tuple[str, ...] = ()
ORDERED = True
VERIFIED = ""
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = True

_FOLDER = ".scripted"
_AGENT, _PLAN = f"{_FOLDER}/agent.py", f"{_FOLDER}/plan.json"
_NOTHING = "I looked into it and could not finish it."


def check(spec: str) -> None:
    """Raise UsageError where there is a mistake in the script."""
    parse_plan(spec)


def command(job: Job) -> Command:
    """The program with its plan and, where it shall succeed, the oracle of the task. Raises UsageError."""
    task, plan = _task(job), parse_plan(job.spec, job.seed)
    attempt = int(job.settings.get("attempt", 1))
    arm = parse_arm(job.arm)
    drawn = draw(plan, task.id, task.target_skill, arm, job.replication, task.is_control, attempt)
    return _started(job, _planned(job, task, plan, drawn), _oracle(task.oracle, task, job) if drawn.success else ())


def probe(job: Job) -> Command:
    """The program, which only tells what skills it finds."""
    return _started(job, _planned(job, None, ScriptPlan(), None), (), "list")


def _started(job: Job, plan: object, oracle: tuple[File, ...], *more: str) -> Command:
    with open(os.path.join(os.path.dirname(__file__), "_program.py"), "rb") as stream:
        program = stream.read()
    files = (File(_AGENT, program), File(_PLAN, json.dumps(plan, indent=1).encode("ascii")), *oracle)
    return Command(
        (job.program or interpreter(), "-I", "-S", f"{job.home}/{_AGENT}", f"{job.home}/{_PLAN}", *more), files=files
    )


def _planned(job: Job, task: Task | None, plan: ScriptPlan, drawn: Drawn | None) -> dict[str, object]:
    names = [skill.name for skill in job.skills]
    common: dict[str, object] = {"skills": SKILLS, "home": job.home, "order": names}
    if task is None or drawn is None:
        return common
    oracle = task.oracle if drawn.success else None
    opened = (task.target_skill if task.target_skill in names else next(iter(names), "")) if drawn.invoked else ""
    said = next((file.data for file in oracle.files if file.path in FINAL), b"Done.") if oracle else _NOTHING.encode()
    return common | {
        "open": opened,
        "lists": drawn.tool_calls - drawn.invoked - 1,
        "work": "oracle" if drawn.success else "draft" if drawn.partial else "nothing",
        "argv": _argv(oracle, job) if oracle else [],
        "env": _environment(oracle, task, job) if oracle else {},
        "oracle_sec": oracle.timeout_sec if oracle else 0,
        "final": said.decode("utf-8", "replace"),
        "sleep": plan.sleep,
        "failure": drawn.failure,
        "hang": job.timeout_sec + 60,
        "usage": asdict(drawn.usage),
        "cost_usd": drawn.cost_usd,
        "turns": drawn.turns,
    }


def _oracle(oracle: Script | None, task: Task, job: Job) -> tuple[File, ...]:
    """The files of the oracle, with paths of a container replaced as a check does."""
    targets = {WORKSPACE: job.workspace, ORACLE: f"{job.home}/{_FOLDER}/oracle"}
    places = [(path, targets[role]) for path, role in task.places if role in targets]
    files = []
    for file in oracle.files if oracle else ():
        text = text_of(file) if places else None
        data = file.data if text is None else replace_places(text, places).encode("utf-8")
        files.append(File(f"{_FOLDER}/oracle/{file.path}", data, file.executable))
    return tuple(files)


def _argv(oracle: Script, job: Job) -> list[str]:
    names = {file.path for file in oracle.files}
    return [f"{job.home}/{_FOLDER}/oracle/{word}" if word in names else word for word in oracle.argv]


def _environment(oracle: Script, task: Task, job: Job) -> dict[str, str]:
    above = os.path.dirname(job.workspace)
    return {**dict(task.env), **dict(oracle.env), **({"GIT_CEILING_DIRECTORIES": above} if above else {})}


def _task(job: Job) -> Task:
    if job.task is None:
        raise ValueError("the scripted agent must be told of its task")
    return job.task
