"""The money of one attempt, between the run that counts it and the client that sends it.

    meter = Meter(budget, usd, on_again)        usd is reserved already
    with meter.running():
        reply = await router.ask(...)           the client asks `may_send_again()`, and says `not_charged()`
    meter.end(actual)

A request whose answer broke off may have been worked on and charged, and nobody says how much. So it counts as much as
was reserved for it, and sending it again is a call of its own: reserved, counted, and forbidden where a cap is reached.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from router.budget import Budget

_RUNNING: ContextVar[Meter | None] = ContextVar("meter", default=None)


async def _nothing() -> None:
    """What happens before a request is sent again where nobody keeps a journal."""


class Meter:
    """What one attempt may spend. `refused` says that a cap kept a request from being sent again."""

    def __init__(self, budget: Budget, usd: float, on_again: Callable[[], Awaitable[None]] = _nothing) -> None:
        self.refused = False
        self.charged = True
        self._budget, self._usd, self._on_again = budget, usd, on_again

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this the meter of whatever is sent meanwhile by the same task."""
        token = _RUNNING.set(self)
        try:
            yield
        finally:
            _RUNNING.reset(token)

    async def again(self) -> bool:
        """Charge what was reserved, and reserve as much for one more request. False where a cap forbids it."""
        if not self._budget.reserve(self._usd):
            self.refused = True
            return False
        self._budget.charge(self._usd, None)
        await self._on_again()
        return True

    def end(self, actual: float | None) -> None:
        """Charge the last request: what it cost, or what was reserved where that is None."""
        self._budget.charge(self._usd, actual)


async def may_send_again() -> bool:
    """Whether a request that may have been charged may be sent once more; where nobody counts, it may."""
    meter = _RUNNING.get()
    return meter is None or await meter.again()


def not_charged() -> None:
    """Tell the meter that its last request was refused with an error or never arrived, which costs nothing."""
    if meter := _RUNNING.get():
        meter.charged = False
