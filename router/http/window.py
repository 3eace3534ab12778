"""How many requests to one model may be under way: half as many when the server has too much to do, then slowly more.

A server that limits requests and says nothing of it in its headers would else refuse most of what is sent at once, over
and over, until calls have used up their tries.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress


class CallWindow:
    """Lets in `most` at once to begin with; first come, first served. Use it as an asynchronous context manager.

    A request has a ticket, which counts from 1. Those that were sent before the window shrank say nothing new.
    """

    def __init__(self, most: int) -> None:
        self.refusals = 0
        self._most = self._size = float(max(1, most))
        self._held = self._newest = self._shrunk = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def size(self) -> int:
        """How many may be under way."""
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
        """The ticket of a request that is sent now."""
        self._newest += 1
        return self._newest

    def served(self) -> None:
        """Note an answer: after a window full of them, one more may be under way."""
        self.refusals = 0
        self._size = min(self._most, self._size + 1 / self._size)
        self._let_in()

    def refused(self, ticket: int) -> None:
        """Note that a server had too much to do. `refusals` counts how often that was news, since the last answer."""
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
