"""Caps that calls under way cannot overrun: reserve before a call, charge what it cost, refuse the next one in time.

    budget = Budget(max_runs=600, max_usd=2.5, attempts=0, spent=0.0)      resumed runs start with what was spent
    if not budget.reserve(usd): stop; `budget.reached` says which cap
    budget.charge(usd, actual)          None: the provider reported no usage, the reservation is charged

As long as no call costs more than was reserved for it, `spent` never exceeds the cap. Amounts are counted in whole
nano-dollars, so that the order in which calls end changes no digit. For one thread (an event loop), not for several.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

_NANOS = 10**9


class Budget:
    """What a run may still do. `max_runs` counts attempts, repeated ones included; None is no cap.

    `what` is the word for what is counted.
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
        """How many attempts were let through, those under way included."""
        return self._attempts

    @property
    def spent(self) -> float:
        """US dollars charged so far."""
        return self._spent / _NANOS

    @property
    def reserved(self) -> float:
        """US dollars held back for calls under way."""
        return self._reserved / _NANOS

    @property
    def reached(self) -> str:
        """Why a reservation was refused, in one line; "" as long as none was."""
        return self._reached

    def reserve(self, usd: float) -> bool:
        """Count one attempt and hold back what it may cost at most. False, and nothing changes, where a cap forbids it.

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

    def charge(self, reserved: float, actual: float | None) -> None:
        """Turn the reservation of one call into what it cost: `actual`, or all of it where that is None.

        Raises ValueError where no such reservation is open.
        """
        held = _nanos(reserved, ROUND_CEILING)
        if held > self._reserved:
            raise ValueError("more is charged than was reserved")
        spent = held if actual is None else _nanos(actual, ROUND_HALF_EVEN)
        self._reserved -= held
        self._spent += spent


def _nanos(usd: float, rounding: str) -> int:
    if not (math.isfinite(usd) and usd >= 0):
        raise ValueError(f"{usd!r} is no amount of dollars")
    return int((Decimal(repr(usd)) * _NANOS).to_integral_value(rounding))
