"""The progress of a long run: a line that is redrawn on a terminal; elsewhere one for every tenth and every minute.

    with Progress(600, sys.stderr, done=120, quiet=False) as progress:      120 were done in an earlier run
        await progress.beside(work)                                         whose calls say
        progress.update("finished", spent=0.12)

Progress is not part of a result: it goes to the given stream, by convention standard error.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection
from types import TracebackType
from typing import TextIO, TypeVar

from skill_health.text.terminal import clean

T = TypeVar("T")
REDRAW = 0.1
SILENCE = 60.0
"""Seconds after which a line is written away from a terminal, whatever has happened."""
LOOK = 5.0
"""Seconds between two looks at whether it is time."""
WINDOW = 200


class Progress:
    """Counts outcomes and shows them. `fine` are the outcomes that are not failures; the others are shown by kind.

    `what` stands in front of each line, for what is no run by itself. `aside` says what else is under way.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO | None,
        *,
        done: int = 0,
        quiet: bool = False,
        fine: Collection[str] = ("finished",),
        what: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.done = total, done
        self._stream = None if quiet else stream
        self._live = bool(self._stream and self._stream.isatty() and os.environ.get("TERM") != "dumb")
        self.aside: Callable[[], str] = lambda: ""
        self._fine, self._clock, self._what = frozenset(fine), clock, what
        self._kinds: Counter[str] = Counter()
        self._seen, self._width = 0, 0
        self._spent: float | None = None
        # The rate is that of the last calls, so that a pause for a rate limit shows in the remaining time.
        self._times: deque[float] = deque([clock()], maxlen=WINDOW)
        self._drawn = float("-inf")
        self._tenth, self._told = self._tenths(), self._times[-1]

    def update(self, outcome: str, spent: float | None = None) -> None:
        """Record that one more is done. `spent` is the total so far, in dollars; None if not counted."""
        self.done += 1
        self._seen += 1
        self._kinds[outcome] += 1
        self._spent = self._spent if spent is None else spent
        now = self._clock()
        self._times.append(now)
        if self._live:
            if now - self._drawn >= REDRAW or self.done >= self.total:
                self._drawn = now
                self._redraw()
        elif self._tenths() > self._tenth:
            self._tell(now)

    def tick(self) -> None:
        """Show that it goes on, though nothing was done: away from a terminal where a minute was silent."""
        now = self._clock()
        if self._live:
            self._redraw()
        elif now - self._told >= SILENCE:
            self._tell(now)

    async def beside(self, work: Awaitable[T], look: float = LOOK) -> T:
        """Wait for work, and show meanwhile that it goes on."""

        async def ticking() -> None:
            while True:
                await asyncio.sleep(look)
                self.tick()

        task = asyncio.ensure_future(ticking())
        try:
            return await work
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def line(self) -> str:
        """The line shown: done and total, time left, dollars so far, failures by kind with their share."""
        share = f"{100 * self.done // self.total} %" if self.total else "100 %"
        parts = [f"{self._what}{self.done}/{self.total} ({share})"]
        aside = self.aside()
        if not aside and 0 < self.done < self.total and (left := self._left()) is not None:
            parts.append(f"{duration(left)} left")
        if self._spent is not None:
            parts.append(f"${self._spent:.4f}")
        parts += [aside] if aside else []
        failed = sorted((kind, count) for kind, count in self._kinds.items() if kind not in self._fine)
        parts += [f"{clean(kind)} {count} ({100 * count / self._seen:.1f} %)" for kind, count in failed]
        return "  ".join(parts)

    def tell(self, line: str) -> None:
        """Write a line of its own, before the progress goes on."""
        if self._live and self._width:
            room = max(20, shutil.get_terminal_size().columns - 1)
            self._write("\r" + " " * min(self._width, room) + "\r")
            self._width = 0
        self._write(clean(line) + "\n")

    def close(self) -> None:
        """End the line; nothing is shown afterwards."""
        if self._live and (self._seen or self._width):
            self._redraw()
            self._write("\n")
        self._stream, self._live = None, False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tell(self, now: float) -> None:
        self._tenth, self._told = self._tenths(), now
        self._write(self.line() + "\n")

    def _tenths(self) -> int:
        return 10 * self.done // self.total if self.total else 10

    def _left(self) -> float | None:
        """Seconds until all is done at the recent rate; None before anything is done."""
        steps, elapsed = len(self._times) - 1, self._times[-1] - self._times[0]
        return elapsed / steps * (self.total - self.done) if steps else None

    def _redraw(self) -> None:
        """Overwrite the line with spaces rather than escapes, which work alike on every terminal."""
        room = max(20, shutil.get_terminal_size().columns - 1)
        text = self.line()[:room]
        self._write("\r" + text.ljust(min(self._width, room)))
        self._width = len(text)

    def _write(self, text: str) -> None:
        if not write_progress(self._stream, text):
            self._stream, self._live = None, False


def write_progress(stream: TextIO | None, text: str) -> bool:
    """Write for people, who may be gone: a closed terminal does not end a run. Returns whether it was written."""
    if stream is None:
        return False
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        return False
    return True


def duration(seconds: float) -> str:
    """A time for people: "45 s", "3 min 20 s", "2 h 5 min"."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
