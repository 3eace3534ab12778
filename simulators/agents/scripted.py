"""An agent of known effect: it looks up the outcome it should have, and then really does the work, or does not.

`scripted:base=0.35,target=0.3,seed=7` asks no model. It is a program like any other agent: it reads the skills on disk,
does the work in the workspace (with the task's own oracle) or leaves it undone, and prints a stream. Shares are 0 to 1,
effects are differences of shares; both default to 0:

    base=0.35               share of successes in the control, over all possible tasks
    target=0.3              effect of the target skill; skill.NAME=0.4 is that of one skill on its own tasks
    pair.A+B=0.2            added for a task of either where an arm of named skills (subset:...) has both
    order.A+B=0.1           added there where A is listed before B
    full, plus_one, plus_unrelated, aa, target_without   as the target's unless given
    order, leave_one_out    as full's unless given
    negative, placebo       effect of an irrelevant skill, and of neutral text
    self_generated          effect of what the agent writes for itself; create=1 is the share of trials in which it does
    loading=0.4             effect of a skill meant for the task in the trials that open it, and in no others; target is
                            then 0 unless given
    forced, forced_placebo  on top, in arms that order to open the skills; obey=1 is the share of their trials that does
    hint                    on top, in arms with the hint
    control_full, control_negative   of negative controls, whose results are then biased
    spread=1                standard deviation of the tasks' difficulty, in logits; 0: all are equal
    difficulty=1            seed of how hard each task is, by default the same for all agents
    invoke=0.9, stray       share of trials that open a skill meant for the task, and any other one
    partial=0.5             share of unsuccessful trials that leave something useless behind
    fail, quota, auth, refusal, hang   the trial ends this way; `fail` crashes, `hang` never ends
    tokens=12000, cost=0.01, duration=60   medians of input tokens, of dollars, and of seconds in a simulation
    sleep                   seconds that the agent really sleeps
    seed                    default: the run's; two scripts with one seed draw alike, so give each its own

`_plan` explains the probabilities; it makes the same draws without any process.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any

from simulators.agents import _program
from skill_health.bench.http.messages import Usage
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b
from skill_health.documents._targets import target_name
from skill_health.effectiveness.agents._api import Command, Job, Simulation
from skill_health.effectiveness.agents._loop_stream import SKILLS, listed, read
from skill_health.effectiveness.check.verifier_runs import FINAL
from skill_health.effectiveness.creation.written import FOLDER
from skill_health.effectiveness.records import (
    AGAIN,
    CONTROL,
    DELIVERIES,
    FILES,
    FORCED,
    FORCED_PLACEBO,
    FULL,
    JOIN,
    LEAVE_OUT,
    NEGATIVE,
    ORDER,
    PLACEBO,
    PLUS_ONE,
    PLUS_UNRELATED,
    PROMPT,
    SELF_GENERATED,
    TARGET,
    WITHOUT,
    Arm,
)
from skill_health.effectiveness.sandbox._host import interpreter
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import ORACLE, WORKSPACE, replace_places, text_of
from skill_health.effectiveness.workspace.staging import parse_arm
from skill_health.text.near import nearest

NAME = "scripted"
FAILURES = {
    "fail": "infrastructure", "quota": "quota", "auth": "auth", "refusal": "refusal", "hang": "timeout",
}  # fmt: skip
"""Keys of the early endings -> the outcome of the trial."""
EFFECTS = {
    "target": TARGET, "negative": NEGATIVE, "full": FULL, "plus_one": PLUS_ONE, "plus_unrelated": PLUS_UNRELATED,
    "placebo": PLACEBO, "self_generated": SELF_GENERATED, "target_without": WITHOUT, "aa": AGAIN,
    "order": ORDER, "leave_one_out": LEAVE_OUT, "hint": "hint", "forced": FORCED, "forced_placebo": FORCED_PLACEBO,
    **{way: way for way in DELIVERIES if way != FILES},
}  # fmt: skip
"""Keys of effects -> the condition that has it; `hint` is added in every arm with the hint, a delivery in its arms."""
_LOADING = "loading"
_USELESS = (NEGATIVE, PLACEBO, FORCED_PLACEBO, SELF_GENERATED)
"""The conditions without a skill that is meant for the task."""
_CONTROLS = {"control_full": FULL, "control_negative": NEGATIVE}
_SHARES = ("base", "invoke", "stray", "obey", "partial", "create", *FAILURES)
_AMOUNTS = {"spread": 10.0, "sleep": 3600.0, "cost": 1000.0, "tokens": 1e8, "duration": 1e6}
_WHOLE = ("seed", "difficulty")
_SKILL = "skill."
_PAIRS = ("pair.", "order.")
_KEYS = (*_SHARES, *EFFECTS, _LOADING, *_CONTROLS, *_AMOUNTS, *_WHOLE)


@dataclass(frozen=True, slots=True)
class ScriptPlan:
    """The script of an agent.

    `base` is the share of successes without any skill, `spread` the standard deviation of the tasks' difficulty in
    logits. `effects` and `control_effects` (of negative controls) have the given conditions, `skills` the effect of a
    target by its name, `pairs` and `orders` that of two staged skills by their names, `loading` that of opening a skill
    that is meant for the task (None: whether it is opened changes nothing). `failures` maps outcomes to their shares.
    `sleep` and `duration` are seconds, `cost` is in dollars.
    """

    seed: int = 1
    difficulty: int = 1
    base: float = 0.35
    spread: float = 1.0
    invoke: float = 0.9
    stray: float = 0.0
    obey: float = 1.0
    loading: float | None = None
    partial: float = 0.5
    create: float = 1.0
    tokens: float = 12_000.0
    cost: float = 0.01
    duration: float = 60.0
    sleep: float = 0.0
    effects: Mapping[str, float] = field(default_factory=dict)
    control_effects: Mapping[str, float] = field(default_factory=dict)
    skills: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[frozenset[str], float] = field(default_factory=dict)
    orders: Mapping[tuple[str, str], float] = field(default_factory=dict)
    failures: Mapping[str, float] = field(default_factory=dict)


def parse_plan(spec: str, seed: int = 1) -> ScriptPlan:
    """Read `scripted`, `scripted:key=value,...` or the keys alone; `seed` is the default seed.

    Raises UsageError for an unknown or repeated key, a value out of its range, and failures of more than 1 in all.
    """
    text = "" if spec == NAME else spec.removeprefix(f"{NAME}:")
    given: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (each.strip() for each in part.partition("="))
        named = key.removeprefix(_SKILL) if key.startswith(_SKILL) else ""
        if not equals or not (key in _KEYS or named or _two(key)):
            near = nearest(key, _KEYS)
            raise UsageError(f"{NAME}: there is no {part[:60]!r}; {f'did you mean {near}=?' if near else _all()}")
        if key in given:
            raise UsageError(f"{NAME}: {key[:60]} is given twice")
        given[key] = _value(key, value)
    failures = {FAILURES[key]: value for key, value in given.items() if key in FAILURES and value}
    if sum(failures.values()) > 1 + 1e-9:
        raise UsageError(f"{NAME}: {', '.join(key for key in FAILURES if given.get(key))} come to more than 1 in all")
    plain: dict[str, Any] = {
        key: given[key] for key in (*_SHARES, *_AMOUNTS, _LOADING) if key in given and key not in FAILURES
    }
    return ScriptPlan(
        **plain,
        seed=int(given.get("seed", seed)),
        difficulty=int(given.get("difficulty", ScriptPlan().difficulty)),
        effects={EFFECTS[key]: value for key, value in given.items() if key in EFFECTS},
        control_effects={_CONTROLS[key]: value for key, value in given.items() if key in _CONTROLS},
        skills={key.removeprefix(_SKILL): value for key, value in given.items() if key.startswith(_SKILL)},
        pairs={frozenset(_two(key)): value for key, value in given.items() if key.startswith(_PAIRS[0])},
        orders={
            (names[0], names[1]): value
            for key, value in given.items()
            if key.startswith(_PAIRS[1]) and (names := _two(key))
        },
        failures=failures,
    )


def _two(key: str) -> tuple[str, ...]:
    """The two different skills that a key of a pair or an order names; () for any other key."""
    start = next((start for start in _PAIRS if key.startswith(start)), None)
    names = tuple(key.removeprefix(start).split(JOIN)) if start else ()
    return names if len(names) == 2 and all(names) and names[0] != names[1] else ()


def _value(key: str, text: str) -> float:
    if key in _WHOLE:
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        raise UsageError(f"{NAME}: {key}={text[:60]!r}: take a whole number of at most 18 digits")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    low, high = (0.0, 1.0) if key in _SHARES else (0.0, _AMOUNTS[key]) if key in _AMOUNTS else (-1.0, 1.0)
    if not low <= value <= high:
        raise UsageError(f"{NAME}: {key[:60]}={text[:60]!r}: take a number from {low:g} to {high:,g}")
    return value


def _all() -> str:
    return f"the keys are {', '.join(_KEYS)}, {_SKILL}NAME, {' and '.join(f'{start}A{JOIN}B' for start in _PAIRS)}"


_NORMAL = NormalDist()
_POINTS = 400
_TARGET_EFFECT = 0.3


@dataclass(frozen=True, slots=True)
class Drawn:
    """What happens in one trial. `failure` is the outcome if it ends before there is anything to judge, or "".

    `invoked` says whether a staged skill is opened, `partial` whether an unsuccessful trial leaves something behind.
    `duration_ms` is for simulations; real trials are timed.
    """

    success: bool
    invoked: bool
    partial: bool
    usage: Usage
    cost_usd: float
    turns: int
    tool_calls: int
    duration_ms: float
    failure: str = ""


def effect(plan: ScriptPlan, targets: tuple[str, ...] | None, arm: Arm, is_control: bool) -> float:
    """The change in the share of successes against the control, before clipping."""
    if arm.condition == CONTROL:
        return 0.0
    more = [*(["hint"] if arm.hint else []), arm.delivery]
    return _effect(plan, targets, arm, is_control) + sum(plan.effects.get(key, 0.0) for key in more)


def _effect(plan: ScriptPlan, targets: tuple[str, ...] | None, arm: Arm, is_control: bool) -> float:
    condition = arm.condition
    if is_control:
        return plan.control_effects.get(NEGATIVE if condition == NEGATIVE else FULL, 0.0)
    if condition == LEAVE_OUT and arm.argument in (targets or ()):
        return 0.0
    usual = _TARGET_EFFECT if plan.loading is None else 0.0
    target = plan.skills.get(target_name(targets) or "", plan.effects.get(TARGET, usual))
    if arm.subset:
        return _subset_effect(plan, targets or (), arm.subset)
    if condition == TARGET:
        return target
    if condition == FORCED:
        return target + plan.effects.get(FORCED, 0.0)
    if condition in _USELESS:
        return plan.effects.get(condition, 0.0)
    if condition in (ORDER, LEAVE_OUT):
        return plan.effects.get(condition, plan.effects.get(FULL, target))
    return plan.effects.get(condition, target)


def _subset_effect(plan: ScriptPlan, targets: tuple[str, ...], names: Sequence[str]) -> float:
    """What the named skills add up to: each that the task is meant for, and two of which one is, as the plan says."""
    usual = plan.effects.get(TARGET, _TARGET_EFFECT)
    found = [plan.skills.get(name, usual) for name in names if name in targets]
    found += [value for both, value in plan.pairs.items() if both <= {*names} and both & {*targets}]
    for (one, other), value in plan.orders.items():
        if {one, other} <= {*names} and names.index(one) < names.index(other) and {one, other} & {*targets}:
            found.append(value)
    return math.fsum(found)


def chance(
    plan: ScriptPlan,
    task_id: str,
    targets: tuple[str, ...] | None,
    arm: Arm,
    is_control: bool = False,
    opened: bool = False,
) -> float:
    """The probability of success of one task in one arm, if the trial completes and a skill is `opened` or not."""
    loaded = opened and not (is_control or arm.condition in _USELESS or _is_gone(targets, arm))
    more = plan.loading or 0.0 if loaded else 0.0
    share = min(1.0, max(0.0, plan.base + effect(plan, targets, arm, is_control) + more))
    if share in (0.0, 1.0):
        return share
    hard = _NORMAL.inv_cdf(next(draw_units(plan.difficulty, task_id, "difficulty")))
    return _expit(_location(share, plan.spread) + plan.spread * hard)


def draw(
    plan: ScriptPlan,
    task_id: str,
    targets: tuple[str, ...] | None,
    arm: Arm,
    replication: int,
    is_control: bool = False,
    attempt: int = 1,
) -> Drawn:
    """What happens in one trial. Only whether it fails early depends on the attempt."""
    unit = draw_units(plan.seed, task_id, arm.name, replication)
    lucky = next(unit)
    invoked = next(unit) < _opens(plan, targets, arm, is_control)
    success = lucky < chance(plan, task_id, targets, arm, is_control, invoked)
    partial = next(unit) < plan.partial
    turns = 2 + invoked + int(8 * next(unit))
    # Medians are as requested; an agent that reads a skill reads more.
    amount = math.exp(0.35 * _NORMAL.inv_cdf(next(unit))) * (1.15 if invoked else 1.0)
    tokens = round(plan.tokens * amount)
    written = round(plan.tokens * amount * (0.02 + 0.1 * next(unit)))
    cached = round(tokens * 0.9 * next(unit))
    duration = round(1000 * plan.duration * amount**0.5 * math.exp(0.25 * _NORMAL.inv_cdf(next(unit))), 3)
    return Drawn(
        success=success,
        invoked=invoked,
        partial=partial and not success,
        usage=Usage(tokens, written, cached),
        cost_usd=round(plan.cost * amount, 6),
        turns=turns,
        tool_calls=turns - 1,
        duration_ms=duration,
        failure=draw_failure(
            plan.failures, next(draw_units(plan.seed, task_id, arm.name, replication, "attempt", attempt))
        ),
    )


def _opens(plan: ScriptPlan, targets: tuple[str, ...] | None, arm: Arm, is_control: bool) -> float:
    """The share of trials in which a skill is opened: one meant for the task, or any other."""
    if arm.condition == CONTROL:
        return 0.0
    if arm.forced:
        return plan.obey
    return plan.stray if is_control or _is_gone(targets, arm) or arm.condition == NEGATIVE else plan.invoke


def _is_gone(targets: tuple[str, ...] | None, arm: Arm) -> bool:
    return arm.condition == LEAVE_OUT and arm.argument in (targets or ())


def draw_failure(failures: Mapping[str, float], drawn: float) -> str:
    """How a start fails, "" where it does not, by shares of outcomes and a number from 0 to 1."""
    for outcome, share in failures.items():
        if (drawn := drawn - share) < 0:
            return outcome
    return ""


@lru_cache(maxsize=4096)
def _location(share: float, spread: float) -> float:
    """The constant for which the mean of expit(constant + spread * normal) is the share, by bisection on quantiles."""
    if spread == 0:
        return math.log(share / (1 - share))
    draws = [spread * _NORMAL.inv_cdf((nth + 0.5) / _POINTS) for nth in range(_POINTS)]
    low, high = -60.0, 60.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        mean = math.fsum(_expit(middle + drawn) for drawn in draws) / _POINTS
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


def _expit(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def draw_units(*parts: object) -> Iterator[float]:
    """Numbers between 0 and 1, both excluded, that depend only on the parts (52 bits of a hash each)."""
    text = json.dumps(parts, ensure_ascii=True).encode("ascii")
    for block in range(1 << 16):
        whole = blake2b(text, digest_size=64, salt=block.to_bytes(2, "big")).digest()
        for start in range(0, 64, 8):
            yield ((int.from_bytes(whole[start : start + 8], "big") >> 12) + 0.5) / 2**52


__all__ = ["SKILLS", "command", "listed", "probe", "read"]

TITLE = "Simulated agent of known effects, which really works or does not, for tests and demonstrations"
PROGRAM = ""
PROTOCOLS: tuple[str, ...] = ()
ORDERED = True
VERIFIED = ""
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = True
MCP = "{tool}"

_FOLDER = ".scripted"
_AGENT, _PLAN = f"{_FOLDER}/agent.py", f"{_FOLDER}/plan.json"
_NOTHING = "I looked into it and could not finish it."


def check(spec: str) -> None:
    """Raise UsageError for a mistake in the script."""
    parse_plan(spec)


def command(job: Job) -> Command:
    """The program with its plan and, if it is to succeed, the oracle of the task. Raises UsageError."""
    task, plan = _task(job), parse_plan(job.spec, job.seed)
    attempt = int(job.settings.get("attempt", 1))
    arm = parse_arm(job.arm)
    drawn = draw(plan, task.id, task.target_skills, arm, job.replication, task.is_control, attempt)
    if job.creating:
        planned = _creating(job, task, plan, drawn)
        return start_program(job, planned, partial(_program.act, planned, only_list=False))
    planned = _planned(job, task, plan, drawn)
    if not drawn.success or drawn.failure:
        return start_program(job, planned, partial(_program.act, planned, only_list=False))
    # An oracle is the task's code, not ours.
    return start_program(job, planned, None, oracle=_oracle(task.oracle, task, job))


def probe(job: Job) -> Command:
    """The program, which only lists the skills it finds."""
    planned = _planned(job, None, ScriptPlan(), None)
    return start_program(job, planned, partial(_program.act, planned, only_list=True), "list")


def start_program(
    job: Job, plan: object, simulation: Simulation | None, *more: str, oracle: tuple[File, ...] = ()
) -> Command:
    """The program of a simulated agent with its plan; `simulation` does the same as a function."""
    with open(_program.__file__, "rb") as stream:
        program = stream.read()
    files = (File(_AGENT, program), File(_PLAN, json.dumps(plan, indent=1).encode("ascii")), *oracle)
    return Command(
        (job.program or interpreter(), "-I", "-S", f"{job.home}/{_AGENT}", f"{job.home}/{_PLAN}", *more),
        files=files, simulation=simulation,
    )  # fmt: skip


def _planned(job: Job, task: Task | None, plan: ScriptPlan, drawn: Drawn | None) -> dict[str, object]:
    names = [] if parse_arm(job.arm or CONTROL).delivery == PROMPT else [skill.name for skill in job.skills]
    common: dict[str, object] = {"skills": SKILLS, "home": job.home, "order": names, "served": bool(job.served)}
    if task is None or drawn is None:
        return common
    oracle = task.oracle if drawn.success else None
    opened = (
        next((name for name in task.target_skills or () if name in names), next(iter(names), ""))
        if drawn.invoked
        else ""
    )
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


def _creating(job: Job, task: Task, plan: ScriptPlan, drawn: Drawn) -> dict[str, object]:
    """The plan of a creator, which writes one skill or none."""
    writes = next(draw_units(plan.seed, task.id, job.arm, job.replication, "create")) < plan.create
    name = f"written-{task.id}".lower().replace(".", "-").replace("_", "-")
    head = f"---\nname: {name}\ndescription: Written for {task.id}. Use when {task.id} is asked for.\n---\n"
    files = {f"{FOLDER}/{name}/SKILL.md": f"{head}# Steps\n\nLook, do, check ({job.replication}).\n"}
    return _planned(job, task, plan, replace(drawn, success=False, partial=False, invoked=False)) | {
        "work": "write" if writes else "nothing",
        "files": files if writes else {},
    }


def _oracle(oracle: Script | None, task: Task, job: Job) -> tuple[File, ...]:
    """The files of the oracle, with container paths replaced as in a check."""
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
