"""Agents started within the caps, journaled, and started again where the infrastructure failed; first what they see."""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, TextIO, TypeVar

from msgspec import UnsetType

from skill_health.bench.budget import Budget
from skill_health.bench.journal import Journal, Key, read_clock
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run.conduct import RunnerWork, RunTerms, budget_of
from skill_health.bench.run.schedule import GRACE, StopRun
from skill_health.core.errors import GateError
from skill_health.documents._agent_attempt import AgentAttempt
from skill_health.documents._record import OpenRecord, convert_record, record_values
from skill_health.effectiveness.agents._api import unproved_of
from skill_health.effectiveness.plan.plan import AgentModel
from skill_health.effectiveness.run.probes import Expected, Probing
from skill_health.effectiveness.run.runs import PROBES
from skill_health.effectiveness.trial.spec import TrialSpec

MOST_ATTEMPTS = 3
OUTAGE = 5
"""So many results in a row of which no attempt came to an end, and a model is left alone."""
_STOPS = ("quota", "auth")


class PlannedStart(Protocol):
    """What a result is wanted for."""

    @property
    def key(self) -> Key:
        """The key of its result."""

    @property
    def model(self) -> AgentModel:
        """The agent that is started."""


class AgentResult(Protocol):
    """What the start of an agent came to."""

    @property
    def key(self) -> Key:
        """What a run has exactly one of them for."""

    @property
    def outcome(self) -> str:
        """In one word."""

    @property
    def error(self) -> str:
        """Why nothing came of it."""

    @property
    def cost_usd(self) -> float | None:
        """Dollars."""

    @property
    def disagreement(self) -> str | UnsetType:
        """What the agent was offered against the plan."""


SomeStart = TypeVar("SomeStart", bound=PlannedStart)
AnyStart = TypeVar("AnyStart", bound=PlannedStart, contravariant=True)
SomeResult = TypeVar("SomeResult", bound=AgentResult)


class AgentPlan(Protocol[AnyStart]):
    """What a run starts agents for."""

    @property
    def models(self) -> tuple[AgentModel, ...]:
        """The agents."""

    def keys(self) -> Iterable[Key]:
        """The keys of all results in their order."""

    def at_once(self, total: int) -> dict[str, int]:
        """How many starts of each server may be under way."""

    def cell(self, planned: AnyStart) -> TrialSpec:
        """All that one start depends on."""


class AgentRunner(RunnerWork[SomeStart], Generic[SomeStart, SomeResult]):
    """One run, or what is left of it.

    `disagreed` is what an agent was offered against the plan, "" where that did not happen. `expected` is what agents
    list beside skills of the collection. Without `probing` nobody is asked what it sees.
    """

    ATTEMPT: ClassVar[type[AgentAttempt]]
    UNDER_WAY = ("what is under way has", "it")

    def __init__(
        self, plan: AgentPlan[SomeStart], journal: Journal, budget: Budget, probing: Probing | None = None
    ) -> None:
        super().__init__(journal, budget)
        self.disagreed = ""
        self.expected: Expected = {}
        self._agents, self._probing = plan, probing

    @abstractmethod
    def wanted(self) -> Iterable[SomeStart]:
        """Everything that is planned, in the order in which it is done."""

    @abstractmethod
    def reserved(self, planned: SomeStart) -> float:
        """The most dollars that it may cost."""

    @abstractmethod
    async def start(self, planned: SomeStart, cell: TrialSpec) -> SomeResult:
        """Start the agent of a cell, and keep what the result rests on in the folder of the run."""

    @abstractmethod
    def settled(self, result: SomeResult) -> bool:
        """Whether the agent had its chance, so that nothing is to be tried again."""

    @abstractmethod
    def where(self, result: SomeResult) -> str:
        """What a result is of, for people."""

    def keys(self) -> Iterable[Key]:
        """What is to have a result."""
        return self._agents.keys()

    @property
    def spent(self) -> float | None:
        """Dollars so far, None where nothing has a price."""
        return self.budget.spent if any(not model.free for model in self._agents.models) else None

    async def check(self, terms: RunTerms, stream: TextIO | None) -> str:
        """The probes that were not made yet. Raises GateError where one disagrees with the plan."""
        probing = self._probing
        if probing is None:
            return ""
        left = len(probing.wanted) - len(probing.records)
        for model in self._agents.models:
            if unseen := unproved_of(model.choice.agent):
                write_progress(stream, f"{model.spec}, under a weaker proof: {unseen}\n")
        if left and not terms.quiet:
            write_progress(stream, f"asking agents what they see with {left} sets of skills\n")
        with Progress(left, stream, quiet=terms.quiet, fine=("asked",), what="agents asked: ") as progress:
            probing.on_probe = lambda probe: progress.update("disagrees" if probe.problems else "asked")
            stop = await progress.beside(probing.run(terms.concurrency, self.watch, terms.grace))
        if stop:
            return stop
        if problems := probing.problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            path = os.path.join(self.journal.folder, PROBES)
            raise GateError(
                f"nothing was spent, since an agent would not see what it should: {problems[0]}{more}; see {path}"
            )
        self.expected = probing.expected()
        return ""

    def refuse(self) -> None:
        """Raise GateError where an agent was offered something against the plan."""
        if self.disagreed:
            raise GateError(f"an agent saw other skills than it should, so the run stopped: {self.disagreed}")

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Start every agent whose result is not there yet."""
        planned = [each for each in self.wanted() if self.wants(each.key)]
        pairs = ((each.model.server, each) for each in planned)
        await self.do(self._make, pairs, concurrency, self._agents.at_once(concurrency), grace)

    async def _make(self, planned: SomeStart) -> None:
        """Have one result, again where the infrastructure failed; none where a cap or outage forbids it."""
        spec = planned.model.spec
        result, number = self._recorded(planned.key)
        for _ in range(0 if result else MOST_ATTEMPTS - number % MOST_ATTEMPTS):
            usd = self.reserved(planned)
            if spec in self.down or not await self.admitted(usd):
                return
            result = await self._attempt(planned, number, usd)
            number += 1
            if result.outcome == "cancelled":
                return
            if result.outcome != "infrastructure":
                self.errors.pop(spec, None)
                break
        if result and not self.settled(result):
            self._note_failure(spec, result)
        if result and (self.settled(result) or spec not in self.down):
            await self.settle(_values(result), result.outcome)

    def _recorded(self, key: Key) -> tuple[SomeResult | None, int]:
        """What earlier processes saw of a key and did not live to write as its result; and the attempts that failed."""
        failed = 0
        for event in self.journal.past.ends.get(key, ()):
            try:
                result: SomeResult | UnsetType | None = convert_record(event, self.ATTEMPT).result
            except ValueError:
                continue
            if not result:
                continue
            if self.settled(result) and result.key == key:
                return result, failed
            failed += result.outcome == "infrastructure"
        return None, failed

    async def _attempt(self, planned: SomeStart, failed: int, usd: float) -> SomeResult:
        """One attempt after so many that failed; `usd` is reserved for it. Raises StopRun where it stops the run."""
        key, attempt = planned.key, failed + 1
        actual: float | None = None
        try:
            start = self.ATTEMPT(event="start", key=key, attempt=attempt, at=read_clock(), reserved_usd=usd)
            await self.journal.append(record_values(start))
            expected = self.expected.get(planned.model.spec)
            result = await self.start(planned, replace(self._agents.cell(planned), attempt=attempt, expected=expected))
            actual = 0.0 if planned.model.free else result.cost_usd
        except asyncio.CancelledError:
            end = self.ATTEMPT(
                event="end", key=key, attempt=attempt, at=read_clock(), outcome="cancelled", cost_usd=None
            )
            self.journal.note(record_values(end))
            raise
        finally:
            self.charge(usd, actual)
        end = self.ATTEMPT(
            event="end", key=key, attempt=attempt, at=read_clock(), outcome=result.outcome, cost_usd=actual,
            error=result.error, result=result,
        )  # fmt: skip
        if reason := self._reason_to_stop(result):
            await self.journal.append(record_values(end))
            raise StopRun(reason)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record_values(end))
        return result

    def _reason_to_stop(self, result: SomeResult) -> str:
        if result.outcome in _STOPS:
            return f"{result.outcome}: {result.error}"
        if result.disagreement:
            self.disagreed = self.disagreed or f"{self.where(result)}: {result.disagreement}"
            return self.disagreed
        return ""

    def _note_failure(self, spec: str, result: SomeResult) -> None:
        errors = self.errors.setdefault(spec, [])
        errors.append(result.error)
        if len(errors) >= OUTAGE and spec not in self.down:
            what = f"{len(errors)} {self.budget.what}s in a row"
            self.down[spec] = f"{spec} did not come to an end in {what}: {result.error}"


def _values(result: AgentResult) -> Mapping[str, Any]:
    assert isinstance(result, OpenRecord)
    return record_values(result)


def agent_budget(terms: RunTerms, journal: Journal, models: Iterable[AgentModel], what: str) -> Budget:
    """The caps of a run of agents; what a simulated one pretends to have spent is nothing."""
    free = {model.spec for model in models if model.free}
    return budget_of(terms, journal, costs=lambda record: record["model"] not in free, what=what)
