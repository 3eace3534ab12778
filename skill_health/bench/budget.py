"""Budget caps that calls in flight cannot exceed: reserve before a call, charge its cost, refuse the next one in time.

    budget = Budget(max_runs=600, max_usd=2.5, attempts=0, spent=0.0)      resumed runs start with the amount spent
    if not budget.reserve(usd): stop; `budget.reached` says which cap
    budget.charge(usd, actual)          None: the provider reported no usage, the reservation is charged

As long as no call costs more than its reservation, `spent` never exceeds the cap. Amounts are counted in whole
nano-dollars, so the order in which calls end changes no digit. Not thread-safe: for one event loop.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

_NANOS = 10**9


class Budget:
    """What a run may still spend. `max_runs` counts attempts, including retries; None means no cap.

    `what` is the word for an attempt in messages.
    """

    def __init__(
        self, max_runs: int | None, max_usd: float | None, *, attempts: int = 0, spent: float = 0.0, what: str = "call"
    ) -> None:
        """Raises ValueError for a cap, count or amount that is negative or no number."""
        if min(max_runs or 0, attempts) < 0:
            raise ValueError("a budget counts from 0")
        self.max_runs, self.max_usd, self.what = max_runs, max_usd, what
        self._cap = None if max_usd is None else _nanos(max_usd, ROUND_FLOOR)
        self._attempts = attempts
        self._spent = _nanos(spent, ROUND_HALF_EVEN)
        self._reserved = 0
        self._reached = ""

    @property
    def attempts(self) -> int:
        """How many attempts were admitted, including those in flight."""
        return self._attempts

    @property
    def spent(self) -> float:
        """US dollars charged so far."""
        return self._spent / _NANOS

    @property
    def reserved(self) -> float:
        """US dollars reserved for calls in flight."""
        return self._reserved / _NANOS

    @property
    def reached(self) -> str:
        """Why a reservation was refused, in one line; "" if none was."""
        return self._reached

    def reserve(self, usd: float) -> bool:
        """Count one attempt and reserve the most it may cost. False, and nothing changes, if a cap forbids it.

        Raises ValueError for an amount that is negative or no number.
        """
        amount = _nanos(usd, ROUND_CEILING)
        if self.max_runs is not None and self._attempts >= self.max_runs:
            self._reached = f"the cap of {self.max_runs} {self.what}s is reached"
            return False
        if self._cap is not None and self._spent + self._reserved + amount > self._cap:
            held = f" and ${self.reserved:.4f} held back for {self.what}s under way" if self._reserved else ""
            self._reached = (
                f"the cap of ${self.max_usd:.4f} leaves no room for another {self.what}: "
                f"${self.spent:.4f} spent{held}, and the next may cost up to ${usd:.4f}"
            )
            return False
        self._attempts += 1
        self._reserved += amount
        return True

    def hold(self, usd: float) -> None:
        """Reserve what is in a batch already, whatever the caps say: its attempt is counted with those before.

        Raises ValueError for an amount that is negative or no number.
        """
        self._reserved += _nanos(usd, ROUND_CEILING)

    def release(self, usd: float) -> None:
        """Give a reservation back, with its attempt: that was never made. Raises ValueError where none is open."""
        self.charge(usd, 0.0)
        self._attempts -= 1

    def charge(self, reserved: float, actual: float | None) -> None:
        """Turn the reservation of one call into its cost: `actual`, or all of it if that is None.

        Raises ValueError if no such reservation is open.
        """
        held = _nanos(reserved, ROUND_CEILING)
        if held > self._reserved:
            raise ValueError("more is charged than was reserved")
        spent = held if actual is None else _nanos(actual, ROUND_HALF_EVEN)
        self._reserved -= held
        self._spent += spent


def _nanos(usd: float, rounding: str) -> int:
    if not (math.isfinite(usd) and usd >= 0):
        raise ValueError(f"{usd!r} is not an amount in dollars")
    return int((Decimal(repr(usd)) * _NANOS).to_integral_value(rounding))


Admit = Callable[[float], Awaitable[bool]]
"""Reserve this many dollars for one more call; False if a cap forbids it."""
Charge = Callable[[float, float | None], None]
"""Turn a reservation into what the call cost; if that is None, charge all of it."""

_RUNNING: ContextVar[AttemptMeter | None] = ContextVar("meter", default=None)


class AttemptMeter:
    """Meters what one attempt spends. `refused`: a cap forbade a retry. `charged`: its last request may cost."""

    def __init__(self, usd: float, admit: Admit, charge: Charge) -> None:
        self.refused = False
        self.charged = True
        self._usd, self._admit, self._charge = usd, admit, charge
        self._open = True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this the meter of everything that the same task sends meanwhile."""
        token = _RUNNING.set(self)
        try:
            yield
        finally:
            _RUNNING.reset(token)

    async def again(self) -> bool:
        """Charge the reservation, and reserve as much again for one more request. False if a cap forbids it."""
        self.end(None)
        self._open = await self._admit(self._usd)
        self.refused = not self._open
        return self._open

    def end(self, actual: float | None) -> None:
        """Charge the last request: its cost, or the reservation if that is None."""
        if self._open:
            self._open = False
            self._charge(self._usd, actual)


async def may_send_again() -> bool:
    """Whether a request that may have been charged may be sent again; without a meter, it may."""
    meter = _RUNNING.get()
    return meter is None or await meter.again()


def not_charged() -> None:
    """Tell the meter that its last request cost nothing: it was refused with an error or never arrived."""
    if meter := _RUNNING.get():
        meter.charged = False


def add_known(parts: Iterable[float | None], digits: int) -> float | None:
    """The sum to this many digits; None if any part is unknown."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return round(total, digits)


def dollars(low: float | None, high: float | None) -> str:
    """A range of dollars for people."""
    if low is None or high is None:
        return "price not known"
    if high == 0:
        return "free"
    return f"${low:.4f}" if low == high else f"${low:.4f} to ${high:.4f}"


def beyond_caps(
    count: int, usd: float | None, max_runs: int | None, max_usd: float | None, what: str = "calls"
) -> list[str]:
    """One line for each cap that a forecast of this many calls and dollars exceeds."""
    found = []
    if max_runs is not None and count > max_runs:
        found.append(f"the cap of {max_runs} {what} is below the {count} of the forecast: the run will stop there")
    if max_usd is not None and usd is not None and usd > max_usd:
        found.append(f"the cap of ${max_usd:.4f} is below the forecast of ${usd:.4f}: the run will stop there")
    return found
