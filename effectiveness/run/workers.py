"""Agents that workers of an executor start: trials, and judges that are agents.

What a worker gets holds no key and no other secret of ours: the gateway to the model stays here (`gateway/far.py`), and
so does the journal. A task and a skill are sent to each machine once, whatever trials there are of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from skill_health.core.errors import UsageError
from skill_health.documents.effect_result import TrialResult
from skill_health.documents.router_attempt import AttemptReply
from skill_health.effectiveness.gateway._api import GatewayLimits
from skill_health.effectiveness.gateway.far import FarLine, LineWish, open_far_end
from skill_health.effectiveness.judge.by_agent import AgentQuestion, JudgeAgent, ask_agent, cell_of
from skill_health.effectiveness.plan.plan import TrialPlan
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.sandbox._run import to_the_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.agent_run import all_secrets, gateway_limits
from skill_health.effectiveness.trial.files import (
    VERDICT,
    TrialRecord,
    result_of,
    to_json,
    verdict_record,
    write_folder,
)
from skill_health.effectiveness.trial.outcome import AgentExit
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.trial import MadeTrial, make_trial
from skill_health.executors._api import Executor, WorkerLostError


class AgentWorkers:
    """Has agents started by the workers of an executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def run_trial(self, cell: TrialSpec, place: str) -> TrialResult:
        """What `run_trial` does, elsewhere; it is written here. A lost worker is a failure of the infrastructure."""
        task, skills = self._executor.share(cell.task), [self._executor.share(each) for each in cell.skills]
        bare = replace(cell, task=_named_only(cell.task), skills=(), secrets=())
        try:
            async with _opened(cell, self._executor.host, cell.arm.agents) as line:
                made = await self._executor.call(_make, _without_key(bare, line), place, task, *skills)
        except WorkerLostError as error:
            made = _lost(cell, str(error))
        # What was redacted there did not know what is secret here.
        hidden = (*made.hidden, *all_secrets(cell))
        await to_the_end(asyncio.to_thread(write_folder, place, made.files, hidden))
        return made.result

    async def ask_judge(self, agent: JudgeAgent, asked: AgentQuestion) -> AttemptReply:
        """What `ask_agent` does, elsewhere."""
        cell = cell_of(agent, asked)
        try:
            async with _opened(cell, self._executor.host, 1) as line:
                upstream = _without_key(cell, line).upstream
                assert upstream is not None
                there = replace(agent, upstream=upstream, line=line)
                return await self._executor.call(ask_agent, there, asked)
        except WorkerLostError as error:
            return AttemptReply(status="provider_error", raw_text="", error=f"the worker was lost: {error}")


def refuse_unshared(plan: TrialPlan) -> None:
    """Raise UsageError where trials of a plan need what lies on this machine alone."""
    if task := next((task for task in plan.tasks if task.recipe), None):
        raise UsageError(
            f"the task {task.id} runs in an image of its own, which is built on this machine: "
            "leave out --executor, or make shards on machines that build it"
        )


async def _make(cell: TrialSpec, place: str, task: Task, *skills: SkillCopy) -> MadeTrial:
    """What a worker does: the cell made whole again, and its trial made. Nothing is written to `place`."""
    return await make_trial(replace(cell, task=task, skills=skills), place)


def _named_only(task: Task) -> Task:
    """The name of a task in the place of it."""
    return Task(task.id, task.slug, "", task.format, "", None)


def _without_key(cell: TrialSpec, line: FarLine | None) -> TrialSpec:
    """A cell for a worker."""
    if cell.upstream is None:
        return cell
    endpoint = replace(cell.upstream.endpoint, key="", key_header=None)
    return replace(cell, upstream=replace(cell.upstream, endpoint=endpoint), line=line)


@asynccontextmanager
async def _opened(cell: TrialSpec, host: str, most: int) -> AsyncIterator[FarLine | None]:
    """The line to the gateways of a cell; None for one that asks no model through us."""
    if cell.upstream is None:
        yield None
        return

    def limits_of(wish: LineWish) -> GatewayLimits:
        limits = gateway_limits(cell, wish.key, wish.closed)
        return replace(limits, watch={**limits.watch, **wish.skills})

    async with open_far_end(host, cell.upstream, limits_of, most) as line:
        yield line


def _lost(cell: TrialSpec, why: str) -> MadeTrial:
    """The trial of a worker that is gone, of which nothing is known."""
    story, hidden = TrialRecord(AgentExit("infrastructure", f"the worker was lost: {why}")), all_secrets(cell)
    result = result_of(cell, story, hidden)
    return MadeTrial(result, {VERDICT: to_json(verdict_record(result, story, cell.task))}, hidden)
