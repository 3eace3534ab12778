"""What becomes of each request of an agent: refused, answered here, or passed on to the model's server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from effectiveness.gateway._api import Seen, Terms, Upstream
from effectiveness.gateway.exchange import JSON, REQUEST, Exchange, Rejected
from effectiveness.gateway.forward import Forwarder
from effectiveness.gateway.ledger import Ledger
from effectiveness.gateway.replies import FINAL, counted, error, listed
from effectiveness.gateway.routes import Route, addressed, find, shown
from router.http.body import decoded, parsed
from router.http.failures import Failure
from router.http.messages import Wire

# A value of JSON takes up to a hundred bytes of memory, however short it is.
_VALUES = 3_000_000
_ASKED = (
    "accept", "anthropic-beta", "anthropic-version", "content-type", "idempotency-key", "openai-beta", "user-agent",
)  # fmt: skip


class Desk:
    """Answers the requests of one trial's agent, from all of its connections."""

    def __init__(self, upstream: Upstream, terms: Terms) -> None:
        if not terms.key:
            raise ValueError("a gateway needs a stand-in key: without one, whoever finds it could use it")
        wire: Wire = import_module(f"router.routers.{upstream.protocol.replace('-', '_')}").WIRE
        self._endpoint, self._terms, self._protocol = upstream.endpoint, terms, upstream.protocol
        self._ledger = Ledger(terms, upstream.endpoint.host, upstream.endpoint.key)
        self._forwarder = Forwarder(upstream.endpoint, wire, self._ledger)
        self._plain = False

    @property
    def seen(self) -> Seen:
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
        if not shown(self._protocol, headers, target, self._terms.key):
            return await self._refuse(exchange, 401, "the key is not that of this trial")
        try:
            if route.kind == "call":
                await self._call(exchange, route)
            elif self._terms.closed:
                small = counted if route.kind == "count" else None
                body = small(self._protocol, len(exchange.body)) if small else listed(self._protocol, route.path)
                await exchange.whole(200, body, [JSON])
            else:
                await self._forwarder.send(exchange, route.path, exchange.body, self._headers(exchange), None)
        except Rejected as reason:
            await self._refuse(exchange, reason.status, str(reason))
        return None

    async def _call(self, exchange: Exchange, route: Route) -> None:
        body, data = self._read(exchange)
        call = await self._ledger.enter(body, data)
        if isinstance(call, str):
            return await exchange.whole(400, error(self._protocol, 400, call), [JSON, *FINAL])
        headers = self._headers(exchange)
        try:
            if not self._plain and self._protocol == "openai" and data.get("stream") and "stream_options" not in data:
                # Without being asked, this protocol tells no tokens in a stream; what is asked for here, the agent
                # does not see. A server that does not know the option refuses it before it does any work.
                more = body.rstrip()[:-1] + b',"stream_options":{"include_usage":true}}'
                plain = {name: value for name, value in headers.items() if name != "content-encoding"}
                if await self._forwarder.send(exchange, route.path, more, plain, call, added=True):
                    return None
                self._plain = True
            await self._forwarder.send(exchange, route.path, exchange.body, headers, call)
        finally:
            self._ledger.leave(call)
        return None

    def _read(self, exchange: Exchange) -> tuple[bytes, Mapping[str, Any]]:
        """The body without its encoding, and what it says. Raises Rejected for one that asks nothing of a model."""
        encoding = exchange.headers.get("content-encoding", "")
        body = decoded(exchange.body, encoding, REQUEST)
        if isinstance(body, Failure):
            raise Rejected(
                400, f"the body is damaged or too large, or its encoding {encoding[:40]!r} is not known here"
            )
        if sum(map(body.count, (b",", b"[", b"{"))) > _VALUES:
            raise Rejected(413, f"the body holds more than {_VALUES:,} values")
        data = parsed(body)
        if not isinstance(data, dict):
            raise Rejected(400, "the body is no JSON object")
        if data.get("background"):
            raise Rejected(400, "calls in the background cannot be measured")
        return body, data

    def _headers(self, exchange: Exchange) -> Mapping[str, str]:
        """The headers that go along; compressed requests go as they came."""
        kept = {name: exchange.headers[name] for name in (*_ASKED, "content-encoding") if name in exchange.headers}
        return {**kept, "accept-encoding": "identity"}
