"""A prepared judging, carried out: calls within the caps, journaled, read, asked once more where the form is wrong."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TextIO

from msgspec import structs

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.client import CallOutcome, Client, borrow_client, give_client_back
from skill_health.bench.http.messages import Conversation, Turn, Usage, add_usage
from skill_health.bench.http.replies import to_reply
from skill_health.bench.journal import RESULTS, Journal, read_clock
from skill_health.bench.progress import Progress, write_progress
from skill_health.bench.run_folder import drop_reports
from skill_health.bench.schedule import GRACE, INTERRUPTED, RunnerWork, RunOutcome, StopRun, interruptible
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents.judge_attempt import JudgeAttempt
from skill_health.documents.judge_result import JudgedCall
from skill_health.documents.router_attempt import AttemptReply
from skill_health.effectiveness.judge.asking.question import JudgeQuestion
from skill_health.effectiveness.judge.by_agent import AgentQuestion, JudgeAgent, ask_agent
from skill_health.effectiveness.judge.carry import carry_over
from skill_health.effectiveness.judge.opening import OpenJudge
from skill_health.effectiveness.judge.plan import (
    AnyAnswer,
    PosedQuestion,
    SomeVote,
    VoteKey,
    VotePlan,
    most_cost,
)
from skill_health.effectiveness.judge.prepare import PreparedJudging
from skill_health.effectiveness.judge.scores.report import CALIBRATION, load_judging, write_judge_report

MOST_ATTEMPTS = 2
OUTAGE = 20
"""So many calls in a row without an answer, and a judge is left alone."""


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[AnyAnswer]):
    """One attempt: what came back, and what it says."""

    reply: AttemptReply
    answer: AnyAnswer


class JudgeRunner(RunnerWork[SomeVote], Generic[SomeVote, AnyAnswer]):
    """One judging, or what is left of it. `on_result` is told of each result once it is durable."""

    def __init__(self, plan: VotePlan[SomeVote, AnyAnswer], journal: Journal, budget: Budget) -> None:
        super().__init__(journal, budget)
        self.plan = plan
        self.on_result: Callable[[JudgedCall], None] = lambda result: None
        self._clients: dict[str, Client] = {}

    def left(self) -> int:
        """How many votes have no result."""
        return sum(key not in self.journal.results for key in self.plan.keys())  # noqa: SIM118

    async def run(self, concurrency: int, grace: float = GRACE) -> None:
        """Make every call that has no result yet."""
        calls = [vote for vote in self.plan.calls() if vote.key not in self.journal.results]
        try:
            limits: dict[str, int] = {}
            for judge in self.plan.judges:
                limits[judge.server] = min(judge.at_once, limits.get(judge.server, judge.at_once))
            await self.do(self._call, ((vote.judge.server, vote) for vote in calls), concurrency, limits, grace)
        finally:
            for judge in self.plan.judges:
                if self._clients.pop(judge.spec, None) and judge.endpoint:
                    give_client_back(judge.endpoint)

    async def _call(self, vote: SomeVote) -> None:
        if vote.judge.spec in self.down:
            return
        try:
            posed = await asyncio.to_thread(self.plan.pose, vote)
        except ValueError as error:
            raise StopRun(f"{vote.place} cannot be read any more: {error}") from None
        if posed.question.digest != vote.digest:
            raise StopRun(f"{vote.place} is not as it was when the judging began")
        attempts = await self._ask(vote, posed)
        if attempts:
            result = self.plan.to_result(_to_call(vote.key, [each.reply for each in attempts]), attempts[-1].answer)
            await self.journal.add(record_values(result))
            self.on_result(result)

    async def _ask(self, vote: SomeVote, posed: PosedQuestion[AnyAnswer]) -> list[_Attempt[AnyAnswer]]:
        """The attempts at one vote, recorded ones first; [] where a cap forbids one that is needed.

        Raises StopRun where a reply stops the run, or where the run has been stopped meanwhile.
        """

        def read(reply: AttemptReply) -> _Attempt[AnyAnswer]:
            if reply.status not in ("finished", "truncated"):
                return _Attempt(structs.replace(reply, outcome=reply.status), posed.nothing)
            answer = posed.read(reply.raw_text or "")
            # An answer that is whole although it came to its limit counts.
            bad = "truncated" if reply.status == "truncated" else "format_failure"
            outcome = bad if answer.kinds else "finished"
            return _Attempt(structs.replace(reply, outcome=outcome, kinds=answer.kinds), answer)

        recorded = self._recorded(vote, read)
        attempts: list[_Attempt[AnyAnswer]] = []
        for number in range(1, MOST_ATTEMPTS + 1):
            attempt = recorded.get(number)
            if attempt is None:
                usd = most_cost(self.plan, vote)
                if not await self.admitted(usd):
                    return []
                attempt, refused = await self._attempt(vote, number, posed.question, usd, read)
                if refused:
                    return []
            attempts.append(attempt)
            if attempt.reply.outcome != "format_failure":
                break
        return attempts

    def _recorded(
        self, vote: SomeVote, read: Callable[[AttemptReply], _Attempt[AnyAnswer]]
    ) -> dict[int, _Attempt[AnyAnswer]]:
        """The attempts that an earlier process has seen end, and whose result it did not live to write."""
        found: dict[int, _Attempt[AnyAnswer]] = {}
        for event in self.journal.past.ends.get(vote.key, ()):
            try:
                told = convert_record(event, JudgeAttempt)
            except ValueError:
                continue
            if told.status is None or told.raw_text is None:
                continue
            reply = AttemptReply(**{name: getattr(told, name) for name in AttemptReply.__struct_fields__})
            attempt = read(reply)
            if attempt.reply.outcome in ("finished", "format_failure", "refusal", "truncated"):
                found.setdefault(told.attempt, attempt)
        return found

    async def _attempt(
        self,
        vote: SomeVote,
        number: int,
        question: JudgeQuestion,
        usd: float,
        read: Callable[[AttemptReply], _Attempt[AnyAnswer]],
    ) -> tuple[_Attempt[AnyAnswer], bool]:
        """The attempt, and whether a cap kept it from being sent again; `usd` is reserved for it."""

        def line(event: Literal["start", "end"], **more: Any) -> dict[str, Any]:
            return record_values(JudgeAttempt(event=event, key=vote.key, attempt=number, at=read_clock(), **more))

        async def again(usd: float) -> bool:
            if admitted := await self.admitted(usd):
                await self.journal.append(line("start", reserved_usd=usd))
            return admitted

        meter = AttemptMeter(usd, again, self.charge)
        actual: float | None = None
        try:
            await self.journal.append(line("start", reserved_usd=usd))
            with meter.running():
                if vote.judge.agent is not None:
                    attempt = read(await self._start_agent(vote.judge.agent, vote, question, usd))
                else:
                    outcome = await self._send(vote, number, question)
                    attempt = read(to_reply(outcome, vote.judge.price, meter.charged))
            actual = attempt.reply.cost_usd
        except asyncio.CancelledError:
            self.journal.note(line("end", status="cancelled") | {"cost_usd": None})
            raise
        finally:
            meter.end(actual)
        record = line("end") | record_values(attempt.reply)
        reply = attempt.reply
        if reply.stop or reply.status == "model_unavailable":
            await self.journal.append(record)
            raise StopRun(f"{reply.stop or vote.judge.spec}: {reply.error}")
        self._note_error(vote.judge, reply)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record)
        return attempt, meter.refused

    async def _send(self, vote: SomeVote, number: int, question: JudgeQuestion) -> CallOutcome:
        judge = vote.judge
        if judge.endpoint is None:
            raise RuntimeError(f"{judge.spec} was opened without a key, to be described only")
        client = self._clients.get(judge.spec)
        if client is None:
            client = self._clients[judge.spec] = borrow_client(judge.endpoint)
        conversation = Conversation(
            judge.model,
            (Turn("user", question.text),),
            system=question.system,
            max_output_tokens=self.plan.max_output(vote),
        )
        label = "|".join(map(str, (self.plan.seed, *vote.key, number)))
        return await client.complete(judge.protocol, conversation, label)

    async def _start_agent(
        self, agent: JudgeAgent, vote: SomeVote, question: JudgeQuestion, usd: float
    ) -> AttemptReply:
        """Have an agent judge, within so many dollars. Raises StopRun where its material is not there any more."""
        try:
            files = await asyncio.to_thread(self.plan.material, vote, question)
        except ValueError as error:
            raise StopRun(f"{vote.place} cannot be judged any more: {error}") from None
        most = self.plan.max_output(vote)
        return await ask_agent(agent, AgentQuestion(self.plan.folder, files, vote.judge.price, usd, most))

    def _note_error(self, judge: OpenJudge, reply: AttemptReply) -> None:
        """A server that is down costs minutes of patience for each call: after many of them it is left alone."""
        if reply.status != "provider_error":
            self.errors.pop(judge.spec, None)
            return
        errors = self.errors.setdefault(judge.spec, [])
        errors.append(reply.error)
        if len(errors) >= OUTAGE:
            self.down[judge.spec] = f"{judge.spec} did not answer {len(errors)} calls in a row: {errors[-1]}"


def _to_call(key: VoteKey, replies: Sequence[AttemptReply]) -> JudgedCall:
    """What the attempts at one vote come to: the status of the last one, the cost and tokens of all of them."""
    last = replies[-1]
    task, model, arm, replication, judge, number = key
    usages = [Usage(**structs.asdict(each.usage)) for each in replies]
    costs = [each.cost_usd for each in replies]
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
        usage=TokenUsage(**add_usage(usages).to_json()),
        duration_ms=last.duration_ms,
        cost_usd=None if None in costs else sum(each for each in costs if each is not None),
        error=last.error,
    )


AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class JudgeRunOptions:
    """How a judging is made, which is no part of what it asks."""

    max_runs: int | None = None
    max_usd: float | None = None
    concurrency: int = AT_ONCE
    quiet: bool = False
    grace: float = GRACE


class WrittenReport(NamedTuple):
    """A report with the paths of its files; `missing` counts results without an answer."""

    report: Any
    paths: tuple[str, ...]
    missing: int


def conduct_judging(
    prepared: PreparedJudging[SomeVote, AnyAnswer],
    terms: JudgeRunOptions,
    stream: TextIO | None,
    write: Callable[[str, str], WrittenReport],
) -> RunOutcome:
    """Make the calls that have no result yet, and write results and report.

    `write` makes the report, given the folder of the run and that of the judging. Raises UsageError where another
    process has the journal, and AbortedError where the disk does not take what is to be written. What is done is kept
    whatever happens.
    """
    with prepared.place.open(prepared.keys) as journal:
        for problem in journal.past.problems:
            write_progress(stream, f"{problem}\n")
        drop_reports(journal.folder)
        budget = _budget(terms, journal)
        runner = JudgeRunner(prepared.plan, journal, budget)
        if runner.left():
            # What it was made from is not all that there will be.
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(journal.folder, CALIBRATION))
        try:
            reason = asyncio.run(_run(prepared, terms, stream, runner, budget))
        except KeyboardInterrupt:
            reason = INTERRUPTED
        left = runner.left()
        if left and (reason == INTERRUPTED or not journal.results):
            return RunOutcome(journal.folder, left, reason, bool(runner.capped))
        if not left:
            journal.finish(prepared.plan.keys())
        found = write(prepared.plan.folder, journal.folder)
        return RunOutcome(
            journal.folder,
            left,
            reason,
            bool(runner.capped),
            found.report,
            (*found.paths, os.path.join(journal.folder, RESULTS)),
            missing=found.missing,
        )


def write_judged(run_folder: str, folder: str) -> WrittenReport:
    """The report of a judging by criteria. Raises UsageError if it cannot be written."""
    judging = load_judging(folder)
    report, paths = write_judge_report(run_folder, judging)
    return WrittenReport(report, paths, sum(not result.scored for result in judging.results))


async def _run(
    prepared: PreparedJudging[SomeVote, AnyAnswer],
    terms: JudgeRunOptions,
    stream: TextIO | None,
    runner: JudgeRunner[SomeVote, AnyAnswer],
    budget: Budget,
) -> str:
    """Ask; why it stopped before its end, "" where it did not."""
    planned = sum(1 for _ in prepared.plan.keys())  # noqa: SIM118
    await carry_over(prepared.carried, runner.journal)
    if not (left := runner.left()):
        return ""

    def interrupted() -> None:
        if runner.interrupt():
            grace = f"{terms.grace:.0f} s"
            write_progress(
                stream, f"\nstopping: calls under way have {grace} to end; interrupt again to abandon them\n"
            )

    with Progress(planned, stream, done=planned - left, quiet=terms.quiet) as progress, interruptible(interrupted):
        runner.on_result = lambda result: progress.update(result.status, budget.spent)
        await progress.beside(runner.run(terms.concurrency, terms.grace))
    return runner.stopped or runner.capped or "; ".join(runner.down.values())


def _budget(terms: JudgeRunOptions, journal: Journal) -> Budget:
    """The caps, with what earlier processes spent: by their attempts, and not less than their results took.

    What was taken over was paid for in another judging.
    """
    attempts, usd = _spent([record for record in journal.results.values() if not record.get("taken_from")])
    past = journal.past
    return Budget(terms.max_runs, terms.max_usd, attempts=max(past.attempts, attempts), spent=max(past.usd, usd))


def _spent(records: Sequence[Mapping[str, object]]) -> tuple[int, float]:
    """How many attempts these results took, and their dollars as far as known."""
    numbers = [(record.get("attempts"), record.get("cost_usd")) for record in records]
    attempts = sum(count for count, _ in numbers if isinstance(count, int))
    return attempts, sum(float(usd) for _, usd in numbers if isinstance(usd, int | float))
