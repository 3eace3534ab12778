"""Questions to models within the caps, journaled, and asked once more where the form of an answer is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from msgspec import structs

from skill_health.bench.budget import AttemptMeter, Budget
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.messages import Conversation, Turn
from skill_health.bench.http.replies import to_reply
from skill_health.bench.journal import Journal, Key, read_clock
from skill_health.bench.prices import TieredPrice
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.run.batches import BatchLane, BatchReply
from skill_health.bench.run.conduct import RunnerWork
from skill_health.bench.run.desk import TRIES, BatchDesk
from skill_health.bench.run.schedule import GRACE, StopRun
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.router_attempt import AttemptReply, ModelAttempt
from skill_health.documents.router_result import Status

if TYPE_CHECKING:
    from skill_health.bench.http.client import Client

T = TypeVar("T")
Answer = TypeVar("Answer")
MOST_ATTEMPTS = 2


class AskedModel(Protocol):
    """A model that is ready to be asked; without `endpoint` it can only be described."""

    @property
    def spec(self) -> str:
        """Its name, as the user gave it."""

    @property
    def model(self) -> str:
        """The provider's name of it."""

    @property
    def protocol(self) -> ProviderProtocol:
        """How its server is spoken to."""

    @property
    def endpoint(self) -> Endpoint | None:
        """Its server."""

    @property
    def price(self) -> TieredPrice | None:
        """Its price, None where nobody knows."""


@dataclass(frozen=True, slots=True)
class ReadAttempt(Generic[Answer]):
    """One attempt: what came back, with what it comes to, and what it says."""

    reply: AttemptReply
    answer: Answer

    @property
    def outcome(self) -> Status:
        """What it comes to."""
        return self.reply.outcome or "provider_error"

    @property
    def answered(self) -> bool:
        """Whether a result can rest on it, also in a run that is resumed."""
        return self.outcome in ("finished", "format_failure", "refusal", "truncated")


@dataclass(frozen=True, slots=True)
class ModelQuestion(Generic[Answer]):
    """One question of a run: the key of its result, and the name of the model that is asked.

    `most_usd` is what the attempt of a number, counted from 1, may cost at most, and `send` makes it. `read` says what
    a reply comes to. After `outage` calls in a row without an answer the model is left alone, never for 0. What is not
    `metered` counts against no cap. With a `pose` the attempt of a number goes into a batch, where the run has some.
    """

    key: Key
    spec: str
    most_usd: Callable[[int], float]
    send: Callable[[int, AttemptMeter], Awaitable[AttemptReply]]
    read: Callable[[AttemptReply], ReadAttempt[Answer]]
    outage: int
    metered: bool = True
    pose: Callable[[int], Conversation] | None = None


def read_form(
    reply: AttemptReply, form: Callable[[str], tuple[tuple[str, ...], Answer]], nothing: Answer
) -> ReadAttempt[Answer]:
    """What a reply comes to: `form` says what is wrong with the form of its text, and what that says.

    An answer that is whole although it came to its limit counts. `nothing` is what no answer says.
    """
    if reply.status not in ("finished", "truncated"):
        return ReadAttempt(structs.replace(reply, outcome=reply.status), nothing)
    kinds, answer = form(reply.raw_text or "")
    bad: Status = "truncated" if reply.status == "truncated" else "format_failure"
    return ReadAttempt(structs.replace(reply, outcome=bad if kinds else "finished", kinds=kinds), answer)


class ModelRunner(RunnerWork[T], Generic[T]):
    """One run that asks models, or what is left of it."""

    ATTEMPT: ClassVar[type[ModelAttempt]]

    def __init__(self, journal: Journal, budget: Budget) -> None:
        super().__init__(journal, budget)
        self.desk: BatchDesk | None = None
        self._clients: dict[str, tuple[Client, Endpoint]] = {}

    def take_batches(self, lanes: Sequence[BatchLane], cancelling: bool = False) -> None:
        """Ask these models in batches from now on; with `cancelling`, cancel those that are with providers instead.

        Needs a running loop.
        """
        self.desk = BatchDesk(
            self.journal, lanes, self.ATTEMPT,
            idle=lambda waiting: self._schedule.under_way <= waiting + self._unpaid,
            stopped=lambda: self.stopped, tell=lambda line: self.tell(line), down=self.down, cancelling=cancelling,
        )  # fmt: skip

    async def do(
        self,
        each: Callable[[T], Awaitable[None]],
        planned: Iterable[tuple[str, T]],
        concurrency: int,
        limits: Mapping[str, int],
        grace: float = GRACE,
    ) -> None:
        """Do the planned (group, item) pairs, with the batches beside them; `limits` are those of the groups."""
        if self.desk is None:
            await super().do(each, planned, concurrency, limits, grace)
            return
        beside = asyncio.create_task(self.desk.run())
        try:
            await super().do(each, planned, concurrency, limits, grace)
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)
        if self.desk.cancelling:
            for spec in self.desk.specs:
                self.down.setdefault(spec, "the batches were cancelled")

    def interrupt(self) -> bool:
        """Begin nothing new, and leave batches where they are."""
        first = super().interrupt()
        if self.desk is not None:
            self.desk.interrupt()
            self._charged.set()
        return first

    def aside(self) -> str:
        """What is with providers."""
        return self.desk.aside() if self.desk else ""

    def say_stopping(self, grace: float) -> str:
        """What becomes of batches where the run is interrupted."""
        if self.desk is None or not self.desk.under_way:
            return super().say_stopping(grace)
        batches = f"{self.desk.under_way} batch{'es' if self.desk.under_way > 1 else ''}"
        return (
            f"stopping: {batches} with the provider go on, and cost what they come to; the same command collects them, "
            "and with --cancel-batches cancels them"
        )

    async def close(self) -> None:
        """Give the connections back."""
        while self._clients:
            from skill_health.bench.http.client import give_client_back

            _, (_, endpoint) = self._clients.popitem()
            give_client_back(endpoint)

    async def ask(self, question: ModelQuestion[Answer]) -> list[ReadAttempt[Answer]]:
        """The attempts at one question, recorded ones first; [] where a cap forbids one that is needed.

        Raises StopRun where a reply stops the run, or where the run has been stopped meanwhile.
        """
        recorded = self._recorded(question)
        attempts: list[ReadAttempt[Answer]] = []
        for number in range(1, MOST_ATTEMPTS + 1):
            attempt = recorded.get(number)
            if attempt is None and self.desk is not None and question.pose is not None:
                attempt = await self._batched(self.desk, question, number, question.pose)
                if attempt is None:
                    return []
            elif attempt is None:
                usd = question.most_usd(number)
                if question.metered and not await self.admitted(usd):
                    return []
                attempt, refused = await self._attempt(question, number, usd)
                if refused:
                    return []
            attempts.append(attempt)
            if attempt.outcome != "format_failure":
                break
        return attempts

    def reason_to_stop(self, question: ModelQuestion[Any], reply: AttemptReply) -> str:
        """Why no more may be asked after this reply, "" where more may: a quota, a key, or a model that is gone."""
        gone = question.spec if reply.status == "model_unavailable" else ""
        return f"{why}: {reply.error}" if (why := reply.stop or gone) else ""

    async def complete(
        self,
        model: AskedModel,
        text: str,
        label: Sequence[object],
        meter: AttemptMeter,
        *,
        max_output: int,
        system: str = "",
        schema: Mapping[str, Any] | None = None,
    ) -> AttemptReply:
        """Send one turn to a model; what `label` says decides how long is waited before it is sent again."""
        if model.endpoint is None:
            raise RuntimeError(f"{model.spec} was opened without a key, to be described only")
        if model.spec not in self._clients:
            # Routers that are computed here need no HTTP.
            from skill_health.bench.http.client import borrow_client

            self._clients[model.spec] = borrow_client(model.endpoint), model.endpoint
        client, _ = self._clients[model.spec]
        turns = (Turn("user", text),)
        conversation = Conversation(model.model, turns, system=system, schema=schema, max_output_tokens=max_output)
        outcome = await client.complete(model.protocol, conversation, "|".join(map(str, label)))
        return to_reply(outcome, model.price, meter.charged)

    def _recorded(self, question: ModelQuestion[Answer]) -> dict[int, ReadAttempt[Answer]]:
        """The attempts that an earlier process has seen end, and whose result it did not live to write."""
        found: dict[int, ReadAttempt[Answer]] = {}
        for event in self.journal.past.ends.get(question.key, ()):
            try:
                told = convert_record(event, self.ATTEMPT)
            except ValueError:
                continue
            if told.status is None or told.raw_text is None:
                continue
            kept = AttemptReply(**{name: getattr(told, name) for name in AttemptReply.__struct_fields__})
            attempt = question.read(kept)
            if attempt.answered:
                found.setdefault(told.attempt, attempt)
        return found

    async def _batched(
        self, desk: BatchDesk, question: ModelQuestion[Answer], number: int, pose: Callable[[int], Conversation]
    ) -> ReadAttempt[Answer] | None:
        """The attempt as part of a batch, or of another one where that lacks it; None where it was not made."""
        ends = self.journal.past.ends.get(question.key, ())
        tries = sum(bool(end.get("batch")) and end.get("attempt") == number for end in ends)
        call = desk.adopted(question.key, number)
        while True:
            if call is None:
                if desk.cancelling:
                    return None
                usd = question.most_usd(number)
                if not await self.admitted(usd):
                    return None
                call = await desk.ask(question.spec, question.key, number, usd, lambda: pose(number))
                if call is None:
                    self.release(usd)
                    return None
            try:
                found = await desk.wait(call)
            except BaseException:
                # Nobody will free what others wait for.
                self._charged.set()
                raise
            if not isinstance(found, BatchReply):
                self.release(call.usd)
                if found == "down":
                    return None
                call = None
                continue
            reply = structs.replace(found.reply, status="cancelled") if found.cancelled else found.reply
            attempt = question.read(reply)
            self.charge(call.usd, reply.cost_usd)
            end = self.ATTEMPT(event="end", key=question.key, attempt=number, at=read_clock())
            record = record_values(end) | record_values(attempt.reply)
            if reason := self.reason_to_stop(question, reply):
                await self.journal.append(record)
                raise StopRun(reason)
            self.journal.note(record)
            if found.cancelled:
                if not desk.cancelling:
                    self.down.setdefault(question.spec, f"{question.spec}: somebody cancelled a batch at the provider")
                return None
            tries += 1
            if not found.again or tries >= TRIES:
                return attempt
            call = None

    async def _attempt(
        self, question: ModelQuestion[Answer], number: int, usd: float
    ) -> tuple[ReadAttempt[Answer], bool]:
        """The attempt, and whether a cap kept it from being sent again; `usd` is reserved for it."""

        def line(event: Literal["start", "end"], **more: Any) -> dict[str, Any]:
            made = self.ATTEMPT(event=event, key=question.key, attempt=number, at=read_clock(), **more)
            return record_values(made)

        async def begin() -> None:
            if question.metered:
                await self.journal.append(line("start", reserved_usd=usd))

        async def again(usd: float) -> bool:
            if admitted := await self.admitted(usd):
                await begin()
            return admitted

        meter = AttemptMeter(usd, again, self.charge)
        actual: float | None = None
        try:
            await begin()
            with meter.running():
                attempt = question.read(await question.send(number, meter))
            actual = attempt.reply.cost_usd
        except asyncio.CancelledError:
            self.journal.note(line("end", status="cancelled") | {"cost_usd": None})
            raise
        finally:
            if question.metered:
                meter.end(actual)
        record = line("end") | record_values(attempt.reply)
        if reason := self.reason_to_stop(question, attempt.reply):
            await self.journal.append(record)
            raise StopRun(reason)
        self._note_error(question, attempt.reply)
        # The result, or the start of the next attempt, takes this line to the disk with it.
        self.journal.note(record)
        return attempt, meter.refused

    def give_up(self, spec: str) -> None:
        """Leave a model alone whose last calls ended in errors: they have no result, and a resumed run asks them."""
        if errors := self.errors.get(spec):
            self.down[spec] = f"{spec} did not answer {len(errors)} calls in a row: {errors[-1]}"

    def _note_error(self, question: ModelQuestion[Any], reply: AttemptReply) -> None:
        """A server that is down costs minutes of patience for each call: after many of them it is left alone."""
        if reply.status != "provider_error":
            self.errors.pop(question.spec, None)
        elif question.outage:
            self.errors.setdefault(question.spec, []).append(reply.error)
            if len(self.errors[question.spec]) >= question.outage:
                self.give_up(question.spec)
