"""What becomes of each request of an agent: refused, answered here, or passed on to the model's server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import decoded
from skill_health.bench.http.messages import ProviderProtocol
from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace, Upstream
from skill_health.effectiveness.gateway.asked import CallRequest, asked_of, loaded, with_usage
from skill_health.effectiveness.gateway.exchange import JSON, REQUEST, Exchange, Rejected
from skill_health.effectiveness.gateway.forward import Forwarder
from skill_health.effectiveness.gateway.ledger import Ledger
from skill_health.effectiveness.gateway.replies import FINAL, counted, error, listed
from skill_health.effectiveness.gateway.routes import GatewayRoute, addressed, find, shows_key

# A value of JSON takes up to a hundred bytes of memory, however short it is.
_VALUES = 2_000_000
# Bodies are read one after the other, and so long is nothing else of this agent read: those of other trials wait, too.
_REST = 3.0
_ASIDES = 1000
"""Counts of tokens and lists of models that are passed on: the key is the user's, whatever an agent thinks of."""
_ASKED = ("anthropic-beta", "anthropic-version", "idempotency-key", "openai-beta", "user-agent")
_FORMS = frozenset(("application/json", "text/event-stream", "*/*"))


class GatewayHandler:
    """Answers the requests of one trial's agent, from all of its connections."""

    def __init__(self, upstream: Upstream, terms: GatewayLimits) -> None:
        if not terms.key:
            raise ValueError("a gateway needs a stand-in key: without one, whoever finds it could use it")
        wire: ProviderProtocol = import_module(
            f"skill_health.router.routers.{upstream.protocol.replace('-', '_')}"
        ).WIRE
        self._endpoint, self._terms, self._protocol = upstream.endpoint, terms, upstream.protocol
        self._ledger = Ledger(terms, upstream.endpoint.host, upstream.endpoint.key)
        self._forwarder = Forwarder(upstream.endpoint, wire, self._ledger)
        self._plain = False
        self._reading, self._rested, self._asides = asyncio.Lock(), 0.0, 0

    @property
    def seen(self) -> GatewayTrace:
        """What has passed so far."""
        return self._ledger.seen

    async def aclose(self) -> None:
        """Close the connections to the server."""
        await self._forwarder.aclose()

    def turned_away(self, why: str) -> None:
        """Note that something was refused without an answer."""
        self._ledger.turned_away(why)

    def reject(self, status: int, message: str) -> bytes:
        """Note a refusal; the error for it in the provider's words."""
        self._ledger.turned_away(message)
        return error(self._protocol, status, message)

    async def _refuse(self, exchange: Exchange, status: int, message: str) -> None:
        await exchange.whole(status, self.reject(status, message), [JSON, *FINAL])

    async def answer(self, exchange: Exchange) -> None:
        """Answer one request of the agent."""
        method, target, headers = exchange.method, exchange.target, exchange.headers
        if not addressed(headers.get("host", "127.0.0.1"), target) or method == "CONNECT":
            return await self._refuse(exchange, 400, "only paths of this server can be asked for here")
        if target.partition("?")[0] == "/" and method in ("GET", "HEAD"):
            # Agents look whether anybody is there.
            return await exchange.whole(200, b"{}", [JSON])
        route = find(self._protocol, self._endpoint.base_url, method, target)
        if route is None:
            what = f"{method} {target.partition('?')[0]}"[:200]
            return await self._refuse(exchange, 404, f"{what} is no call of a model that this trial may make")
        if not shows_key(self._protocol, headers, target, self._terms.key):
            return await self._refuse(exchange, 401, "the key is not that of this trial")
        try:
            if route.kind == "call":
                await self._call(exchange, route)
            elif self._terms.closed:
                small = counted if route.kind == "count" else None
                body = small(self._protocol, len(exchange.body)) if small else listed(self._protocol, route.path)
                await exchange.whole(200, body, [JSON])
            else:
                await self._aside(exchange, route)
        except Rejected as reason:
            await self._refuse(exchange, reason.status, str(reason))
        return None

    async def _aside(self, exchange: Exchange, route: GatewayRoute) -> None:
        """A count of tokens, or a list of models. Raises Rejected."""
        self._asides += 1
        if self._asides > _ASIDES:
            raise Rejected(429, f"the trial has counted tokens and listed models {_ASIDES:,} times, which must do")
        if route.kind == "count":
            asked = await self._asked(exchange, route)
            self._check(asked)
        await self._forwarder.send(exchange, route.path, exchange.body, self._headers(exchange), None)

    async def _call(self, exchange: Exchange, route: GatewayRoute) -> None:
        """A call of a model. Raises Rejected."""
        asked = await self._asked(exchange, route)
        if not self._terms.closed:
            self._check(asked)
        call = await self._ledger.enter(len(exchange.body), asked.most)
        if isinstance(call, str):
            return await exchange.whole(400, error(self._protocol, 400, call), [JSON, *FINAL])
        headers = self._headers(exchange)
        try:
            # What is asked for here, the agent does not see. A server that does not know the option refuses it before
            # it does any work.
            told = asked.blind and not self._plain
            if told and await self._forwarder.send(
                exchange, route.path, with_usage(exchange.body, asked), headers, call, added=True
            ):
                return None
            await self._forwarder.send(exchange, route.path, exchange.body, headers, call)
            # Only what then succeeds shows that the option was to blame: an error may hold any word of the agent's.
            self._plain = self._plain or (told and call.meter is not None)
        finally:
            self._ledger.leave(call)
        return None

    def _check(self, asked: CallRequest) -> None:
        """Raise Rejected for what no trial may have."""
        if asked.why_not:
            self._ledger.bar(asked.why_not)
            raise Rejected(400, asked.why_not)

    async def _asked(self, exchange: Exchange, route: GatewayRoute) -> CallRequest:
        """What a request asks for, with its body unpacked. Raises Rejected."""
        async with self._reading:
            await asyncio.sleep(max(0.0, self._rested - time.monotonic()))
            begun = time.monotonic()
            try:
                return self._read(exchange, route)
            finally:
                ended = time.monotonic()
                self._rested = ended + _REST * (ended - begun)

    def _read(self, exchange: Exchange, route: GatewayRoute) -> CallRequest:
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
        data = loaded(body)
        if route.kind == "call":
            self._ledger.look(body, data)
        asked = asked_of(self._protocol, route.path, data)
        only = self._terms.model
        if route.kind == "call" and only and asked.model not in (only, only.partition("[")[0]):
            said = f"this trial asks the model {only} and no other, so not {asked.model[:80] or 'one without a name'}"
            return replace(asked, why_not=said)
        return asked

    def _headers(self, exchange: Exchange) -> Mapping[str, str]:
        """The headers that go along: of the agent's own those that every server can read."""
        given = exchange.headers
        kept = {name: given[name] for name in _ASKED if name in given and _plain(given[name])}
        if _FORMS.issuperset(form.partition(";")[0].strip() for form in given.get("accept", "*/*").split(",")):
            kept["accept"] = given.get("accept", "*/*")
        if exchange.body:
            kept["content-type"] = "application/json"
        return {**kept, "accept-encoding": "identity"}


def _plain(value: str) -> bool:
    return value.isascii() and value.isprintable()
