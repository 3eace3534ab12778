"""Small collections of tasks and skills, plans over them, and trials that are made up, for tests of whole runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from effects_made import replace

from simulators.agents.scripted import draw, parse_plan
from skill_health.bench.budget import Budget
from skill_health.bench.journal import Journal
from skill_health.bench.prices import FREE, Rates, TieredPrice, price_table
from skill_health.bench.run_folder import find_place
from skill_health.config.settings import Provider, RouterSettings
from skill_health.discovery.changes import Revision
from skill_health.documents._record import TokenUsage, record_values
from skill_health.documents._targets import read_targets
from skill_health.documents.effect_manifest import FrozenSandbox
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import Agent, Command
from skill_health.effectiveness.agents._load import AgentChoice
from skill_health.effectiveness.check import check
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.plan import preflight
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.plan import OF_TRIALS, AgentModel, TrialPlan, stage
from skill_health.effectiveness.plan.prepare import to_manifest
from skill_health.effectiveness.records import CONDITIONS, SkillCopy
from skill_health.effectiveness.run import conduct
from skill_health.effectiveness.run.conduct import Trial, TrialRunner
from skill_health.effectiveness.run.probes import Ask, Probe, problems
from skill_health.effectiveness.tasks._api import Task, script, task_digest
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.staging import parse_arms

PRICE = TieredPrice((Rates(10.0, 10.0, 10.0, 10.0),))
TIME = datetime(2026, 3, 1, tzinfo=UTC)
SKILLS = ("maps-work", "notes-work", "sums-work", "tides-work")


def skill(name: str, text: str = "Sort.") -> SkillCopy:
    head = f"---\nname: {name}\ndescription: Does {name}. Use when it is needed.\n---\n# {name}\n\n"
    return make_copy(name, f"Does {name}. Use when it is needed.", [File("SKILL.md", (head + text).encode())])


def task(number: int, target: str | None, **more: Any) -> Task:
    """A task in memory; nothing of it lies on disk."""
    name = f"t{number:02}"
    others = [each for each in SKILLS if each != target]
    files = (File("list.txt", f"{number}\n".encode()),)
    named = {} if target in (None, "none") else {"related_skill": others[0], "unrelated_skill": others[1]}
    return Task(
        id=name, slug=f"slug-{name}", path=f"tasks/{name}", format="plan_directory", prompt=f"Do {number}.",
        target_skills=read_targets(target), irrelevant_skill=None if target is None else others[-1], category="data", difficulty="easy",
        agent_timeout_sec=60.0, files=files, verifier=script(["verify.sh"], [File("verify.sh", b"exit 0")], 30.0),
        oracle=script(["solve.sh"], [File("solve.sh", b"exit 0")], 30.0),
        digest=task_digest(f"Do {number}.", files, (), 60.0), **{**named, **more},
    )  # fmt: skip


TASKS = (*(task(n, SKILLS[n % 3]) for n in range(4)), task(4, "none"))


def an_agent(**more: Any) -> Agent:
    """An agent whose program nobody starts."""
    given: dict[str, Any] = {
        "TITLE": "An agent", "PROGRAM": "", "SKILLS": ".made/skills", "PROTOCOLS": ("openai",), "ORDERED": True,
        "VERIFIED": "", "EXTRA": "", "IMPORTS": (), "SIMULATED": False, "command": lambda job: Command(("made", "--flag")),
    }  # fmt: skip
    return cast(Agent, SimpleNamespace(**given | more))


def a_model(
    spec: str = "made:m", price: TieredPrice | None = FREE, cap: float | None = None, **more: Any
) -> AgentModel:
    """A model of such an agent; `more` are its server's settings."""
    provider = Provider("openai", **{"concurrency": 64, **more})
    choice = AgentChoice(spec, an_agent(), "made", "m", "openai", provider)
    return AgentModel(choice, "here", "", "1.0", None, price, cap)


def a_plan(
    *models: AgentModel,
    tasks: Sequence[Task] = TASKS,
    arms: Sequence[str] = CONDITIONS,
    skills: Sequence[SkillCopy] = tuple(skill(name) for name in SKILLS),
    **more: Any,
) -> TrialPlan:
    """A plan; `more` are choices."""
    chosen = TrialChoices((), parse_arms(arms), **{"reps": 2, **more})
    found = {each.name: each for each in skills}
    staged, left_out = stage(tasks, chosen.arms, {each.id: found for each in tasks})
    return TrialPlan(
        tasks=tuple(sorted(tasks, key=lambda each: each.id)), models=models or (a_model(),),
        skills=tuple(found[name] for name in sorted(found)), staged=staged, left_out=left_out, choices=chosen,
        sandbox=FrozenSandbox(name="none", version="host", isolates=(), image=""),
    )  # fmt: skip


def manifest_of(plan: TrialPlan) -> dict[str, Any]:
    return record_values(to_manifest(plan, RouterSettings(), price_table(RouterSettings()), (), Revision(), TIME))


@dataclass
class Made:
    """Makes trials up: `script` is that of the scripted agent, `also` may replace what comes of it by attempt."""

    script: str = "target=0.4"
    also: Callable[[TrialSpec, TrialResult], TrialResult] = lambda cell, result: result
    seconds: float = 0.0
    usd: float | None = 0.02
    made: list[tuple[Any, ...]] = field(default_factory=list)
    cells: list[TrialSpec] = field(default_factory=list)
    under_way: int = 0
    peak: int = 0

    async def __call__(self, cell: TrialSpec, place: str) -> TrialResult:
        self.made.append((*cell.key, cell.attempt))
        self.cells.append(cell)
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        Path(place).mkdir(parents=True)
        (Path(place) / "trial.json").write_text(json.dumps([*cell.key, cell.attempt]))
        return self.also(cell, self.result(cell))

    def result(self, cell: TrialSpec) -> TrialResult:
        plan = parse_plan(f"scripted:{self.script}")
        target = cell.task.target_skills
        drawn = draw(plan, cell.task.id, target, cell.arm, cell.replication, cell.task.is_control, cell.attempt)
        return TrialResult(
            *cell.key, "pass" if drawn.success else "fail", reward=float(drawn.success), usage=TokenUsage(1000, 100, 10),
            usage_source="agent", cost_usd=self.usd, cost_source="agent", duration_ms=10.0, turns=3, tool_calls=2,
            invoked="yes" if drawn.invoked else "no", skills=tuple((each.name, each.digest) for each in cell.skills),
        )  # fmt: skip


def make_up(monkeypatch: pytest.MonkeyPatch, trial: Trial, ask: Ask | None = None) -> None:
    """Have `effectiveness run` make its trials up; agents are asked nothing, or answer as `ask` says."""
    parts = conduct.RunParts(trial, ask or honest, problems, build_report)
    monkeypatch.setattr(conduct, "parts", lambda *_: parts)


def only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the check before a run read the tasks alone: to try them takes a process for each of six tries."""
    monkeypatch.setattr(
        preflight, "check_tasks", lambda tasks, skills, root, _=None: check.check_tasks(tasks, skills, root)
    )


async def honest(cell: TrialSpec) -> Probe:
    """A probe that shows just what is staged."""
    names = tuple(each.name for each in cell.skills)
    return Probe(names, listed=(*names, "built-in"), version="1.0")


def open_journal(reports: Path, plan: TrialPlan) -> Journal:
    """The journal of the run of this plan, begun or resumed."""
    return find_place(str(reports), manifest_of(plan), TIME, kind=OF_TRIALS).open(())


def go(
    reports: Path, plan: TrialPlan, trial: Made, runs: int | None = None, usd: float | None = None, concurrency: int = 4
) -> TrialRunner:
    """Run what is left of a plan, without probes and reports."""
    with open_journal(reports, plan) as journal:
        past = journal.past
        budget = Budget(runs, usd, attempts=past.attempts, spent=past.usd, what="trial")
        runner = TrialRunner(plan, journal, budget, trial)
        asyncio.run(runner.run(concurrency))
        if not runner.left():
            journal.finish(plan.keys())
    return runner


def the_run(reports: Path) -> Path:
    (folder,) = (reports / "effectiveness").iterdir()
    return folder


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def events(reports: Path, kind: str = "") -> list[dict[str, Any]]:
    return [row for row in rows(the_run(reports) / "attempts.jsonl") if row["event"] == kind or not kind]


def write_collection(root: Path, tasks: int = 4, controls: int = 1, files: Mapping[str, str] | None = None) -> Path:
    """A collection on disk: four skills, and tasks that an oracle solves by writing one line."""
    for name in SKILLS:
        folder = root / "skills" / name
        folder.mkdir(parents=True)
        body = "\n".join(f"Keep {name} in the order of line {n}." for n in range(3))
        head = f"---\nname: {name}\ndescription: Does {name}. Use when {name} is needed.\n---\n"
        (folder / "SKILL.md").write_text(f"{head}# Work\n\n{body}\n", "utf-8")
    for number in range(tasks + controls):
        write_task(root / "tasks" / f"t{number:02}", number, SKILLS[number % 3] if number < tasks else "none")
    (root / "skill-health.toml").write_text("", "utf-8")
    for path, text in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


def write_task(folder: Path, number: int, target: str) -> None:
    """A task whose starting state fails and whose oracle passes."""
    others = [name for name in SKILLS if name != target]
    facts: dict[str, Any] = {
        "id": f"t{number:02}", "slug": f"count-{number}", "target_skill": target, "irrelevant_skill": others[-1],
        "category": "data-cleaning", "difficulty": "easy", "notes": "Made for a test.", "agent_timeout_sec": 20,
        "verifier_timeout_sec": 10,
    }  # fmt: skip
    if target != "none":
        facts |= {"related_skill": others[0], "unrelated_skill": others[1]}
    for name, text in {
        "task.md": f"Write how many crates there are to answer.txt. This is ship {number}.\n",
        "starting/crates.txt": "crate\n" * (number + 3),
        "verify.sh": f'#!/bin/sh\n[ "$(cat answer.txt 2>/dev/null)" = {number + 3} ]\n',
        "oracle/solve.sh": "#!/bin/sh\ngrep -c crate crates.txt > answer.txt\n",
        "metadata.json": json.dumps(facts),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)


def failing(
    first: int, outcome: Any = "infrastructure", error: str = "the server is gone"
) -> Callable[[TrialSpec, TrialResult], TrialResult]:
    """Trials whose first attempts fail."""

    def also(cell: TrialSpec, result: TrialResult) -> TrialResult:
        return replace(result, outcome=outcome, reward=None, error=error) if cell.attempt <= first else result

    return also
