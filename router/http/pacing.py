"""When the next request to one model may be sent, by what the server's rate-limit headers say is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from skill_health.router.http.waits import until_reset

LONGEST = 60.0
"""Seconds that a header can hold requests back; one that says more is not believed further."""


@dataclass(slots=True)
class _Bucket:
    """What is left of one limit until `until`, as request `ticket` was told."""

    left: float
    until: float
    ticket: int


class Pace:
    """The limits of one model at one server: requests, tokens, and input and output tokens where they are apart.

    What a header says is left was counted when its request arrived, and nobody knows in which order requests arrive:
    so all that are still under way are taken off, though some were counted already.
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
        """Note that a request is under way; the ticket that `answered` wants."""
        self._ticket += 1
        self._flying[self._ticket] = costs
        for name, bucket in self._buckets.items():
            bucket.left -= costs.get(name, 0)
        return self._ticket

    def answered(self, ticket: int, headers: Mapping[str, str] | None) -> None:
        """Note that a request is over, with the headers of its answer (None: there was none)."""
        costs = self._flying.pop(ticket)
        now = self._clock()
        for name in costs if headers else ():
            assert headers is not None
            left, reset = _said(headers, name)
            seconds = until_reset(reset, self._now()) if reset else None
            bucket = self._buckets.get(name)
            if left is None or not seconds or (bucket and bucket.ticket > ticket):
                continue
            flying = sum(cost[name] for cost in self._flying.values())
            self._buckets[name] = _Bucket(left - flying, now + min(seconds, LONGEST), ticket)

    def block(self, seconds: float) -> None:
        """Hold everything back for so long, as the server asked one request to wait."""
        self._blocked = max(self._blocked, self._clock() + seconds)


def costs_of(input_tokens: int, output_tokens: int) -> dict[str, int]:
    """What one request takes of each limit, by the names in the headers."""
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input-tokens": input_tokens,
        "output-tokens": output_tokens,
    }


def _said(headers: Mapping[str, str], name: str) -> tuple[float | None, str]:
    """What is left of a limit and when it resets, in OpenAI's or Anthropic's headers."""
    left = headers.get(f"x-ratelimit-remaining-{name}") or headers.get(f"anthropic-ratelimit-{name}-remaining", "")
    reset = headers.get(f"x-ratelimit-reset-{name}") or headers.get(f"anthropic-ratelimit-{name}-reset", "")
    return (float(left) if left.isascii() and left.isdigit() and len(left) < 16 else None), reset
