"""The gateway of one trial: listens for its agent, and lets calls of its model through.

async with open_gateway(upstream, limits, socket) as gateway:
    ... the agent runs, with http://127.0.0.1:{gateway.port} as its base URL and limits.key as its key ...
gateway.seen
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qs

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import decoded
from skill_health.bench.http.json_values import mapping
from skill_health.bench.providers._api import AmbiguousRequest, CallRequest, ProviderProtocol, RequestFields, RouteKind
from skill_health.bench.providers._load import load_provider, load_providers
from skill_health.bench.providers._policy import RequestPolicy
from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace, Upstream
from skill_health.effectiveness.gateway._sockets import listening
from skill_health.effectiveness.gateway.connection import JSON, REQUEST, BodyMemory, Connection, Exchange, Rejected
from skill_health.effectiveness.gateway.forward import Forwarder
from skill_health.effectiveness.gateway.ledger import Ledger
from skill_health.text.patterns import lazy

_CONNECTIONS = 64
_LONGEST = 4000
# A value of JSON takes up to a hundred bytes of memory, however short it is.
_VALUES = 2_000_000
# Bodies are read one after the other, and so long is nothing else of this agent read: those of other trials wait, too.
_REST = 3.0
_ASIDES = 1000
"""Counts of tokens and lists of models that are passed on: the key is the user's, whatever an agent thinks of."""
_HEADERS = ("idempotency-key", "user-agent")
_FORMS = frozenset(("application/json", "text/event-stream", "*/*"))
# The vendors' libraries are told that another try is of no use.
_FINAL = (b"x-should-retry", b"false")
_LOCAL = lazy(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_VALUE = lazy(r"[A-Za-z0-9_.:~-]*")


@contextlib.asynccontextmanager
async def open_gateway(upstream: Upstream, limits: GatewayLimits, socket: str = "") -> AsyncIterator[Gateway]:
    """Listen on a Unix socket, or on a free port of 127.0.0.1 where `socket` is "", until the context ends.

    The end of it closes every connection, whatever is under way. Raises AbortedError where nothing can listen there.
    """
    gateway = Gateway(upstream, limits)
    try:
        async with listening(gateway.accept, socket, "the gateway to the model") as gateway.port:
            yield gateway
    finally:
        await gateway.aclose()
    gateway.raise_bug()


class Gateway:
    """A gateway while it is open. `port` is where it listens on 127.0.0.1, 0 with a socket."""

    def __init__(self, upstream: Upstream, limits: GatewayLimits) -> None:
        self.port = 0
        self._handler = GatewayHandler(upstream, limits)
        self._memory = BodyMemory()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bugs: list[Exception] = []
        self._closed = False

    @property
    def seen(self) -> GatewayTrace:
        """What has passed so far."""
        return self._handler.ledger.seen

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection; one too many is closed at once."""
        if self._closed:
            writer.transport.abort()
            return
        if len(self._tasks) >= _CONNECTIONS:
            self._handler.ledger.note_refusal(f"more than {_CONNECTIONS} connections at a time")
            writer.transport.abort()
            return
        connection = Connection(reader, writer, self._memory)
        task = asyncio.ensure_future(connection.serve(self._handler.handle, self._handler.reject))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def aclose(self) -> None:
        """End everything that is under way, and wait until it has ended."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def raise_bug(self) -> None:
        """Raise what went wrong in the gateway itself: no agent and no server may be blamed for it."""
        if self._bugs:
            raise self._bugs[0]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(bug := task.exception(), Exception):
            self._bugs.append(bug)


@dataclass(frozen=True, slots=True)
class GatewayRoute:
    """Where a request goes that may pass: `path` is below the server's base URL, with the query that may go along."""

    kind: RouteKind
    path: str


def find_route(provider: ProviderProtocol, base_url: str, method: str, target: str) -> GatewayRoute | None:
    """Where a request goes, None where it is none that may pass. HEAD is allowed where GET is.

    `target` is that of the request's first line. Only a path that a pattern covers wholly passes, so no encoding, no
    other host and no parent folder gets through, and of the parameters only those that are known to be harmless. Agents
    put the version into their base URL or leave it to their library: both are the same path here.
    """
    path, _, query = target.partition("?")
    if len(target) > _LONGEST or {".", ".."} & set(path.split("/")):
        return None
    for route in provider.routes:
        found = re.fullmatch(rf"(?P<version>{provider.versions})?(?P<path>{route.path})", path, re.ASCII)
        if found and method in ((route.method, "HEAD") if route.method == "GET" else (route.method,)):
            whole = provider.place_path(base_url, found["path"], found["version"] or "")
            kept = "&".join(part for part in query.split("&") if _is_harmless(part, provider.parameters))
            return GatewayRoute(route.kind, f"{whole}?{kept}" if kept else whole)
    return None


def _is_harmless(parameter: str, allowed: tuple[str, ...]) -> bool:
    name, _, value = parameter.partition("=")
    return parameter in allowed or ("=" in parameter and name in allowed and _VALUE.fullmatch(value) is not None)


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request whose body was read, in few words, so that the body's many values need not be kept.

    `why_not` is why it may not pass, "" where it may. `blind` says that its answer would not tell its tokens; `told` is
    then the whole body with the wish to be told, where that cannot be added at its end. `turn` where it has tools.
    """

    call: CallRequest
    why_not: str = ""
    blind: bool = False
    told: bytes = b""
    turn: bool = False


def check_request(
    provider: ProviderProtocol, policy: RequestPolicy, path: str, data: Mapping[str, Any]
) -> CheckedRequest:
    """What a request to this path asks for, and whether it may. Raises AmbiguousRequest."""
    fields = RequestFields(data)
    checked = CheckedRequest(
        provider.read_call(path, fields), policy.find_refusal(fields), turn=bool(data.get("tools"))
    )
    if (option := provider.usage_option) is None or not data.get("stream"):
        return checked
    name, switch = option
    given = mapping(data.get(name))
    if given.get(switch) is True:
        return checked
    told = b""
    if name in data:
        told = json.dumps({**data, name: {**given, switch: True}}, separators=(",", ":")).encode("ascii")
    return replace(checked, blind=True, told=told)


class GatewayHandler:
    """What becomes of each request of an agent: refused, answered here, or passed on to the model's server."""

    def __init__(self, upstream: Upstream, limits: GatewayLimits) -> None:
        if not limits.key:
            raise ValueError("a gateway needs a stand-in key: without one, whoever finds it could use it")
        self._endpoint, self._limits = upstream.endpoint, limits
        self._provider = load_provider(upstream.protocol)
        self._policy = RequestPolicy(self._provider, load_providers())
        self.ledger = Ledger(self._provider, limits, upstream.endpoint)
        self._forwarder = Forwarder(upstream.endpoint, self._provider, self.ledger, limits.asked)
        self._plain = False
        self._reading, self._rested, self._asides = asyncio.Lock(), 0.0, 0

    def reject(self, status: int, message: str) -> bytes:
        """Note a refusal; the error for it in the provider's words."""
        self.ledger.note_refusal(message)
        return self._error(status, message)

    def _error(self, status: int, message: str) -> bytes:
        return json.dumps(self._provider.write_error(status, message)).encode()

    async def _refuse(self, exchange: Exchange, status: int, message: str) -> None:
        await exchange.answer(status, self.reject(status, message), [JSON, _FINAL])

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request of the agent."""
        method, target, headers = exchange.method, exchange.target, exchange.headers
        if not _is_ours(headers.get("host", "127.0.0.1"), target) or method == "CONNECT":
            return await self._refuse(exchange, 400, "only paths of this server can be asked for here")
        if target.partition("?")[0] == "/" and method in ("GET", "HEAD"):
            # Agents look whether anybody is there.
            return await exchange.answer(200, b"{}", [JSON])
        route = find_route(self._provider, self._endpoint.base_url, method, target)
        if route is None:
            what = f"{method} {target.partition('?')[0]}"[:200]
            return await self._refuse(exchange, 404, f"{what} is no call of a model that this trial may make")
        parameters = parse_qs(target.partition("?")[2][:_LONGEST])
        keys = self._provider.find_keys(headers, parameters)
        if not any(compare_digest(key.encode(), self._limits.key.encode()) for key in keys):
            return await self._refuse(exchange, 401, "the key is not that of this trial")
        try:
            if route.kind == "call":
                await self._call(exchange, route)
            elif self._limits.closed:
                await exchange.answer(200, self._stand_in(exchange, route), [JSON])
            else:
                await self._aside(exchange, route)
        except Rejected as reason:
            await self._refuse(exchange, reason.status, str(reason))
        return None

    def _stand_in(self, exchange: Exchange, route: GatewayRoute) -> bytes:
        """The answer to an aside while no server is asked. A quarter of the bytes is taken for the tokens."""
        if route.kind == "count":
            return json.dumps(self._provider.write_count(len(exchange.body) // 4 + 1)).encode()
        name = route.path.partition("?")[0].partition("/models/")[2]
        return json.dumps(self._provider.write_models(name)).encode()

    async def _aside(self, exchange: Exchange, route: GatewayRoute) -> None:
        """A count of tokens, or a list of models. Raises Rejected."""
        self._asides += 1
        if self._asides > _ASIDES:
            raise Rejected(429, f"the trial has counted tokens and listed models {_ASIDES:,} times, which must do")
        if route.kind == "count":
            self._refuse_barred(await self._check(exchange, route))
        await self._forwarder.send(exchange, route.path, exchange.body, self._headers(exchange), None)

    async def _call(self, exchange: Exchange, route: GatewayRoute) -> None:
        """A call of a model. Raises Rejected."""
        checked = await self._check(exchange, route)
        if not self._limits.closed:
            self._refuse_barred(checked)
        call = await self.ledger.begin_call(len(exchange.body), checked.call.most_tokens, checked.turn)
        if isinstance(call, str):
            return await exchange.answer(400, self._error(400, call), [JSON, _FINAL])
        headers = self._headers(exchange)
        try:
            # What is asked for here, the agent does not see. A server that does not know the option refuses it before
            # it does any work.
            told = checked.blind and not self._plain
            if told and await self._forwarder.send(
                exchange, route.path, self._with_usage(exchange.body, checked), headers, call, added=True
            ):
                return None
            await self._forwarder.send(exchange, route.path, exchange.body, headers, call)
            # Only what then succeeds shows that the option was to blame: an error may hold any word of the agent's.
            self._plain = self._plain or (told and call.meter is not None)
        finally:
            self.ledger.end_call(call)
        return None

    def _refuse_barred(self, checked: CheckedRequest) -> None:
        """Raise Rejected for what no trial may have."""
        if checked.why_not:
            self.ledger.note_barred(checked.why_not)
            raise Rejected(400, checked.why_not)

    async def _check(self, exchange: Exchange, route: GatewayRoute) -> CheckedRequest:
        """What a request asks for, with its body unpacked. Raises Rejected."""
        async with self._reading:
            await asyncio.sleep(max(0.0, self._rested - time.monotonic()))
            begun = time.monotonic()
            try:
                return self._read(exchange, route)
            except AmbiguousRequest as reason:
                raise Rejected(400, str(reason)) from None
            finally:
                ended = time.monotonic()
                self._rested = ended + _REST * (ended - begun)

    def _read(self, exchange: Exchange, route: GatewayRoute) -> CheckedRequest:
        """All that is made of the values in a body, which take many times its room."""
        encoding = exchange.headers.get("content-encoding", "")
        body = decoded(exchange.body, encoding, REQUEST)
        if isinstance(body, Failure):
            raise Rejected(
                400, f"the body is damaged or too large, or its encoding {encoding[:40]!r} is not known here"
            )
        exchange.unpack(body)
        if sum(map(body.count, (b",", b"[", b"{"))) > _VALUES:
            raise Rejected(413, f"the body holds more than {_VALUES:,} values")
        data = parse_body(body)
        if route.kind == "call":
            self.ledger.note_request(body, data)
        checked = check_request(self._provider, self._policy, route.path, data)
        model, only = checked.call.model, self._limits.model
        if route.kind == "call" and only and model not in (only, only.partition("[")[0]):
            said = f"this trial asks the model {only} and no other, so not {model[:80] or 'one without a name'}"
            return replace(checked, why_not=said)
        return checked

    def _with_usage(self, body: bytes, checked: CheckedRequest) -> bytes:
        """A body that asks for its tokens, too."""
        name, switch = self._provider.usage_option or ("", "")
        return checked.told or body.rstrip()[:-1] + b"," + json.dumps({name: {switch: True}}).encode()[1:]

    def _headers(self, exchange: Exchange) -> Mapping[str, str]:
        """The headers that go along: of the agent's own those that every server can read."""
        given = exchange.headers
        names = (*_HEADERS, *self._provider.request_headers)
        kept = {name: given[name] for name in names if name in given and _is_readable(given[name])}
        if _FORMS.issuperset(form.partition(";")[0].strip() for form in given.get("accept", "*/*").split(",")):
            kept["accept"] = given.get("accept", "*/*")
        if exchange.body:
            kept["content-type"] = "application/json"
        return {**kept, "accept-encoding": "identity"}


def parse_body(body: bytes) -> Mapping[str, Any]:
    """The JSON object in a body. Raises Rejected for anything else.

    A name that stands twice in one object is refused: who reads it next may take the other value.
    """
    try:
        text = body.decode("utf-8-sig")
        data = json.loads(text, object_pairs_hook=_once, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise Rejected(400, "the body is no JSON object") from None
    if not isinstance(data, dict):
        raise Rejected(400, "the body is no JSON object")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Rejected(400, "a name stands twice in one object of the body")
    return found


def _is_ours(host: str, target: str) -> bool:
    """Whether a request means us: a path of ours, not a whole URL of somebody else, and no foreign name in Host."""
    return target.startswith("/") and not target.startswith("//") and _LOCAL.fullmatch(host) is not None


def _is_readable(value: str) -> bool:
    return value.isascii() and value.isprintable()
