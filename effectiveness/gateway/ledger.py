"""What one trial has asked, got and spent, and whether it may ask again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import at_most, cost
from skill_health.bench.redact import Scrubber
from skill_health.effectiveness.gateway._api import GatewayLimits, GatewayTrace
from skill_health.effectiveness.gateway.evidence import NameWatcher
from skill_health.effectiveness.gateway.meter import AnswerMeter
from skill_health.effectiveness.gateway.passing import KeyFilter

_LOST = 16_384
"""The tokens that are counted for an answer of which nobody saw the end, or what the call allows where that is less."""
_IN_A_ROW = 200
"""After so many errors of the server without a success between them, it is asked no more."""


@dataclass(slots=True)
class GatewayCall:
    """One call of a model, from its request to the end of its answer, however that ends.

    `size` are the bytes of its request, `most` the tokens that it may answer at most. `reserved` dollars are held for
    it while it is under way. `meter` is there once the server has answered with success; `whole` where that answer came
    to its end; `free` where nothing can have been charged.
    """

    size: int
    most: int
    reserved: float
    meter: AnswerMeter | None = None
    whole: bool = False
    free: bool = True


class Ledger:
    """The state of one gateway. `host` is the server's name in messages, `key` what must be in none of them."""

    def __init__(self, terms: GatewayLimits, host: str, key: str) -> None:
        self._terms, self._host = terms, host
        self._scrub, self._filter = Scrubber(key), KeyFilter(key)
        self._evidence = NameWatcher(terms.watch)
        self._seen = GatewayTrace()
        self._cost: float | None = None
        self._sent = self._in_a_row = 0
        self._spent = self._reserved = 0.0
        self._left = asyncio.Event()

    @property
    def seen(self) -> GatewayTrace:
        """All of it, as it stands."""
        # Where no call came through, nothing was spent, whatever the price.
        dollars = self._cost if self._sent else 0.0
        return replace(
            self._seen, cost_usd=dollars, offered=self._evidence.found,
            first_request=self._filter.whole(self._evidence.first),
        )  # fmt: skip

    def turned_away(self, line: str) -> None:
        """Note a request that was none of a model, or not made with the stand-in key."""
        self._seen = replace(self._seen, refused=self._seen.refused + 1, trouble=self._scrub.line(line))

    def look(self, body: bytes, data: Mapping[str, Any]) -> None:
        """Note what a request to a model holds, whether it may pass or not."""
        self._evidence.look(body, data)

    def bar(self, line: str) -> None:
        """Note that a request asked for what no trial may have."""
        self._seen = replace(self._seen, barred=self._scrub.line(line))

    async def enter(self, size: int, most: int) -> GatewayCall | str:
        """Let a call of a model begin, or say why it may not.

        The cap in dollars cannot be kept to the cent, as nobody knows the price of an answer that is not yet written:
        a call begins while less than the cap is spent, and calls at the same time only as far as what they may cost
        at most fits in. Those that do not fit wait. So a trial goes over its cap by one call at most.
        """
        self._seen = replace(self._seen, requests=self._seen.requests + 1)
        dollars = self._estimate(size, most) if self._terms.max_usd is not None else 0.0
        while not (why := self._why_not()):
            cap = self._terms.max_usd
            if cap is None or not self._reserved or self._spent + self._reserved + dollars <= cap:
                self._sent += 1
                self._reserved += dollars
                return GatewayCall(size, most, dollars)
            await self._left.wait()
        return why

    def leave(self, call: GatewayCall) -> None:
        """A call is over: count what its answer told, or what it can have cost where it told nothing."""
        self._reserved = max(0.0, self._reserved - call.reserved)
        if call.meter is not None:
            self._count(call, call.meter)
        elif call.free:
            self._sent -= 1
        else:
            self._spent += self._estimate(call.size, min(call.most, _LOST))
        self._left.set()
        self._left = asyncio.Event()

    def failed(self, failure: Failure) -> None:
        """Note that a call met an error of the server; one of key or credit ends all further calls."""
        self._in_a_row += 1
        line = self._scrub.line(f"{self._host} {failure.message}")
        self._seen = replace(self._seen, errors=self._seen.errors + 1, trouble=line)
        if failure.kind in ("quota", "auth") and self._seen.failure not in ("quota", "auth"):
            self._seen = replace(self._seen, failure=failure.kind, error=line)
        elif failure.status == 0 and not self._seen.failure:
            self._seen = replace(self._seen, failure="unreachable", error=line)

    def reached(self) -> None:
        """The server has answered, so what was wrong with the way to it is over."""
        if self._seen.failure == "unreachable":
            self._seen = replace(self._seen, failure="", error="")

    def _why_not(self) -> str:
        terms, seen = self._terms, self._seen
        if terms.closed:
            return "no model is asked here: this is a probe"
        if seen.failure in ("quota", "auth", "capped"):
            return seen.error
        if terms.max_requests is not None and self._sent >= terms.max_requests:
            return self._capped(f"the trial has made the {terms.max_requests:,} calls of a model that it may")
        if terms.max_usd is not None and self._spent >= terms.max_usd and not (terms.price and terms.price.free):
            return self._capped(f"the trial has spent ${self._spent:.4f}; its cap is ${terms.max_usd:.4f}")
        if self._in_a_row >= _IN_A_ROW:
            return f"{self._host} has answered {_IN_A_ROW} calls in a row with an error"
        return ""

    def _capped(self, line: str) -> str:
        self._seen = replace(self._seen, failure="capped", error=line)
        return line

    def _count(self, call: GatewayCall, meter: AnswerMeter) -> None:
        usage, seen = meter.usage, self._seen
        metered = usage is not None and usage.input_tokens is not None and usage.output_tokens is not None
        models = (self._scrub.line(meter.model, 200),) if meter.model else ()
        self._seen = replace(
            seen, answered=seen.answered + 1, unmetered=seen.unmetered + (not metered),
            models=tuple(dict.fromkeys((*seen.models, *models))), usage=_both(seen.usage, usage or Usage()),
        )  # fmt: skip
        dollars = None if usage is None else cost(self._terms.price, usage)
        if dollars is not None:
            self._cost = round((self._cost or 0.0) + dollars, 9)
        self._in_a_row = 0 if call.whole and not meter.error else self._in_a_row
        estimate = self._estimate(call.size, max(meter.size // 4, 0 if call.whole else min(call.most, _LOST)))
        # Of an answer that broke off only its beginning is told, for the rest of it may be charged, too.
        self._spent += estimate if dollars is None else dollars if call.whole else max(dollars, estimate)

    def _estimate(self, request: int, output: int) -> float:
        """Dollars at most, with a quarter of the bytes of a request as its tokens."""
        return at_most(self._terms.price, request // 4 + 1, output) if self._terms.price else 0.0


def _both(one: Usage, two: Usage) -> Usage:
    """The sum of what two answers told; None where neither did."""

    def plus(a: int | None, b: int | None) -> int | None:
        return a if b is None else b if a is None else a + b

    return Usage(
        plus(one.input_tokens, two.input_tokens),
        plus(one.output_tokens, two.output_tokens),
        plus(one.cached_tokens, two.cached_tokens),
        plus(one.cache_write_tokens, two.cache_write_tokens),
        plus(one.reasoning_tokens, two.reasoning_tokens),
    )
