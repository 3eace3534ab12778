"""The money of one attempt, between the run that counts it and the client that sends it.

    meter = Meter(usd, admit, charge)           usd is reserved already
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

Admit = Callable[[float], Awaitable[bool]]
"""Reserve so many dollars for one more call; False where a cap forbids it."""
Charge = Callable[[float, float | None], None]
"""Turn a reservation into what the call cost, or all of it into a cost where that is None."""

_RUNNING: ContextVar[AttemptMeter | None] = ContextVar("meter", default=None)


class AttemptMeter:
    """What one attempt spends. `refused`: a cap kept it from being sent again. `charged`: its last request may cost."""

    def __init__(self, usd: float, admit: Admit, charge: Charge) -> None:
        self.refused = False
        self.charged = True
        self._usd, self._admit, self._charge = usd, admit, charge
        self._open = True

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
        self.end(None)
        self._open = await self._admit(self._usd)
        self.refused = not self._open
        return self._open

    def end(self, actual: float | None) -> None:
        """Charge the last request: what it cost, or what was reserved where that is None."""
        if self._open:
            self._open = False
            self._charge(self._usd, actual)


async def may_send_again() -> bool:
    """Whether a request that may have been charged may be sent once more; where nobody counts, it may."""
    meter = _RUNNING.get()
    return meter is None or await meter.again()


def not_charged() -> None:
    """Tell the meter that its last request was refused with an error or never arrived, which costs nothing."""
    if meter := _RUNNING.get():
        meter.charged = False
