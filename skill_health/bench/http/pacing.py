"""Pacing: when the next request to a model may be sent, given its rate limits, the requests in flight and failures."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from skill_health.bench.http.failures import error_of
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.core.files import blake2b
from skill_health.text.patterns import lazy

STEPS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before the second, third, ... request of one call; after the last there are no more."""

MAX_WAIT = 120.0
"""The longest wait, in seconds, that a server may ask for."""

_NUMBER = lazy(r"[0-9]{1,13}(?:\.[0-9]{1,9})?")
_DURATION = lazy(r"(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m(?!s))?(?:([0-9.]+)s)?(?:([0-9.]+)ms)?")
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)


def backoff(label: str, retry: int) -> float:
    """Seconds before retry number `retry` (from 0): its step times 0.75 to 1.25, the same for the same label."""
    return STEPS[retry] * (0.75 + 0.5 * _share(label, retry))


def stretched(wait: float, label: str, retry: int) -> float:
    """The wait that a server asked for plus up to a tenth, so that not all calls retry at once."""
    return wait * (1 + 0.1 * _share(label, retry))


def asked_wait(headers: Mapping[str, str], data: Any, now: float) -> float | None:
    """Seconds that the server asks for: retry-after-ms, retry-after (seconds or a date), then Google's RetryInfo.

    None if it asks for none, or for nothing sensible. `now` is the time in seconds since 1970; a date is compared with
    the server's own Date header, if there is one, because clocks differ.
    """
    if (wait := _positive(headers.get("retry-after-ms", ""), 0.001)) is not None:
        return wait
    asked = headers.get("retry-after", "").strip()
    if (wait := _positive(asked, 1.0)) is not None:
        return wait
    if (then := http_date(asked)) is not None:
        own = http_date(headers.get("date", ""))
        wait = then - (now if own is None else own)
        if wait > 0:
            return wait
    return _retry_info(data)


def until_reset(text: str, now: float) -> float | None:
    """Seconds until a limit resets, from `1s`, `6m0s`, `120ms`, `0.5`, a time in RFC 3339 or seconds since 1970."""
    text = text.strip()[:64]
    if _NUMBER.fullmatch(text):
        number = float(text)
        # Some servers send a point in time instead of a duration, in seconds or milliseconds.
        for scale in (1000.0, 1.0):
            if number / scale > 1e9:
                return max(0.0, number / scale - now)
        return number
    if (span := duration(text)) is not None:
        return span
    try:
        moment = datetime.fromisoformat(text)
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def duration(text: str) -> float | None:
    """Seconds of `33s`, `1m12.5s`, `120ms`; None for anything else."""
    match = _DURATION.fullmatch(text.strip()[:64])
    if match is None or not any(match.groups()):
        return None
    try:
        return sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS, strict=True) if part)
    except ValueError:
        return None


def http_date(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date; None for anything else."""
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text[:64])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _positive(text: str, unit: float) -> float | None:
    """A positive number of units, in seconds. Zero asks for no wait: honouring it would only tighten a retry storm."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text) * unit
    return value if value > 0 and math.isfinite(value) else None


def _retry_info(data: Any) -> float | None:
    details = error_of(data).get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            wait = duration(str(detail.get("retryDelay", "")))
            return wait if wait else None
    return None


def _share(label: str, retry: int) -> float:
    digest = blake2b(f"{label}|{retry}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


LONGEST = 60.0
"""The most seconds for which a header can hold back requests; larger values are cut to this."""


@dataclass(slots=True)
class _Bucket:
    """What is left of one rate limit until `until`, as reported to request `ticket`."""

    left: float
    until: float
    ticket: int


class Pace:
    """The rate limits of one model at one server: requests, tokens, and input and output tokens if separate.

    What a header says is left was counted when its request arrived, and the order of arrival is unknown: so all
    requests still in flight are subtracted, though some were counted already.
    """

    def __init__(self, clock: Callable[[], float], now: Callable[[], float]) -> None:
        self._clock, self._now = clock, now
        self._blocked = 0.0
        self._buckets: dict[str, _Bucket] = {}
        self._flying: dict[int, Mapping[str, int]] = {}
        self._ticket = 0

    def delay(self, costs: Mapping[str, int]) -> float:
        """Seconds until a request of these costs should be sent; 0 for now."""
        now = self._clock()
        until = self._blocked
        for name, bucket in list(self._buckets.items()):
            if bucket.until <= now:
                del self._buckets[name]
            elif bucket.left < costs.get(name, 0):
                until = max(until, bucket.until)
        return max(0.0, until - now)

    def sent(self, costs: Mapping[str, int]) -> int:
        """Record that a request was sent; returns the ticket for `answered`."""
        self._ticket += 1
        self._flying[self._ticket] = costs
        for name, bucket in self._buckets.items():
            bucket.left -= costs.get(name, 0)
        return self._ticket

    def answered(self, ticket: int, protocol: ProviderProtocol, headers: Mapping[str, str] | None) -> None:
        """Record that a request is over, with the headers of its answer (None: there was none)."""
        costs = self._flying.pop(ticket)
        now = self._clock()
        for name in costs if headers else ():
            assert headers is not None
            remaining, reset = protocol.read_limit(headers, name)
            seconds = until_reset(reset, self._now()) if reset else None
            bucket = self._buckets.get(name)
            left = _amount(remaining)
            if left is None or not seconds or (bucket and bucket.ticket > ticket):
                continue
            flying = sum(cost[name] for cost in self._flying.values())
            self._buckets[name] = _Bucket(left - flying, now + min(seconds, LONGEST), ticket)

    def block(self, seconds: float) -> None:
        """Hold everything back for this long, because the server asked one request to wait."""
        self._blocked = max(self._blocked, self._clock() + seconds)


def costs_of(input_tokens: int, output_tokens: int) -> dict[str, int]:
    """What one request uses of each limit, by the names in the headers."""
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input-tokens": input_tokens,
        "output-tokens": output_tokens,
    }


def _amount(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


class CallWindow:
    """Admits `most` calls at once to begin with, first come, first served. Use it as an asynchronous context manager.

    Each request has a ticket, counted from 1. Requests sent before the window shrank say nothing new.
    """

    def __init__(self, most: int) -> None:
        self.refusals = 0
        self._most = self._size = float(max(1, most))
        self._held = self._newest = self._shrunk = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def size(self) -> int:
        """How many calls may be in flight."""
        return int(self._size)

    async def __aenter__(self) -> None:
        if self._held < self.size and not self._waiting:
            self._held += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    self._waiting.remove(turn)
            else:
                await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._held -= 1
        self._let_in()

    def sent(self) -> int:
        """The ticket for a request that is sent now."""
        self._newest += 1
        return self._newest

    def served(self) -> None:
        """Record an answer: after a window full of them, one more may be in flight."""
        self.refusals = 0
        self._size = min(self._most, self._size + 1 / self._size)
        self._let_in()

    def refused(self, ticket: int) -> None:
        """Record that the server was overloaded. `refusals` counts how often that was news, since the last answer."""
        if ticket > self._shrunk:
            self.refusals += 1
            self._size = max(1.0, min(self._size, self._held) // 2)
            self._shrunk = self._newest

    def _let_in(self) -> None:
        while self._waiting and self._held < self.size:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._held += 1
                turn.set_result(None)
