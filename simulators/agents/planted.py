"""An agent of known habits: it opens the skill that a prompt asks for, another one, or none, by lot.

`planted:recall=0.8,confuse=0.1,near=0.05,stray=0.02,seed=7` asks no model. It is a program like any other agent: it
reads a skill on disk, or none, and says that it is done. Shares are 0 to 1:

    recall=0.8              where a skill is expected, it is opened first
    confuse=0.1             there another one is opened first
    skill.NAME=0.3          the recall of one skill
    near=0.05               where a skill must not fire, it is opened
    stray=0.02              where no skill applies, some skill is opened
    stay=0                  it leaves a file in the workspace
    fail, quota, auth, refusal   the call ends this way
    sleep=0                 seconds that it really sleeps
    seed                    default: the run's

A prompt that expects a skill draws once for both recall and confuse; a near miss of one skill draws for that skill
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from simulators.agents import _program, scripted
from simulators.agents.scripted import FAILURES, MCP, SKILLS, listed, read
from skill_health.bench.http.messages import Usage
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import Command, Job

__all__ = ["MCP", "SKILLS", "listed", "read"]

NAME = "planted"
TITLE = "Simulated agent of known habits of loading skills, for tests and demonstrations"
PROGRAM = ""
PROTOCOLS: tuple[str, ...] = ()
ORDERED = True
VERIFIED = ""
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = True
_SKILL = "skill."
_ENDINGS = tuple(key for key in FAILURES if key != "hang")
_SHARES = ("recall", "confuse", "near", "stray", "stay", *_ENDINGS)


@dataclass(frozen=True, slots=True)
class LoadingHabits:
    """The script of an agent; `skills` have a recall of their own, `failures` are shares of outcomes."""

    seed: int = 1
    recall: float = 0.8
    confuse: float = 0.1
    near: float = 0.05
    stray: float = 0.02
    stay: float = 0.0
    sleep: float = 0.0
    skills: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, float] = field(default_factory=dict)


def parse_habits(spec: str, seed: int = 1) -> LoadingHabits:
    """Read `planted` or `planted:key=value,...`. Raises UsageError for an unknown key or a value out of its range."""
    text = "" if spec == NAME else spec.removeprefix(f"{NAME}:")
    habits, skills, failures = LoadingHabits(seed=seed), dict[str, float](), dict[str, float]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (each.strip() for each in part.partition("="))
        number = _number(key, value)
        if key == "seed":
            habits = replace(habits, seed=int(number))
        elif key.startswith(_SKILL) and len(key) > len(_SKILL):
            skills[key.removeprefix(_SKILL)] = number
        elif key in _ENDINGS:
            failures[FAILURES[key]] = number
        else:
            plain: dict[str, Any] = {key: number}
            habits = replace(habits, **plain)
    if habits.recall + habits.confuse > 1 + 1e-9 or sum(failures.values()) > 1 + 1e-9:
        raise UsageError(f"{NAME}: shares of one draw come to more than 1")
    return replace(habits, skills=skills, failures=failures)


def _number(key: str, text: str) -> float:
    most = (
        1.0
        if key in _SHARES or key.startswith(_SKILL)
        else 3600.0
        if key == "sleep"
        else 1e9
        if key == "seed"
        else None
    )
    if most is None:
        raise UsageError(
            f"{NAME}: there is no {key[:60]!r}; the keys are {', '.join(_SHARES)}, sleep, seed, {_SKILL}NAME"
        )
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise UsageError(f"{NAME}: {key[:60]}={text[:60]!r}: take a number from 0 to {most:g}")
    return value


@dataclass(frozen=True, slots=True)
class DrawnLoad:
    """What happens with one prompt: the skill that is opened, "" for none, what stays, and how it fails, "" if not."""

    opened: str
    stays: bool
    failure: str = ""


def draw_load(
    habits: LoadingHabits,
    prompt: str,
    expected: str | None,
    near: str | None,
    names: tuple[str, ...],
    turn: tuple[int, int],
) -> DrawnLoad:
    """What an agent of these habits opens; `turn` is replication and attempt. Only failing depends on the latter."""
    names = tuple(sorted(names))
    unit = scripted.draw_units(habits.seed, prompt, turn[0], len(names))
    first, second, other, stays = (next(unit) for _ in range(4))
    opened = ""
    if expected in names:
        recall = habits.skills.get(str(expected), habits.recall)
        if first < recall:
            opened = str(expected)
        elif first < min(1.0, recall + habits.confuse):
            opened = _other(names, str(expected), other)
    elif near in names and second < habits.near:
        opened = str(near)
    elif first < habits.stray:
        opened = _other(names, str(near), other)
    failing = next(scripted.draw_units(habits.seed, prompt, turn[0], "attempt", turn[1]))
    return DrawnLoad(opened, stays < habits.stay, scripted.draw_failure(habits.failures, failing))


def _other(names: tuple[str, ...], but: str, drawn: float) -> str:
    rest = [name for name in names if name != but]
    return rest[int(drawn * len(rest))] if rest else ""


def check(spec: str) -> None:
    """Raise UsageError for a mistake in the script."""
    parse_habits(spec)


def command(job: Job) -> Command:
    """The program with its plan."""
    habits, task = parse_habits(job.spec, job.seed), job.task
    if task is None:
        raise ValueError("a simulated agent must be told of its task")
    expected = task.target_skills[0] if task.target_skills else None
    attempt = int(job.settings.get("attempt", 1))
    names = tuple(skill.name for skill in job.skills)
    drawn = draw_load(habits, task.id, expected, task.related_skill, names, (job.replication, attempt))
    planned = _listing(job) | {
        "open": drawn.opened,
        "lists": 1,
        "work": "draft" if drawn.stays else "nothing",
        "final": "Done.",
        "sleep": habits.sleep,
        "failure": drawn.failure,
        "hang": 0,
        "usage": {name: None for name in Usage.__dataclass_fields__ if name != "raw"} | {"input_tokens": 900, "output_tokens": 40},
        "cost_usd": 0.0,
        "turns": 2,
    }  # fmt: skip
    return scripted.start_program(job, planned, partial(_program.act, planned, only_list=False))


def probe(job: Job) -> Command:
    """The program, which only lists the skills it finds."""
    planned = _listing(job)
    return scripted.start_program(job, planned, partial(_program.act, planned, only_list=True), "list")


def _listing(job: Job) -> dict[str, object]:
    order = [skill.name for skill in job.skills]
    return {"skills": SKILLS, "home": job.home, "order": order, "served": bool(job.served)}
