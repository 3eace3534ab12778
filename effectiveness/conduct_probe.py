"""Before anything is spent: each agent is asked what it sees with each set of skills that the plan stages."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench import durable
from skill_health.bench.manifest import digest
from skill_health.bench.redact import redacted
from skill_health.bench.schedule import GRACE, CallLimits, Schedule
from skill_health.core.files import blake2b, read_small
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.effectiveness.cell import TrialSpec
from skill_health.effectiveness.plan import Planned, TrialPlan
from skill_health.effectiveness.probe import Probe
from skill_health.effectiveness.probe_rules import others
from skill_health.effectiveness.run import Expected
from skill_health.effectiveness.runs import PROBES

REQUESTS = "probes"
"""The folder, below the run's, of first requests."""
_SEEN = ("listed", "offered", "own")
Ask = Callable[[TrialSpec], Awaitable[Probe]]
Judge = Callable[[TrialSpec, Probe, Probe | None], list[str]]


@dataclass(slots=True)
class ProbeRequest:
    """One agent with one set of skills: the first cell of the plan that has it, and the arms that do."""

    mark: str
    agent: str
    cell: TrialSpec
    server: str
    arms: list[str] = field(default_factory=list)

    @property
    def bare(self) -> bool:
        """Whether no skill is staged: what all other sets of the same agent are compared with."""
        return not self.cell.skills


class Probing:
    """The probes of one run. `records` are those that were made, by their marks; `problems` what disagrees."""

    def __init__(self, plan: TrialPlan, folder: str, ask: Ask, judge: Judge) -> None:
        self.wanted = to_ask(plan)
        self.records: dict[str, dict[str, Any]] = {}
        self._plan, self._folder, self._ask, self._judge = plan, folder, ask, judge
        self._bare: dict[str, Probe] = {}
        known = _stored(folder)
        for asked in self.wanted:
            record = known.get(asked.mark)
            if record is not None and not record["problems"]:
                self.records[asked.mark] = record | {"arms": asked.arms}
                if asked.bare:
                    self._bare[asked.agent] = _probe(record)

    @property
    def problems(self) -> list[str]:
        """What agents were offered against the plan, one line each."""
        return [
            f"{asked.agent} with {', '.join(skill.name for skill in asked.cell.skills) or 'no skill'}: {problem}"
            for asked in self.wanted
            for problem in self.records.get(asked.mark, {"problems": ()})["problems"]
        ]

    def expected(self) -> Expected:
        """What agents list beside skills of the collection, by the names of models."""
        found = {
            asked.agent: others(asked.cell, self._bare[asked.agent].listed)
            for asked in self.wanted
            if asked.bare and asked.agent in self._bare
        }
        models = self._plan.models
        return {model.spec: found.get(_agent(model.choice.name, model.choice.protocol)) for model in models}

    async def run(
        self, concurrency: int, schedules: Callable[[Schedule[ProbeRequest]], None], grace: float = GRACE
    ) -> str:
        """Make the probes that are not there; why they were stopped before their end, "" where they were not.

        Those without a skill come first; after a disagreement there, no other is made. `schedules` is told of each
        schedule, to be able to interrupt it.
        """
        for bare in (True, False):
            left = [asked for asked in self.wanted if asked.bare == bare and asked.mark not in self.records]
            if left and not self.problems:
                schedule: Schedule[ProbeRequest] = Schedule(
                    self._make, CallLimits(concurrency, self._plan.at_once(concurrency)), grace
                )
                schedules(schedule)
                await schedule.run((asked.server, asked) for asked in left)
                if schedule.reason:
                    return schedule.reason
        self._write()
        return ""

    async def _make(self, asked: ProbeRequest) -> None:
        probe = await self._ask(asked.cell)
        if asked.bare:
            self._bare[asked.agent] = probe
        against = None if asked.bare else self._bare.get(asked.agent)
        self.records[asked.mark] = _record(asked, probe, self._judge(asked.cell, probe, against))
        if probe.request:
            folder = os.path.join(self._folder, REQUESTS)
            os.makedirs(folder, exist_ok=True)
            durable.replace(os.path.join(folder, f"{asked.mark}.txt"), probe.request)
        self._write()

    def _write(self) -> None:
        order = [self.records[asked.mark] for asked in self.wanted if asked.mark in self.records]
        record = {"version": 1, "kind": "effectiveness-probe", "probes": order}
        text = redacted(json.dumps(record, indent=2, sort_keys=True, ensure_ascii=True), self._plan.secrets) + "\n"
        durable.replace(os.path.join(self._folder, PROBES), text.encode("ascii"))


def to_ask(plan: TrialPlan) -> tuple[ProbeRequest, ...]:
    """Each agent with each set of skills that the plan stages, once; in the order of the plan's keys."""
    found: dict[str, ProbeRequest] = {}
    tasks = {task.id: task for task in plan.tasks}
    for model in plan.models:
        agent = _agent(model.choice.name, model.choice.protocol)
        for (task_id, arm), skills in plan.staged.items():
            cell = plan.cell(Planned(tasks[task_id], model, arm, 0))
            what = [agent, model.program, model.version, plan.sandbox.name, plan.sandbox.version, plan.sandbox.image]
            mark = digest([*what, sorted(cell.collection.items()), [skill.digest for skill in skills]])
            asked = found.setdefault(mark, ProbeRequest(mark, agent, cell, model.server))
            asked.arms = sorted({*asked.arms, arm.name})
    return tuple(found.values())


def _agent(name: str, protocol: str) -> str:
    return f"{name} ({protocol})" if protocol else name


def _record(asked: ProbeRequest, probe: Probe, problems: Sequence[str]) -> dict[str, Any]:
    return {
        "id": asked.mark,
        "agent": asked.agent,
        "version": probe.version,
        "skills": [[skill.name, skill.digest] for skill in asked.cell.skills],
        "arms": asked.arms,
        **{name: None if (seen := getattr(probe, name)) is None else list(seen) for name in _SEEN},
        "request": blake2b(probe.request, digest_size=16).hexdigest() if probe.request else "",
        "problems": [*([probe.error] if probe.error else []), *(each for each in problems if each != probe.error)],
    }


def _probe(record: Mapping[str, Any]) -> Probe:
    listed, offered, own = (None if (names := record[name]) is None else tuple(names) for name in _SEEN)
    return Probe(tuple(name for name, _ in record["skills"]), listed, offered, own, record["version"])


def _stored(folder: str) -> dict[str, dict[str, Any]]:
    """The probes that earlier processes wrote down, by their marks; a damaged file has none."""
    from skill_health.core.validation import problems

    data = read_small(os.path.join(folder, PROBES))
    try:
        record = None if data is None else parse_object(data.decode("utf-8"))
    except (UnicodeDecodeError, JsonProblem):
        return {}
    if record is None or problems("effectiveness-probe", record):
        return {}
    return {probe["id"]: probe for probe in record["probes"]}
