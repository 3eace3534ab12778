"""What a run knows of its batches: their calls, those that wait, and what answers come to."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from msgspec import structs

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.json_values import mapping
from skill_health.bench.http.messages import Completion, Outgoing, PlainRequest
from skill_health.bench.http.replies import to_reply
from skill_health.bench.journal import Key
from skill_health.bench.prices import TieredPrice
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.providers._batch import BatchProtocol, BatchState, is_batch_id
from skill_health.core.files import blake2b
from skill_health.documents.router_attempt import AttemptReply

if TYPE_CHECKING:
    from skill_health.bench.http.endpoint import Endpoint

MOST_BYTES = 64_000_000
"""No batch is larger, whatever its provider takes: it is in memory several times while it is sent."""
SKEW = timedelta(days=1)
"""By how much clocks may differ."""


@dataclass(frozen=True, slots=True)
class BatchLane:
    """A model that is asked in batches; `protocol` has some. Calls of one batch are all of one lane."""

    spec: str
    model: str
    protocol: ProviderProtocol
    endpoint: Endpoint
    price: TieredPrice | None

    @property
    def batches(self) -> BatchProtocol:
        """How its provider takes them."""
        found = self.protocol.batches
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class BatchReply:
    """What a call in a batch comes to. `again`: nothing of it is the model's, so it may be handed in once more."""

    reply: AttemptReply
    again: bool = False
    cancelled: bool = False


Left = Literal["void", "down"]
"""void: the batch was never begun, and the call is to be made anew. down: its model is asked no more."""


@dataclass(slots=True, eq=False)
class BatchCall:
    """One attempt that waits for its batch; `outgoing` is what is handed in, and None once it was."""

    key: Key
    number: int
    usd: float
    lane: BatchLane
    outgoing: Outgoing | None = None
    size: int = 0
    answer: asyncio.Future[BatchReply | Left] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def give(self, found: BatchReply | Left) -> None:
        """Answer whoever waits."""
        if not self.answer.done():
            self.answer.set_result(found)


@dataclass(slots=True, eq=False)
class HandedIn:
    """A batch that was handed in, or may have been; `batch_id` is "" where the provider has not said so."""

    name: str
    lane: BatchLane
    calls: list[BatchCall]
    sent_at: str
    batch_id: str = ""
    cancelled: bool = False
    state: BatchState | None = None
    looks: int = 0
    failures: int = 0
    due: float = 0.0
    others: set[str] = field(default_factory=set)

    def ids(self) -> dict[str, BatchCall]:
        """Its calls by the ids that they have there."""
        return {custom_id(self.name, call.key, call.number): call for call in self.calls}


@dataclass(slots=True)
class BatchQueue:
    """What waits to be handed in for one lane. `most` shrinks where a server takes less than it says."""

    lane: BatchLane
    most: int
    calls: list[BatchCall] = field(default_factory=list)
    size: int = 0
    refusals: int = 0
    not_before: float = 0.0
    alone: bool = False
    room: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def full(self) -> bool:
        """Whether what waits is a whole batch."""
        return len(self.calls) >= self.most or self.size >= self.most_bytes

    @property
    def most_bytes(self) -> int:
        """How large a batch may be: as its provider says, and no larger than memory allows."""
        return min(self.lane.batches.most_bytes, MOST_BYTES)


def custom_id(name: str, key: Key, number: int) -> str:
    """The id of an attempt in a batch: letters and digits, as many as every provider takes."""
    text = json.dumps([name, list(key), number], ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def with_headers(request: PlainRequest, batches: BatchProtocol) -> PlainRequest:
    """The request with what all requests about batches carry."""
    return replace(request, headers={**batches.headers, **request.headers})


def read_state(lane: BatchLane, found: Any) -> BatchState | Failure:
    """The batch in an answer of its provider, where that is no failure itself."""
    return (
        found if isinstance(found, Failure) else lane.batches.read_state(lane.protocol, lane.endpoint.base_url, found)
    )


def read_file_id(data: Any) -> str:
    """The id of an uploaded file, "" where there is none."""
    found = mapping(data).get("id")
    return str(found) if is_batch_id(found) else ""


def check_model(found: Completion | Failure, model: str) -> Completion | Failure:
    """The answer, unless it is another model's: what was asked for, or that with a date."""
    if isinstance(found, Failure) or not found.model:
        return found
    wanted, given = (name.rpartition("/")[2] for name in (model, found.model))
    # What the latest is called nobody can say.
    if wanted.endswith("latest") or given.startswith(wanted):
        return found
    return Failure("costly", f"answered with the model {found.model}")


def to_batch_reply(found: Completion | Failure, lane: BatchLane, batch: str) -> AttemptReply:
    """What the journal keeps of an answer in a batch."""
    from skill_health.bench.http.client import CallOutcome

    if isinstance(found, Failure):
        reply = to_reply(CallOutcome(None, found, 1), lane.price, not found.free)
    else:
        reply = to_reply(CallOutcome(found, None, 1), lane.price, True)
    return structs.replace(reply, batch=batch)


def describe_progress(batch: HandedIn) -> str:
    """How many calls of a batch are done, as far as its provider says."""
    state = batch.state
    if state is None or state.total is None:
        return ""
    failed = f", {state.failed:,} failed" if state.failed else ""
    return f"{state.done + state.failed:,}/{state.total:,}{failed}"


def count_calls(calls: list[BatchCall]) -> str:
    """How many calls, in words."""
    return f"{len(calls):,} call{'s' if len(calls) > 1 else ''}"


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def is_older(created: str, sent: str) -> bool:
    """Whether a batch is certainly older than what was sent at a time."""
    earlier, later = _time(created), _time(sent)
    return earlier is not None and later is not None and earlier < later - SKEW


def seconds_since(moment: str) -> float:
    """Seconds since a time in RFC 3339, without end where it is none."""
    then = _time(moment)
    return (datetime.now(UTC) - then).total_seconds() if then else float("inf")
