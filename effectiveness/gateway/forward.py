"""A request on its way to the real server, with the real key, and the answer on its way back."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from typing import cast

import httpx

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure, error_of, judge
from skill_health.bench.http.fetch import Transports, _broken, _redirected, _tls, decoded, parsed
from skill_health.bench.http.messages import ProviderProtocol
from skill_health.effectiveness.gateway.exchange import JSON, BrokenAnswer, Exchange
from skill_health.effectiveness.gateway.ledger import GatewayCall, Ledger
from skill_health.effectiveness.gateway.meter import AnswerMeter
from skill_health.effectiveness.gateway.passing import KeyFilter, Passing, Unreadable
from skill_health.effectiveness.gateway.replies import error

_ERROR = 1 << 20
_CONNECT = 15.0
# What agents need to know of an answer; cookies, names of servers and the like are not for them.
_KEPT = frozenset(
    (b"content-type", b"retry-after", b"retry-after-ms", b"x-should-retry", b"request-id", b"x-request-id",
     b"x-goog-request-id")
)  # fmt: skip
_KEPT_TOO = (b"anthropic-ratelimit-", b"x-ratelimit-")
_tls_once = lru_cache(maxsize=8)(_tls)


class _Connections(Transports):
    """Those of one gateway. To read the certificates of the world takes longer than the rest of it: once will do."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._tls: ssl.SSLContext = _tls_once(endpoint)
        self._free = []


class Forwarder:
    """Asks the one server of a gateway."""

    def __init__(self, endpoint: Endpoint, wire: ProviderProtocol, ledger: Ledger) -> None:
        self._endpoint, self._wire, self._ledger = endpoint, wire, ledger
        self._connections = _Connections(endpoint)

    async def aclose(self) -> None:
        """Close the connections to the server."""
        await self._connections.aclose()

    async def send(
        self,
        exchange: Exchange,
        path: str,
        content: bytes,
        headers: Mapping[str, str],
        call: GatewayCall | None,
        added: bool = False,
    ) -> bool:
        """Pass a request on and its answer back. False where the server did not take what was `added` to the request.

        Nothing of the answer has gone to the agent then. `call` is None for a request that asks no model. Raises Gone
        where the agent leaves, and Broken where the server breaks off.
        """
        key = dict([self._endpoint.key_header] if self._endpoint.key_header else [])
        request = httpx.Request(
            exchange.method, self._endpoint.base_url + path, headers={**headers, **key}, content=content
        )
        # Ahead of our own timer: a handshake that is given up by httpx is cleaned up, one that is cancelled is not.
        request.extensions["timeout"] = {"connect": min(_CONNECT, 0.75 * self._endpoint.timeout)}
        transport, sound = self._connections.take(), False
        try:
            try:
                if call is not None:
                    call.free = False
                async with asyncio.timeout(self._endpoint.timeout):
                    response = await transport.handle_async_request(request)
            except (httpx.HTTPError, OSError) as reason:
                late = isinstance(reason, TimeoutError)
                await self._unreached(exchange, self._lost(reason), call, 504 if late else 502)
                return True
            self._ledger.reached()
            try:
                taken = await self._answer(exchange, response, call, added)
            finally:
                with contextlib.suppress(httpx.HTTPError, OSError):
                    await _stream(response).aclose()
            sound = True
            return taken
        finally:
            await self._connections.put(transport, sound)

    def _lost(self, reason: httpx.HTTPError | OSError) -> Failure:
        if isinstance(reason, TimeoutError):
            return Failure("costly", f"did not answer within {self._endpoint.timeout:g} s")
        return _broken(reason, False)

    async def _unreached(
        self, exchange: Exchange, failure: Failure, call: GatewayCall | None, status: int = 502
    ) -> None:
        if call is not None:
            call.free = failure.free
            self._ledger.failed(failure)
        body = error(self._wire.protocol, status, f"the model's server {failure.message}")
        await exchange.whole(status, KeyFilter(self._endpoint.key).whole(body), [JSON])

    async def _answer(
        self, exchange: Exchange, response: httpx.Response, call: GatewayCall | None, added: bool
    ) -> bool:
        status = response.status_code
        if not 200 <= status < 300:
            return await self._passed_error(exchange, response, call, added)
        kind = response.headers.get("content-type", "")
        streamed = kind.partition(";")[0].strip().lower() == "text/event-stream"
        meter = AnswerMeter(self._wire, streamed, hide=added)
        try:
            passing = Passing(meter, self._endpoint.key, response.headers.get("content-encoding", ""))
        except Unreadable as reason:
            await self._unreached(exchange, Failure("costly", str(reason)), call)
            return True
        if call is not None:
            call.meter = meter
        try:
            await exchange.begin(status, self._headers(response))
            pieces = aiter(_stream(response))
            while (data := await self._next(pieces)) is not None:
                for piece in passing.feed(data):
                    await exchange.piece(piece)
            if rest := passing.finish():
                await exchange.piece(rest)
        except (Unreadable, httpx.HTTPError, OSError) as reason:
            meter.finish()
            if call is not None:
                self._ledger.failed(self._cut(reason))
            raise BrokenAnswer from None
        if call is not None:
            call.whole = True
            if meter.error:
                code = error_of(meter.error).get("code")
                self._ledger.failed(judge(code if isinstance(code, int) and 400 <= code < 600 else 400, meter.error))
        await exchange.end()
        return True

    def _cut(self, reason: Unreadable | httpx.HTTPError | OSError) -> Failure:
        if isinstance(reason, Unreadable):
            return Failure("costly", str(reason))
        if isinstance(reason, TimeoutError):
            idle = self._endpoint.idle_timeout
            return Failure("costly", f"sent nothing for {idle:g} s in the middle of its answer")
        return _broken(reason, True)

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        """The next piece of an answer, None at its end. Raises TimeoutError where nothing comes for too long."""
        async with asyncio.timeout(self._endpoint.idle_timeout):
            return await anext(pieces, None)

    async def _passed_error(
        self, exchange: Exchange, response: httpx.Response, call: GatewayCall | None, added: bool
    ) -> bool:
        raw, pieces = bytearray(), aiter(_stream(response))
        with contextlib.suppress(httpx.HTTPError, OSError):
            while len(raw) <= _ERROR and (data := await self._next(pieces)) is not None:
                raw += data
        status = response.status_code
        body = decoded(bytes(raw), response.headers.get("content-encoding", ""), _ERROR)
        body = b"" if isinstance(body, Failure) else body
        if added and status in (400, 422) and b"stream_options" in body:
            return False
        if status < 400:
            # Nothing was done, and the server that is meant was not reached.
            failure = Failure("retry", _redirected(status, response.headers.get("location", "")))
            await self._unreached(exchange, failure, call)
            return True
        if call is not None:
            call.free = True
            said = parsed(body)
            self._ledger.failed(judge(status, None if isinstance(said, Failure) else said))
        await exchange.whole(status, KeyFilter(self._endpoint.key).whole(body), self._headers(response))
        return True

    def _headers(self, response: httpx.Response) -> list[tuple[bytes, bytes]]:
        clean = KeyFilter(self._endpoint.key)
        pairs = ((name.lower(), value) for name, value in response.headers.raw)
        return [
            (name, clean.whole(value)[:1000].strip())
            for name, value in pairs
            if name in _KEPT or name.startswith(_KEPT_TOO)
        ]


def _stream(response: httpx.Response) -> httpx.AsyncByteStream:
    return cast("httpx.AsyncByteStream", response.stream)
