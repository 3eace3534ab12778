"""One call to a model: within the server's rate limits, retried where that makes sense, and never forever."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from skill_health.bench.budget import may_send_again, not_charged
from skill_health.bench.http.connection import ConnectionPerCall
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure, judge
from skill_health.bench.http.fetch import Fetched, fetch, is_json_type
from skill_health.bench.http.json_values import parsed
from skill_health.bench.http.messages import Completion, Conversation
from skill_health.bench.http.pacing import MAX_WAIT, STEPS, CallWindow, Pace, asked_wait, backoff, costs_of, stretched
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.redact import Scrubber


def read(protocol: ProviderProtocol, fetched: Fetched, scrub: Scrubber, now: float) -> Completion | Failure:
    """Read an answer; every text of a completion is without the key. `now` is in seconds since 1970."""
    kind = fetched.headers.get("content-type", "")
    if fetched.status < 400 and not is_json_type(kind):
        return Failure("fatal", f"sent {kind.partition(';')[0][:60]}, not JSON: base-url may be that of something else")
    data = read_body(fetched, now)
    if isinstance(data, Failure):
        return data
    if not isinstance(data, dict):
        return Failure("fatal", "sent JSON that is not an object")
    if (error := data.get("error")) and isinstance(error, dict | str):
        # Some answer 200 too early, and put the real status in the body.
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else _STATUS.get(str(code), 400)
        return judge(status, data, asked_wait(fetched.headers, data, now))
    found = protocol.read_completion(data)
    if isinstance(found, Failure):
        return found
    ids = [fetched.headers[name] for name in protocol.request_ids if fetched.headers.get(name)]
    return scrub_completion(replace(found, request_id=ids[0] if ids else found.request_id), scrub)


def read_body(fetched: Fetched, now: float) -> Any | Failure:
    """The JSON of an answer, or what its status means where that is an error."""
    data = parsed(fetched.body)
    if fetched.status < 400:
        return data
    said = None if isinstance(data, Failure) else data
    return judge(fetched.status, said, asked_wait(fetched.headers, said, now))


_STATUS = {"rate_limit_exceeded": 429, "server_error": 500, "insufficient_quota": 429}


def scrub_completion(found: Completion, scrub: Scrubber) -> Completion:
    """An answer without the key in any of its texts."""
    calls = tuple(
        replace(
            call, raw=scrub.text(call.raw), arguments=scrub.deep(call.arguments), call_id=scrub.text(call.call_id, 200)
        )
        for call in found.calls
    )
    return replace(
        found, text=scrub.text(found.text), calls=calls, usage=replace(found.usage, raw=scrub.small(found.usage.raw)),
        native=scrub.deep(found.native), stop_reason=scrub.optional(found.stop_reason),
        model=scrub.optional(found.model), request_id=scrub.optional(found.request_id),
    )  # fmt: skip


COSTLY_RETRIES = 2
"""How often a request is retried that the server may have processed and charged."""

_HEADERS = {
    "accept": "application/json", "accept-encoding": "identity", "content-type": "application/json",
    "user-agent": "skill-health",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timing:
    """The source of time: a test passes its own, so that back-off takes no time."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of one call: a completion, or a failure whose message names the server and contains no key.

    `requests` counts everything sent; `duration_ms` is the time of the request that was answered.
    """

    completion: Completion | None
    failure: Failure | None
    requests: int
    duration_ms: float | None = None


@dataclass(slots=True)
class _Call:
    """One call in flight."""

    protocol: ProviderProtocol
    url: str
    headers: Mapping[str, str]
    content: bytes
    pace: Pace
    window: CallWindow
    costs: Mapping[str, int]
    requests: int = 0
    duration_ms: float | None = None


class Client:
    """Asks one server, with one key. It is shared, so that the server's limits apply to all callers together."""

    def __init__(self, endpoint: Endpoint, timing: Timing | None = None) -> None:
        self.endpoint = endpoint
        self._scrub = Scrubber(endpoint.key)
        self._timing = timing or Timing()
        self._transport = ConnectionPerCall(endpoint.base_url)
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._paces: dict[str, tuple[Pace, CallWindow]] = {}
        self._next = 0.0
        self._over: Failure | None = None

    async def complete(self, protocol: ProviderProtocol, conversation: Conversation, label: str) -> CallOutcome:
        """Ask once, with retries. Never raises for what a server does; cancellation propagates.

        `label` gives this call its own, repeatable jitter. After a failure that would hit every further call (quota,
        auth), later calls fail with it at once and send nothing.
        """
        call = self._call(protocol, conversation)
        costly = 0
        while True:
            found = await self._once(call)
            if isinstance(found, Completion):
                return CallOutcome(found, None, call.requests, call.duration_ms)
            failure = replace(found, message=self._scrub.line(f"{self.endpoint.host} {found.message}"))
            if failure.kind in ("quota", "auth"):
                self._over = self._over or failure
                return _failed(call, self._over)
            costly += failure.kind == "costly"
            again = failure.kind in ("retry", "costly") and call.requests <= len(STEPS) and costly <= COSTLY_RETRIES
            if not again or (failure.wait or 0) > MAX_WAIT:
                return _failed(call, _given_up(failure, call.requests, again))
            if failure.kind == "costly" and not await may_send_again():
                return _failed(call, replace(failure, message=f"{failure.message} (a cap forbids a retry)"))
            await self._wait(call, failure, label)

    async def _wait(self, call: _Call, failure: Failure, label: str) -> None:
        """Wait before the next try; if the server is overloaded, this model's other calls back off, too."""
        if failure.wait:
            call.pace.block(failure.wait)
            await self._timing.sleep(stretched(failure.wait, label, call.requests))
            return
        if failure.crowded:
            call.pace.block(backoff(label, min(max(1, call.window.refusals), len(STEPS)) - 1))
        await self._timing.sleep(backoff(label, call.requests - 1))

    def _call(self, protocol: ProviderProtocol, conversation: Conversation) -> _Call:
        outgoing = protocol.build_request(conversation, self.endpoint.base_url)
        content = json.dumps(outgoing.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        headers = {
            **_HEADERS,
            **outgoing.headers,
            **dict([self.endpoint.key_header] if self.endpoint.key_header else []),
        }
        # Bytes / 4 is also the estimate of tokens that forecasts start from.
        costs = costs_of(len(content) // 4 + 1, conversation.max_output_tokens)
        known = self._paces.get(conversation.model)
        if known is None:
            known = Pace(self._timing.clock, self._timing.now), CallWindow(self.endpoint.concurrency)
            self._paces[conversation.model] = known
        return _Call(protocol, self.endpoint.base_url + outgoing.path, headers, content, *known, costs)

    async def _once(self, call: _Call) -> Completion | Failure:
        """Wait for the limits and for a slot, and send one request."""
        async with call.window:
            while self._over is None:
                # Waiting takes no slot: another model of this server may not have to wait.
                while (delay := self._delay(call)) > 0:
                    await self._timing.sleep(delay)
                async with self._slots:
                    if self._over is None and self._delay(call) <= 0:
                        return await self._send(call)
        return self._over

    def _delay(self, call: _Call) -> float:
        return max(call.pace.delay(call.costs), self._next - self._timing.clock())

    async def _send(self, call: _Call) -> Completion | Failure:
        if self.endpoint.requests_per_minute:
            self._next = self._timing.clock() + 60 / self.endpoint.requests_per_minute
        request = httpx.Request("POST", call.url, headers=call.headers, content=call.content)
        ticket, turn = call.pace.sent(call.costs), call.window.sent()
        call.requests += 1
        headers: Mapping[str, str] | None = None
        start = time.perf_counter()
        try:
            fetched = await fetch(self._transport, request, self.endpoint)
            headers = fetched.headers if isinstance(fetched, Fetched) else None
        finally:
            call.pace.answered(ticket, call.protocol, headers)
        if isinstance(fetched, Failure):
            return fetched
        call.duration_ms = round((time.perf_counter() - start) * 1000, 3)
        found = read(call.protocol, fetched, self._scrub, self._timing.now())
        if isinstance(found, Completion):
            call.window.served()
        elif found.crowded:
            call.window.refused(turn)
        return found


def _failed(call: _Call, failure: Failure) -> CallOutcome:
    """The outcome of a call that ends with this failure."""
    if failure.free:
        not_charged()
    return CallOutcome(None, failure, call.requests, call.duration_ms)


def _given_up(failure: Failure, requests: int, again: bool) -> Failure:
    """The failure that a call ends with, with the number of tries."""
    if again and failure.wait:
        return replace(failure, message=f"{failure.message} (it asks to wait {failure.wait:,.0f} s, which is too long)")
    return replace(failure, message=f"{failure.message} (after {requests} requests)") if requests > 1 else failure


ClientKey = tuple[Endpoint, Timing]


# For each running loop: the clients in use, and how often each is borrowed. Semaphores belong to their loop.
_OPEN: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[ClientKey, tuple[Client, int]]] = WeakKeyDictionary()


def borrow_client(endpoint: Endpoint, timing: Timing | None = None) -> Client:
    """The client of this endpoint in the running loop. Each `borrow_client` needs one `give_client_back`."""
    clients = _OPEN.setdefault(asyncio.get_running_loop(), {})
    key = (endpoint, timing or Timing())
    client, users = clients.get(key) or (Client(*key), 0)
    clients[key] = (client, users + 1)
    return client


def give_client_back(endpoint: Endpoint, timing: Timing | None = None) -> None:
    """Release a client; the last release forgets it, with what it knew of the server's limits."""
    clients = _OPEN[asyncio.get_running_loop()]
    key = (endpoint, timing or Timing())
    client, users = clients.pop(key)
    if users > 1:
        clients[key] = (client, users - 1)
