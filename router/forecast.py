"""What a run is going to take: calls, tokens, dollars and time, as far as they can be known before it.

    found = forecast([Load(...), ...], price_version, notes)     pure arithmetic, for whatever makes calls to models
    found.lines()                                                what people read before the first call
    most(load)                                                   dollars one call can cost at most: the reservation

Tokens are bytes / 4 times a factor of the model, which earlier runs give (`router.earlier`), else 1. Dollars range from
a typical answer to the longest that is allowed. Where a model's price or pace is not known, neither is the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill_health.bench.budget import dollars
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import MAX_TOKENS, TieredPrice, at_most, cost
from skill_health.bench.progress import duration

BYTES_PER_TOKEN = 4
MARGIN = 1.5
"""How far above the estimate the tokens of a call may lie where no earlier run says more (other scripts, code)."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Tokens for each BYTES_PER_TOKEN bytes: on average and at most, as seen in `calls` of earlier runs."""

    mean: float = 1.0
    most: float = MARGIN
    calls: int = 0


UNCALIBRATED = Factor()


@dataclass(frozen=True, slots=True)
class Load:
    """What one model is going to be asked: `calls`, with `input_bytes` in all of them together.

    `typical_output` and `max_output` are tokens of one answer. `price` is None where it is not known. Models of one
    `group` share its `concurrency` and `per_minute` (0: no limit). `seconds` is what a call takes, None where it is not
    known; `local` ones cost nothing and take no time to speak of. `repeated` calls may be made a second time.
    """

    model: str
    calls: int
    input_bytes: int = 0
    typical_output: int = 0
    max_output: int = 0
    price: TieredPrice | None = None
    local: bool = False
    factor: Factor = UNCALIBRATED
    group: str = ""
    concurrency: int = 1
    per_minute: int = 0
    seconds: float | None = None
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class ModelCallForecast:
    """The forecast of one model. `usd_repeated` is the most where every call that may be repeated is."""

    load: Load
    input_tokens: int
    output_low: int
    output_high: int
    usd_low: float | None
    usd_high: float | None
    usd_repeated: float | None
    seconds: float | None

    def line(self, width: int) -> str:
        """One line of the table."""
        name = self.load.model.ljust(width)
        if self.load.local:
            return f"{name}  {self.load.calls:,} calls, computed here, free"
        tokens = f"{self.input_tokens:,} tokens in, {self.output_low:,} to {self.output_high:,} out"
        pace = "time not known" if self.seconds is None else f"about {duration(self.seconds)}"
        return f"{name}  {self.load.calls:,} calls, {tokens}, {dollars(self.usd_low, self.usd_high)}, {pace}"


@dataclass(frozen=True, slots=True)
class CallForecast:
    """The forecast of a run. The sums are None where one of their parts is; `seconds` lets groups run side by side."""

    models: tuple[ModelCallForecast, ...]
    price_version: str
    calls: int
    usd_low: float | None
    usd_high: float | None
    usd_repeated: float | None
    seconds: float | None
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The forecast for people."""
        width = max((len(each.load.model) for each in self.models), default=0)
        found = [f"forecast: {self.calls:,} calls", *(f"  {each.line(width)}" for each in self.models)]
        asked = [each for each in self.models if not each.load.local]
        if asked:
            most = ""
            if self.usd_repeated is not None and self.usd_high is not None and self.usd_repeated > self.usd_high:
                most = f"; at most ${self.usd_repeated:.4f} where every answer has to be asked for again"
            found.append(f"  cost: {dollars(self.usd_low, self.usd_high)} by {self.price_version}{most}")
            pace = "not known: no earlier run of these models" if self.seconds is None else duration(self.seconds)
            found.append(f"  time: {pace}")
            found += [f"  {_tokens(each.load)}" for each in asked]
        return [*found, *(f"  {note}" for note in self.notes)]


def forecast(loads: Sequence[Load], price_version: str, notes: Iterable[str] = ()) -> CallForecast:
    """The forecast of what these models are going to be asked."""
    models = tuple(_expected(load) for load in loads)
    groups: dict[str, list[float | None]] = {}
    for each in models:
        groups.setdefault(each.load.group, []).append(each.seconds)
    times = [_sum(seconds) for seconds in groups.values()]
    return CallForecast(
        models=models,
        price_version=price_version,
        calls=sum(load.calls for load in loads),
        usd_low=_sum([each.usd_low for each in models]),
        usd_high=_sum([each.usd_high for each in models]),
        usd_repeated=_sum([each.usd_repeated for each in models]),
        seconds=None if None in times else max((time for time in times if time is not None), default=0.0),
        notes=tuple(notes),
    )


def tokens_at_most(size: int, factor: Factor) -> int:
    """How many tokens so many bytes can be: the factor's most, and never more than one for each byte."""
    return min(math.ceil(size / BYTES_PER_TOKEN * factor.most), max(size, 0), MAX_TOKENS)


def most(price: TieredPrice | None, size: int, factor: Factor, max_output: int) -> float:
    """Dollars that one call of so many bytes can cost at most; 0 where no price is known."""
    return 0.0 if price is None else at_most(price, tokens_at_most(size, factor), max_output)


def _expected(load: Load) -> ModelCallForecast:
    calls = load.calls
    input_tokens = round(load.input_bytes / BYTES_PER_TOKEN * load.factor.mean)
    low, high = min(load.typical_output, load.max_output), load.max_output
    if load.local or not calls:
        return ModelCallForecast(load, input_tokens, low * calls, high * calls, 0.0, 0.0, 0.0, 0.0)
    usd_low = usd_high = usd_repeated = None
    if load.price is not None:
        each = cost(load.price, Usage(input_tokens=round(input_tokens / calls), output_tokens=low))
        dearest = most(load.price, math.ceil(load.input_bytes / calls), load.factor, high)
        usd_low = None if each is None else round(each * calls, 9)
        usd_high, usd_repeated = round(dearest * calls, 9), round(dearest * (calls + load.repeated), 9)
    seconds = None if load.seconds is None else calls * load.seconds / max(1, load.concurrency)
    if seconds is not None and load.per_minute:
        seconds = max(seconds, calls / load.per_minute * 60)
    return ModelCallForecast(load, input_tokens, low * calls, high * calls, usd_low, usd_high, usd_repeated, seconds)


def _tokens(load: Load) -> str:
    factor = load.factor
    if not factor.calls:
        return f"tokens of {load.model}: bytes / {BYTES_PER_TOKEN}, not calibrated: no earlier run of it"
    return f"tokens of {load.model}: bytes / {BYTES_PER_TOKEN} x {factor.mean:.2f}, from {factor.calls:,} calls of earlier runs"


def _sum(parts: Iterable[float | None]) -> float | None:
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return round(total, 9)
