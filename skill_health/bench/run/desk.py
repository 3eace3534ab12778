"""Calls that go to a provider in batches: collected, handed in, waited for and read, through any number of processes.

    desk = BatchDesk(journal, "run's name", ...)
    work = asyncio.create_task(desk.run())
    reply = await desk.ask(call)              waits until the batch of this call is over, a day perhaps

The calls of a batch are attempts with its name in the journal; `batches.jsonl` says what became of the batch. Both are
durable before it is handed in. A process that is killed leaves the batch with the provider, and the next one collects
it: where nobody saw the provider take it, by looking for it among all that the provider has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.messages import Completion, Conversation
from skill_health.bench.journal import Journal, Key, PastBatch, read_clock
from skill_health.bench.providers._batch import BatchAnswer, BatchState
from skill_health.bench.run.batches import (
    BatchCall,
    BatchLane,
    BatchQueue,
    BatchReply,
    HandedIn,
    Left,
    check_model,
    count_calls,
    custom_id,
    describe_progress,
    is_older,
    read_file_id,
    read_state,
    seconds_since,
    to_batch_reply,
    with_headers,
)
from skill_health.bench.run.schedule import INTERRUPTED, StopRun
from skill_health.documents._record import record_values
from skill_health.documents.model_batch import BatchEvent
from skill_health.documents.router_attempt import ModelAttempt
from skill_health.text.terminal import clean

if TYPE_CHECKING:
    from skill_health.bench.http.plain_requests import PlainClient

T = TypeVar("T")
TRIES = 3
"""How often a call is handed in whose batch expired, or had no answer for it."""
READS = 3
"""How often results are fetched that lack answers before the answers count as lost: a transfer may have been cut."""
REFUSALS = 8
"""How often in a row a batch may be put off by a server that takes none for now."""
LOOKS = (2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Seconds between looks at a batch; the last for as long as it takes."""
TICK = 0.1
SETTLE = 90.0
"""Seconds after which a batch that is not in the provider's list was never taken."""
PAGES = 100
_WORD = 60
_FRAME = 4096
"""Bytes of a request for what stands around its calls."""


class BatchDesk:
    """All batches of one run. `lanes` are its models by their names.

    `idle` says whether nothing more will come before an answer is there, where so many wait, `stopped` why the run has
    been stopped, and `down` gets a line for each model that is asked no more. With `cancelling` the batches that are
    with providers are cancelled and nothing is handed in. Needs a running loop.
    """

    def __init__(
        self,
        journal: Journal,
        lanes: Iterable[BatchLane],
        attempt: type[ModelAttempt],
        *,
        idle: Callable[[int], bool],
        stopped: Callable[[], str],
        tell: Callable[[str], None],
        down: dict[str, str],
        cancelling: bool = False,
    ) -> None:
        self.cancelling, self.down = cancelling, down
        self._journal, self._attempt = journal, attempt
        self._idle, self._stopped, self._tell = idle, stopped, tell
        self._lanes = {lane.spec: lane for lane in lanes}
        self._queues = {spec: BatchQueue(lane, lane.batches.most_requests) for spec, lane in self._lanes.items()}
        self._clients: dict[str, PlainClient] = {}
        self._adopted: dict[tuple[Key, int], BatchCall] = {}
        self._waiting = 0
        self._over: Exception | None = None
        self._wake = asyncio.Event()
        self._counts = {"batches": 0, "over": 0, "calls": 0, "answered": 0, "failed": 0}
        self._batches = list(self._resumed(journal.past.batches))

    def _resumed(self, past: dict[str, PastBatch]) -> Iterator[HandedIn]:
        for name, found in past.items():
            spec = str(found.sent.get("model"))
            if lane := self._lanes.get(spec):
                calls = [BatchCall(key, number, usd, lane) for (key, number), usd in found.open.items()]
                self._adopted |= {(call.key, call.number): call for call in calls}
                self._count(calls)
                yield HandedIn(
                    name,
                    lane,
                    calls,
                    str(found.sent.get("at")),
                    str(found.submitted.get("provider_id") or ""),
                    found.cancelled,
                )

    # --- For those who ask ---

    def adopted(self, key: Key, number: int) -> BatchCall | None:
        """The attempt that an earlier process has handed in, and whose reservation stands."""
        return self._adopted.pop((key, number), None)

    async def ask(
        self, spec: str, key: Key, number: int, usd: float, pose: Callable[[], Conversation]
    ) -> BatchCall | None:
        """Put a call, for which so much is reserved, into the next batch; None where its model is asked no more.

        Raises StopRun where the run has been stopped meanwhile.
        """
        queue = self._queues[spec]
        while queue.full and not self._ends(spec) and self._over is None:
            # What is posed is as large as its listing: as much of that is kept as one batch takes.
            queue.room.clear()
            await self._parked(queue.room.wait())
        if self._over is not None:
            raise self._over
        if self._stopped():
            raise StopRun(self._stopped())
        if self._ends(spec):
            return None
        lane = queue.lane
        call = BatchCall(key, number, usd, lane)
        call.outgoing = lane.protocol.build_request(pose(), lane.endpoint.base_url)
        call.size = len(lane.batches.write_call(custom_id("", key, number), call.outgoing))
        queue.calls.append(call)
        queue.size += call.size
        return call

    async def wait(self, call: BatchCall) -> BatchReply | Left:
        """What the call comes to. Raises StopRun where the run is over before its batch is."""
        return await self._parked(call.answer)

    def interrupt(self) -> None:
        """Leave the batches where they are."""
        self._wake.set()

    def aside(self) -> str:
        """What is with providers, for people."""
        counts = self._counts
        if not counts["batches"]:
            return ""
        words = [
            clean(
                f"{batch.lane.spec} {batch.state.word[:_WORD] if batch.state else 'handed in'} {describe_progress(batch)}"
            )
            for batch in self._batches[:3]
        ]
        more = [f"{len(self._batches) - 3} more"] if len(self._batches) > 3 else []
        said = f"batches: {counts['batches']} with {counts['calls']:,} calls, {counts['over']} over"
        return "; ".join([said, *words, *more])

    @property
    def specs(self) -> list[str]:
        """The models that are asked in batches."""
        return list(self._lanes)

    @property
    def under_way(self) -> int:
        """How many batches are with providers."""
        return len(self._batches)

    def _ends(self, spec: str) -> bool:
        return bool(self.cancelling or spec in self.down or self._stopped())

    async def _parked(self, waiting: Awaitable[T]) -> T:
        self._waiting += 1
        try:
            return await waiting
        finally:
            self._waiting -= 1

    # --- The work ---

    async def run(self) -> None:
        """Hand in and collect until the run is over or interrupted; whoever waits then is told. Never returns else."""
        try:
            if self.cancelling:
                await self._cancel()
            while self._stopped() != INTERRUPTED:
                await self._hand_in()
                for batch in [each for each in self._batches if each.due <= self._now()]:
                    if self._stopped() != INTERRUPTED:
                        await self._look(batch)
                await self._pause()
            self._release(StopRun(INTERRUPTED))
        except BaseException as error:
            self._release(error)
            raise

    async def _pause(self) -> None:
        await asyncio.sleep(0)
        self._wake.clear()
        if self._stopped() == INTERRUPTED:
            return
        try:
            async with asyncio.timeout(TICK):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _release(self, error: BaseException) -> None:
        """Tell all who wait that the run is over; their batches go on."""
        self._over = error if isinstance(error, Exception) else StopRun("the run has ended")
        waiting = [call for batch in self._batches for call in batch.calls]
        waiting += [call for queue in self._queues.values() for call in queue.calls]
        for call in waiting:
            if not call.answer.done():
                call.answer.set_exception(self._over)
                call.answer.exception()
        for queue in self._queues.values():
            queue.room.set()

    async def _hand_in(self) -> None:
        idle = self._idle(self._waiting)
        for queue in self._queues.values():
            if not queue.calls:
                continue
            if self._ends(queue.lane.spec):
                self._drop(queue)
                continue
            busy = queue.alone and any(batch.lane is queue.lane for batch in self._batches)
            if (queue.full or idle) and not busy and queue.not_before <= self._now():
                await self._submit(queue, self._take(queue))

    def _drop(self, queue: BatchQueue) -> None:
        """Give up what waits: its model is asked no more, or the run has been stopped."""
        calls, queue.calls, queue.size = queue.calls, [], 0
        for call in calls:
            if (stopped := self._stopped()) and queue.lane.spec not in self.down:
                call.answer.set_exception(StopRun(stopped))
                call.answer.exception()
            else:
                call.give("down")
        queue.room.set()

    def _take(self, queue: BatchQueue) -> list[BatchCall]:
        """The calls of the next batch: as many as it may have, in their order."""
        size, taken = 0, 0
        for call in queue.calls[: queue.most]:
            if taken and size + call.size > queue.most_bytes - _FRAME:
                break
            size, taken = size + call.size, taken + 1
        found, queue.calls = queue.calls[:taken], queue.calls[taken:]
        queue.size -= size
        queue.room.set()
        return found

    async def _submit(self, queue: BatchQueue, calls: list[BatchCall]) -> None:
        lane, name = queue.lane, f"skill-health-{uuid4().hex}"
        from skill_health.bench.http.plain_requests import refused

        client, batches = self._client(lane), lane.batches
        lines = []
        for call in calls:
            assert call.outgoing is not None
            lines.append(batches.write_call(custom_id(name, call.key, call.number), call.outgoing))
            call.outgoing = None
        file = await self._upload(lane, name, lines)
        if isinstance(file, Failure):
            self._put_off(queue, calls, file)
            return
        if self._stopped() == INTERRUPTED:
            self._void(calls)
            return
        batch = HandedIn(name, lane, calls, read_clock())
        for call in calls:
            start = self._attempt(
                event="start", key=call.key, attempt=call.number, at=batch.sent_at, reserved_usd=call.usd, batch=name
            )
            self._journal.note(record_values(start))
        await self._write(batch, "sending", model=lane.spec, calls=len(calls))
        self._batches.append(batch)
        self._count(calls)
        create = batches.create(lane.protocol, lane.endpoint.base_url, name, lane.model, lines, file)
        del lines
        state = read_state(lane, await client.send(with_headers(create, batches)))
        if isinstance(state, BatchState):
            queue.most = min(2 * queue.most, batches.most_requests)
            await self._submitted(batch, state)
        elif refused(state):
            await self._refused(batch, state)
        else:
            self._tell(f"{state.message}: looking whether a batch of {count_calls(calls)} was taken all the same")
            self._later(batch)

    async def _upload(self, lane: BatchLane, name: str, lines: list[bytes]) -> str | Failure:
        """The id of the file that the lines are in then, and not in the list any more; "" where they need none."""
        upload = lane.batches.upload(lane.protocol, lane.endpoint.base_url, name, lines)
        if upload is None:
            return ""
        lines.clear()
        # A file costs nothing, so it may be there twice.
        found = await self._client(lane).ask(with_headers(upload, lane.batches))
        if isinstance(found, Failure):
            return found
        return read_file_id(found) or Failure("fatal", f"{lane.endpoint.host} sent no file in its answer")

    async def _submitted(self, batch: HandedIn, state: BatchState, how: str = "handed in") -> None:
        await self._write(batch, "submitted", provider_id=state.batch_id)
        batch.batch_id, batch.state, batch.looks = state.batch_id, state, 0
        most = sum(call.usd for call in batch.calls)
        self._tell(
            f"batch {state.batch_id} of {batch.lane.spec} {how}: {count_calls(batch.calls)}, at most ${most:.4f}"
        )
        self._later(batch)

    async def _refused(self, batch: HandedIn, failure: Failure) -> None:
        """The provider did not begin a batch, and nothing was paid."""
        await self._write(batch, "void", note=failure.message)
        self._forget(batch)
        self._put_off(self._queues[batch.lane.spec], batch.calls, failure)

    def _put_off(self, queue: BatchQueue, calls: list[BatchCall], failure: Failure) -> None:
        """What becomes of calls that were not taken: later, in smaller batches, or never."""
        spec, message = queue.lane.spec, failure.message
        queue.refusals += 1
        crowded = failure.kind in ("retry", "costly")
        if failure.status == 413 or crowded:
            queue.most = max(1, min(queue.most, len(calls)) // 2) if failure.status in (413, 429) else queue.most
            # What a server has already may be what leaves no room for more.
            queue.alone = queue.alone or failure.status == 429
            waits = min(LOOKS[min(queue.refusals, len(LOOKS)) - 1], failure.wait or LOOKS[-1])
            queue.not_before = self._now() + waits
        if (failure.status == 413 and len(calls) > 1) or (crowded and queue.refusals <= REFUSALS):
            self._tell(f"{message}: a batch of {count_calls(calls)} for {spec} is put off")
            self._void(calls)
            return
        hint = "; without --batch it is asked one by one" if failure.status in (404, 405, 501) else ""
        if failure.kind != "model":
            self.down[spec] = f"{spec}: {message}{hint}"
        for call in calls:
            call.give(BatchReply(to_batch_reply(failure, call.lane, "")) if failure.kind == "model" else "down")

    def _void(self, calls: Iterable[BatchCall]) -> None:
        for call in calls:
            call.give("void")

    async def _look(self, batch: HandedIn) -> None:
        lane, client = batch.lane, self._client(batch.lane)
        if not batch.batch_id:
            await self._seek(batch)
            return
        look = lane.batches.look(lane.protocol, lane.endpoint.base_url, batch.batch_id)
        state = read_state(lane, await client.ask(with_headers(look, lane.batches)))
        if isinstance(state, BatchState) and state.batch_id != batch.batch_id:
            state = Failure("costly", f"{lane.endpoint.host} answered with another batch")
        if isinstance(state, Failure):
            await self._unseen(batch, state)
            return
        batch.state = state
        if state.phase == "failed" and not state.done:
            error = client.clean(state.error or Failure("fatal", "failed the batch without a reason"))
            assert isinstance(error, Failure)
            await self._refused(batch, error)
        elif state.phase != "waiting":
            await self._collect(batch, state)
        else:
            batch.failures = 0
            if state.done:
                self._queues[lane.spec].refusals = 0
            self._later(batch)

    async def _unseen(self, batch: HandedIn, failure: Failure) -> None:
        """Nobody could say where a batch stands: it is asked for again, and counts as lost only where it is gone."""
        batch.failures += 1
        if failure.kind in ("auth", "quota"):
            raise StopRun(f"{failure.kind}: {failure.message}")
        if failure.status in (404, 410) and batch.failures >= READS:
            await self._give(batch, {}, Failure("fatal", f"{failure.message}: its batch is gone"))
            return
        if failure.kind not in ("retry", "costly") and batch.failures >= READS:
            # The batch is there for whoever asks rightly.
            raise StopRun(f"batch {batch.batch_id or batch.name}: {failure.message}")
        if batch.failures == 1:
            self._tell(f"{failure.message}: batch {batch.batch_id or batch.name} is asked for again later")
        self._later(batch)

    async def _seek(self, batch: HandedIn) -> None:
        """Look for a batch of which nobody knows whether the provider took it."""
        lane, client = batch.lane, self._client(batch.lane)
        known = {each.batch_id for each in self._batches} | batch.others
        after, open_ones = "", False
        for _ in range(PAGES):
            found = await client.ask(
                with_headers(lane.batches.page(lane.protocol, lane.endpoint.base_url, after), lane.batches)
            )
            if isinstance(found, Failure):
                await self._unseen(batch, found)
                return
            states, after = lane.batches.read_page(lane.protocol, lane.endpoint.base_url, found)
            for state in states:
                if state.batch_id in known or not self._may_be(batch, state):
                    continue
                if not state.name:
                    ours = await self._is_ours(batch, state) if state.phase == "ended" else None
                    open_ones = open_ones or ours is None
                    if not ours:
                        continue
                await self._submitted(batch, state, "found again")
                return
            if not after or any(is_older(state.created, batch.sent_at) for state in states):
                after = ""
                break
        if open_ones or after or seconds_since(batch.sent_at) < SETTLE:
            self._later(batch)
            return
        self._tell(f"{lane.endpoint.host} has no batch of the {count_calls(batch.calls)} that may have been handed in")
        await self._write(batch, "void", note="not found at the provider")
        self._forget(batch)
        self._void(batch.calls)

    def _may_be(self, batch: HandedIn, state: BatchState) -> bool:
        if state.name:
            return state.name == batch.name
        if state.total is not None and state.total != self._sent_calls(batch):
            return False
        return not is_older(state.created, batch.sent_at)

    def _sent_calls(self, batch: HandedIn) -> int:
        """How many calls were handed in; some of them may have their answers by now."""
        past = self._journal.past.batches.get(batch.name)
        number = past.sent.get("calls") if past else None
        return number if isinstance(number, int) else len(batch.calls)

    async def _is_ours(self, batch: HandedIn, state: BatchState) -> bool | None:
        """Whether the results of a batch without a name are about our calls; None where they cannot be had now."""
        ids = batch.ids()
        for request in state.results:
            data = await self._client(batch.lane).fetch(with_headers(request, batch.lane.batches))
            if isinstance(data, Failure):
                return None
            for answer in batch.lane.batches.read_results(batch.lane.protocol, data):
                if isinstance(answer, BatchAnswer) and answer.custom_id in ids:
                    return True
        batch.others.add(state.batch_id)
        return False

    async def _collect(self, batch: HandedIn, state: BatchState) -> None:
        """Read the answers of a batch that is over."""
        answers: dict[str, BatchAnswer] = {}
        ids = batch.ids()
        foreign = 0
        for turn in range(READS):
            answers, broken, foreign = {}, [], 0
            for request in state.results:
                data = await self._client(batch.lane).fetch(with_headers(request, batch.lane.batches))
                if isinstance(data, Failure):
                    if turn + 1 == READS or data.kind not in ("retry", "costly"):
                        await self._unseen(batch, data)
                        return
                    broken.append(data)
                    continue
                for found in batch.lane.batches.read_results(batch.lane.protocol, data):
                    if isinstance(found, Failure):
                        broken.append(found)
                    elif found.custom_id not in ids:
                        foreign += 1
                    elif answers.setdefault(found.custom_id, found) != found:
                        answers[found.custom_id] = BatchAnswer(
                            found.custom_id, Failure("costly", "answered this call twice, and differently")
                        )
            if not broken and len(answers) == len(ids):
                break
            await asyncio.sleep(0)
        if foreign and not self._journal.past.batches.get(batch.name):
            self._tell(f"batch {state.batch_id} has {foreign:,} answers to calls that are not in it; they are left out")
        if state.expired:
            lost = Failure("retry", "did not come to this call before its batch expired")
        elif state.cancelled:
            lost = Failure("costly", "cancelled the batch of this call, and does not say whether it came to it")
        else:
            lost = Failure("costly", "has no answer to this call in its batch")
        await self._give(batch, answers, lost)

    async def _give(self, batch: HandedIn, answers: dict[str, BatchAnswer], lost: Failure) -> None:
        """Give each call its answer, or the failure where there is none."""
        client = self._client(batch.lane)
        word = client.scrub.line(batch.state.word, _WORD) if batch.state else ""
        stopped = bool(batch.state and batch.state.cancelled)
        settled = []
        for name, call in batch.ids().items():
            answer = answers.get(name) or BatchAnswer(name, lost, stopped)
            settled.append((call, answer, client.clean(check_model(answer.found, batch.lane.model))))
        good = sum(isinstance(found, Completion) for _, _, found in settled)
        await self._write(batch, "ended", calls=good, note=word)
        for call, answer, found in settled:
            again = isinstance(found, Failure) and found.kind in ("retry", "costly")
            # Whoever goes on after cancelling wants the calls made.
            over = answer.cancelled and (self.cancelling or not batch.cancelled)
            call.give(BatchReply(to_batch_reply(found, batch.lane, batch.name), again, over))
        self._counts["answered"] += good
        self._counts["failed"] += len(batch.calls) - good
        self._counts["over"] += 1
        self._queues[batch.lane.spec].refusals = 0
        self._batches.remove(batch)
        left = len(batch.calls) - good
        without = f", {left:,} without" if left else ""
        self._tell(
            f"batch {batch.batch_id} of {batch.lane.spec} is over ({word}): {count_calls(batch.calls)}, "
            f"{good:,} with an answer{without}"
        )

    async def _cancel(self) -> None:
        for batch in list(self._batches):
            while not batch.batch_id and batch in self._batches and self._stopped() != INTERRUPTED:
                await self._seek(batch)
                await asyncio.sleep(0 if batch.batch_id or batch not in self._batches else LOOKS[0])
        for batch in [each for each in self._batches if each.batch_id]:
            lane = batch.lane
            request = lane.batches.cancel(lane.protocol, lane.endpoint.base_url, batch.batch_id)
            found = await self._client(lane).ask(with_headers(request, lane.batches))
            if isinstance(found, Failure):
                # One that is over cannot be cancelled, and its answers are there.
                self._tell(f"{found.message}: batch {batch.batch_id} is not cancelled")
            else:
                await self._write(batch, "cancelled")
                self._tell(f"batch {batch.batch_id} of {lane.spec} is being cancelled; what is done is kept, and paid")

    # --- What they need ---

    def _client(self, lane: BatchLane) -> PlainClient:
        if lane.spec not in self._clients:
            from skill_health.bench.http.plain_requests import PlainClient

            self._clients[lane.spec] = PlainClient(lane.endpoint)
        return self._clients[lane.spec]

    async def _write(self, batch: HandedIn, event: Any, **more: Any) -> None:
        made = BatchEvent(event=event, batch=batch.name, at=read_clock(), **more)
        await self._journal.record_batch(record_values(made))

    def _forget(self, batch: HandedIn) -> None:
        self._batches.remove(batch)
        self._counts["batches"] -= 1
        self._counts["calls"] -= len(batch.calls)

    def _count(self, calls: list[BatchCall]) -> None:
        self._counts["batches"] += 1
        self._counts["calls"] += len(calls)

    def _later(self, batch: HandedIn) -> None:
        batch.due = self._now() + LOOKS[min(batch.looks, len(LOOKS) - 1)]
        batch.looks += 1

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
