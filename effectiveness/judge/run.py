"""A prepared judging, carried out: calls within the caps, journaled, read, asked once more where the form is wrong."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TextIO

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.messages import Conversation, Turn
from skill_health.bench.http.replies import sum_cost, sum_usage
from skill_health.bench.journal import RESULTS, Journal
from skill_health.bench.run.batches import BatchLane
from skill_health.bench.run.conduct import RunOutcome, RunTerms, budget_of, conduct
from skill_health.bench.run.merge import merge_shards
from skill_health.bench.run.questions import ModelQuestion, ModelRunner, read_form
from skill_health.bench.run.schedule import GRACE, StopRun
from skill_health.bench.run_folder import Kind
from skill_health.documents._record import record_values
from skill_health.documents.judge_attempt import JudgeAttempt
from skill_health.documents.judge_result import JudgedCall
from skill_health.documents.router_attempt import AttemptReply
from skill_health.effectiveness.judge.asking.question import JudgeQuestion
from skill_health.effectiveness.judge.by_agent import AgentQuestion, JudgeAgent, ask_agent
from skill_health.effectiveness.judge.carry import carry_over
from skill_health.effectiveness.judge.opening import OpenJudge
from skill_health.effectiveness.judge.plan import AnyAnswer, PosedQuestion, SomeVote, VoteKey, VotePlan, most_cost
from skill_health.effectiveness.judge.prepare import PreparedJudging
from skill_health.effectiveness.judge.scores.report import CALIBRATION, load_judging, write_judge_report

OUTAGE = 20
"""So many calls in a row without an answer, and a judge is left alone."""


AskAgent = Callable[[JudgeAgent, AgentQuestion], Awaitable[AttemptReply]]
"""Has an agent judge, as `ask_agent` does."""


class JudgeRunner(ModelRunner[SomeVote], Generic[SomeVote, AnyAnswer]):
    """One judging, or what is left of it; the answers that an earlier one has already are `carried` over."""

    ATTEMPT = JudgeAttempt
    cancelling = False

    def __init__(
        self,
        plan: VotePlan[SomeVote, AnyAnswer],
        journal: Journal,
        budget: Budget,
        carried: Mapping[VoteKey, JudgedCall] | None = None,
        ask: AskAgent = ask_agent,
    ) -> None:
        super().__init__(journal, budget)
        self.plan = plan
        self._carried = carried or {}
        self._ask_agent = ask

    def keys(self) -> Iterator[VoteKey]:
        """The keys of all votes in their order."""
        return self.plan.keys()

    async def take_over(self, terms: RunTerms) -> None:
        """Write down the answers of an earlier judging."""
        await carry_over({key: vote for key, vote in self._carried.items() if self.wants(key)}, self.journal)

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Make every call that has no result yet."""
        calls = [vote for vote in self.plan.calls() if self.wants(vote.key)]
        limits: dict[str, int] = {}
        batched = [judge for judge in self.plan.judges if judge.batched]
        if lanes := [lane for judge in batched if (lane := _lane(judge))]:
            self.take_batches(lanes, self.cancelling)
            # Votes that wait for a batch are under way all at once.
            limits |= {judge.server: len(calls) for judge in batched}
            concurrency += len(calls)
        for judge in self.plan.judges:
            if judge.batched:
                continue
            limits[judge.server] = min(judge.at_once, limits.get(judge.server, judge.at_once))
        await self.do(self._call, ((vote.judge.server, vote) for vote in calls), concurrency, limits, grace)

    async def _call(self, vote: SomeVote) -> None:
        if vote.judge.spec in self.down:
            return
        try:
            posed = await asyncio.to_thread(self.plan.pose, vote)
        except ValueError as error:
            raise StopRun(f"{vote.place} cannot be read any more: {error}") from None
        if posed.question.digest != vote.digest:
            raise StopRun(f"{vote.place} is not as it was when the judging began")
        if attempts := await self.ask(self._posed(vote, posed)):
            call = _to_call(vote.key, [each.reply for each in attempts])
            result = self.plan.to_result(call, attempts[-1].answer)
            await self.settle(record_values(result), result.status)

    def _posed(self, vote: SomeVote, posed: PosedQuestion[AnyAnswer]) -> ModelQuestion[AnyAnswer]:
        judge, question = vote.judge, posed.question
        usd = most_cost(self.plan, vote)

        async def send(number: int, meter: AttemptMeter) -> AttemptReply:
            if judge.agent is not None:
                return await self._start_agent(judge.agent, vote, question, usd)
            return await self.complete(
                judge, question.text, (self.plan.seed, *vote.key, number), meter,
                max_output=self.plan.max_output(vote), system=question.system,
            )  # fmt: skip

        def read(text: str) -> tuple[tuple[str, ...], AnyAnswer]:
            answer = posed.read(text)
            return answer.kinds, answer

        def pose(number: int) -> Conversation:
            turns = (Turn("user", question.text),)
            most = self.plan.max_output(vote)
            return Conversation(judge.model, turns, system=question.system, max_output_tokens=most)

        return ModelQuestion(
            vote.key, judge.spec, lambda _: usd, send, lambda reply: read_form(reply, read, posed.nothing), OUTAGE,
            pose=pose if judge.batched else None,
        )  # fmt: skip

    async def _start_agent(
        self, agent: JudgeAgent, vote: SomeVote, question: JudgeQuestion, usd: float
    ) -> AttemptReply:
        """Have an agent judge, within so many dollars. Raises StopRun where its material is not there any more."""
        try:
            files = await asyncio.to_thread(self.plan.material, vote, question)
        except ValueError as error:
            raise StopRun(f"{vote.place} cannot be judged any more: {error}") from None
        most = self.plan.max_output(vote)
        return await self._ask_agent(agent, AgentQuestion(self.plan.folder, files, vote.judge.price, usd, most))


def _to_call(key: VoteKey, replies: Sequence[AttemptReply]) -> JudgedCall:
    """What the attempts at one vote come to: the status of the last one, the cost and tokens of all of them."""
    last = replies[-1]
    task, model, arm, replication, judge, number = key
    return JudgedCall(
        task_id=task,
        model=model,
        arm=arm,
        replication=replication,
        judge=judge,
        vote=number,
        status=last.outcome or "provider_error",
        kinds=last.kinds,
        attempts=len(replies),
        resolved_model=last.model,
        usage=sum_usage(replies),
        duration_ms=last.duration_ms,
        cost_usd=sum_cost(replies),
        error=last.error,
        batch=last.batch,
    )


def _lane(judge: OpenJudge) -> BatchLane | None:
    """Whom the batches of a judge go to."""
    if judge.endpoint is None:
        return None
    return BatchLane(judge.spec, judge.model, judge.protocol, judge.endpoint, judge.price)


class WrittenReport(NamedTuple):
    """A report with the paths of its files; `missing` counts results without an answer."""

    report: Any
    paths: tuple[str, ...]
    missing: int


def conduct_judging(
    prepared: PreparedJudging[SomeVote, AnyAnswer],
    terms: RunTerms,
    stream: TextIO | None,
    write: Callable[[str, str], WrittenReport],
    cancelling: bool = False,
    ask: AskAgent = ask_agent,
) -> RunOutcome:
    """Make the calls that have no result yet, and write results and report; `cancelling`: cancel its batches instead.

    `ask` has agents judge. `write` makes the report, given the folder of the run and that of the judging. Raises as
    `skill_health.bench.run.conduct.conduct` does.
    """

    def begin(journal: Journal) -> JudgeRunner[SomeVote, AnyAnswer]:
        runner = JudgeRunner(prepared.plan, journal, budget_of(terms, journal), prepared.carried, ask)
        runner.cancelling = cancelling
        if runner.left():
            # What it was made from is not all that there will be.
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(journal.folder, CALIBRATION))
        return runner

    def written(runner: JudgeRunner[SomeVote, AnyAnswer], left: int) -> RunOutcome:
        return _written(prepared.plan.folder, runner.journal.folder, left, write)

    return conduct(prepared.place, prepared.keys, terms, stream, begin, written)


def merge_judging(
    folders: Sequence[str], kind: Kind, run_folder: str, write: Callable[[str, str], WrittenReport]
) -> RunOutcome:
    """Put the shards of a judging of a run together below it, and write results and report as for one that ran whole.

    Raises as `merge_shards` does.
    """
    merged = merge_shards(folders, kind, run_folder, lambda shards, target: None)
    return _written(run_folder, merged.folder, merged.left, write)


def _written(run_folder: str, folder: str, left: int, write: Callable[[str, str], WrittenReport]) -> RunOutcome:
    found = write(run_folder, folder)
    paths = (*found.paths, os.path.join(folder, RESULTS))
    return RunOutcome(folder, left, report=found.report, written=paths, missing=found.missing)


def write_judged(run_folder: str, folder: str) -> WrittenReport:
    """The report of a judging by criteria. Raises UsageError if it cannot be written."""
    judging = load_judging(folder)
    report, paths = write_judge_report(run_folder, judging)
    return WrittenReport(report, paths, sum(not result.scored for result in judging.results))
