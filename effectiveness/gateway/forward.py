"""A request on its way to the real server, with the real key, and the answer on its way back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import cast

import httpx

from skill_health.bench.http.connection import ConnectionPerCall
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure, error_of, judge
from skill_health.bench.http.fetch import decoded, describe_redirect, judge_connection
from skill_health.bench.http.json_values import mapping, parsed
from skill_health.bench.http.messages import Completion, Conversation, Turn
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.redact import KeyFilter
from skill_health.effectiveness.gateway.connection import JSON, BrokenAnswer, Exchange
from skill_health.effectiveness.gateway.ledger import AnswerMeter, GatewayCall, Ledger

ANSWER = 64 << 20
"""So many bytes of one answer pass."""
_STEP, _ERROR = 1 << 20, 1 << 20
_CONNECT = 15.0
# What every further call would meet, too; and how often a trial may have that confirmed, with how long an answer.
_ENDING = ("quota", "auth")
_OWN_CALLS, _OWN_TOKENS = 5, 16
# What agents need to know of an answer; cookies, names of servers and the like are not for them.
_KEPT = (b"content-type", b"retry-after", b"retry-after-ms", b"x-should-retry")


class Forwarder:
    """Asks the one server of a gateway. `asked` is the model of its own calls, "" where it makes none."""

    def __init__(self, endpoint: Endpoint, provider: ProviderProtocol, ledger: Ledger, asked: str = "") -> None:
        self._endpoint, self._provider, self._ledger = endpoint, provider, ledger
        self._asked, self._own_calls, self._asking = asked, _OWN_CALLS, asyncio.Lock()
        self._transport = ConnectionPerCall(endpoint.base_url)
        self._option = (provider.usage_option or ("",))[0].encode()

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

        Nothing of the answer has gone to the agent then. `call` is None for a request that asks no model. Raises
        AgentGone where the agent leaves, and BrokenAnswer where the server breaks off.
        """
        key = dict([self._endpoint.key_header] if self._endpoint.key_header else [])
        request = httpx.Request(
            exchange.method, self._endpoint.base_url + path, headers={**headers, **key}, content=content
        )
        request.extensions["timeout"] = {"connect": min(_CONNECT, 0.75 * self._endpoint.timeout)}
        try:
            if call is not None:
                call.free = False
            async with asyncio.timeout(self._endpoint.timeout):
                response = await self._transport.handle_async_request(request)
        except (httpx.HTTPError, OSError) as reason:
            late = isinstance(reason, TimeoutError)
            await self._unreached(exchange, self._lost(reason), call, 504 if late else 502)
            return True
        self._ledger.note_contact()
        try:
            return await self._answer(exchange, response, call, added)
        finally:
            with contextlib.suppress(httpx.HTTPError, OSError):
                await _stream(response).aclose()

    def _lost(self, reason: httpx.HTTPError | OSError) -> Failure:
        if isinstance(reason, TimeoutError):
            return Failure("costly", f"did not answer within {self._endpoint.timeout:g} s")
        return judge_connection(reason, False)

    async def _unreached(
        self, exchange: Exchange, failure: Failure, call: GatewayCall | None, status: int = 502
    ) -> None:
        if call is not None:
            call.free = failure.free
            self._ledger.note_failure(failure)
        body = json.dumps(self._provider.write_error(status, f"the model's server {failure.message}")).encode()
        await exchange.answer(status, KeyFilter(self._endpoint.key).whole(body), [JSON])

    async def _answer(
        self, exchange: Exchange, response: httpx.Response, call: GatewayCall | None, added: bool
    ) -> bool:
        status = response.status_code
        if not 200 <= status < 300:
            return await self._passed_error(exchange, response, call, added)
        kind = response.headers.get("content-type", "")
        streamed = kind.partition(";")[0].strip().lower() == "text/event-stream"
        meter = AnswerMeter(self._provider, streamed, hide=added)
        try:
            passing = AnswerFilter(meter, self._endpoint.key, response.headers.get("content-encoding", ""))
        except UnreadableAnswer as reason:
            await self._unreached(exchange, Failure("costly", str(reason)), call)
            return True
        if call is not None:
            call.meter = meter
        try:
            await exchange.begin_answer(status, self._headers(response))
            pieces = aiter(_stream(response))
            while (data := await self._next(pieces)) is not None:
                for piece in passing.feed(data):
                    await exchange.send_piece(piece)
            if rest := passing.finish():
                await exchange.send_piece(rest)
        except (UnreadableAnswer, httpx.HTTPError, OSError) as reason:
            meter.finish()
            if call is not None:
                self._ledger.note_failure(self._cut(reason))
            raise BrokenAnswer from None
        if call is not None:
            call.whole = True
            if meter.error:
                code = error_of(meter.error).get("code")
                status = code if isinstance(code, int) and 400 <= code < 600 else 400
                await self._settle(judge(status, meter.error))
        await exchange.end_answer()
        return True

    def _cut(self, reason: UnreadableAnswer | httpx.HTTPError | OSError) -> Failure:
        if isinstance(reason, UnreadableAnswer):
            return Failure("costly", str(reason))
        if isinstance(reason, TimeoutError):
            idle = self._endpoint.idle_timeout
            return Failure("costly", f"sent nothing for {idle:g} s in the middle of its answer")
        return judge_connection(reason, True)

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
        if added and status in (400, 422) and self._option in body:
            return False
        if status < 400:
            # Nothing was done, and the server that is meant was not reached.
            failure = Failure("retry", describe_redirect(status, response.headers.get("location", "")))
            await self._unreached(exchange, failure, call)
            return True
        if call is not None:
            call.free = True
            said = parsed(body)
            await self._settle(judge(status, None if isinstance(said, Failure) else said))
        await exchange.answer(status, KeyFilter(self._endpoint.key).whole(body), self._headers(response))
        return True

    async def _settle(self, failure: Failure) -> None:
        """Note an error of the server; one of key or credit is believed where a call of our own meets one, too.

        An agent can bring about such an error by what it asks, which says nothing about the key.
        """
        if failure.kind not in _ENDING or not self._asked:
            self._ledger.note_failure(failure)
            return
        async with self._asking:
            if self._ledger.seen.failure in _ENDING:
                self._ledger.note_failure(failure)
            elif (own := await self._own_failure()) is not None:
                self._ledger.note_failure(own)
            else:
                self._ledger.note_refuted(failure)

    async def _own_failure(self) -> Failure | None:
        """The error of key or credit that a short call of our own meets; None where it meets none, or none is left."""
        if self._own_calls <= 0:
            return None
        self._own_calls -= 1
        asked = Conversation(self._asked, (Turn("user", "Say: ok"),), max_output_tokens=_OWN_TOKENS)
        outgoing = self._provider.build_request(asked, self._endpoint.base_url)
        key = dict([self._endpoint.key_header] if self._endpoint.key_header else [])
        request = httpx.Request(
            "POST", self._endpoint.base_url + outgoing.path, headers={**outgoing.headers, **key}, json=dict(outgoing.body)
        )  # fmt: skip
        request.extensions["timeout"] = {"connect": min(_CONNECT, 0.75 * self._endpoint.timeout)}
        raw = bytearray()
        try:
            async with asyncio.timeout(self._endpoint.timeout):
                response = await self._transport.handle_async_request(request)
                try:
                    async for data in _stream(response):
                        raw += data
                        if len(raw) > _ERROR:
                            break
                finally:
                    await _stream(response).aclose()
        except (httpx.HTTPError, OSError):
            return None
        whole = decoded(bytes(raw), response.headers.get("content-encoding", ""), _ERROR)
        said = whole if isinstance(whole, Failure) else parsed(whole)
        own = None if isinstance(said, Failure) else said
        if response.status_code >= 400:
            failure: Failure | Completion = judge(response.status_code, own)
        else:
            failure = self._provider.read_completion(mapping(own))
        if isinstance(failure, Completion):
            self._ledger.note_own_call(failure.usage)
            return None
        return failure if failure.kind in _ENDING else None

    def _headers(self, response: httpx.Response) -> list[tuple[bytes, bytes]]:
        clean = KeyFilter(self._endpoint.key)
        pairs = ((name.lower(), value) for name, value in response.headers.raw)
        shown = tuple(name.encode() for name in self._provider.answer_headers)
        return [
            (name, clean.whole(value)[:1000].strip())
            for name, value in pairs
            if name in _KEPT or name.startswith(shown)
        ]


def _stream(response: httpx.Response) -> httpx.AsyncByteStream:
    return cast("httpx.AsyncByteStream", response.stream)


class UnreadableAnswer(Exception):
    """An answer that cannot be passed on; the text says what is wrong with it."""


class AnswerUnpacker:
    """Undoes gzip and deflate, which some servers send unasked. Raises UnreadableAnswer for any other encoding."""

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise UnreadableAnswer(f"sent its answer in the encoding {encoding[:40]!r}, which was not asked for")
        # 32 + 15: zlib's or gzip's header.
        self._stream = zlib.decompressobj(47) if encoding not in ("", "identity") else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bytes, in pieces of bounded size however much they were packed."""
        if self._stream is None:
            yield data
            return
        while data:
            try:
                yield self._stream.decompress(data, _STEP)
            except zlib.error:
                raise UnreadableAnswer("sent a damaged answer") from None
            data = self._stream.unconsumed_tail


class AnswerFilter:
    """One answer on its way. Raises UnreadableAnswer for one that is too large or in no form that we know."""

    def __init__(self, meter: AnswerMeter, key: str, encoding: str = "") -> None:
        self.meter = meter
        self._unpacker, self._filter = AnswerUnpacker(encoding), KeyFilter(key)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What may go on of the answer so far; pieces are never empty."""
        for piece in self._unpacker.feed(data):
            if shown := self.meter.feed(self._filter.feed(piece)):
                yield shown
            if self.meter.size > ANSWER:
                raise UnreadableAnswer(f"sent more than {ANSWER:,} bytes, the most that passes of one answer")

    def finish(self) -> bytes:
        """What is left at the end."""
        return self.meter.feed(self._filter.finish()) + self.meter.finish()
