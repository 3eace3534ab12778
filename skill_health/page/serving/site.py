"""The page that is served: built anew where something has changed, and kept where a build fails."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from html import escape

from skill_health.core.errors import SkillHealthError
from skill_health.page.text import escape_text

_BODY = re.compile(r"</head>\s*<body\b[^>]*>", re.IGNORECASE)
_REASON = 400
# A build may have failed for a reason that no file tells: it is tried again, but not all the time.
_AGAIN = 5.0


class Site:
    """The page and the reason why it may be out of date. All methods may be called from any thread.

    `version` counts what a reader would see: it changes when the page or the reason does.
    """

    def __init__(self, build: Callable[[], str], mark: Callable[[], str]) -> None:
        self._build, self._mark = build, mark
        self._lock = threading.Lock()
        self._known: str | None = None
        self._page: str | None = None
        self._asked = self._tried = float("-inf")
        self._cost = 0.0
        self.problem = ""
        self.version = 0
        self.served = 0

    def refresh(self, least: float = 0.0, strict: bool = False) -> int:
        """Build anew where the mark is another one, unless that was asked less than `least` seconds ago: the version.

        With `strict` the user's mistakes are raised instead of being kept as the reason.
        """
        with self._lock:
            start = time.monotonic()
            # Where looking takes long, it is done less often: at most a tenth of the time goes into it.
            if least and start - self._asked < max(least, 10 * self._cost):
                return self.version
            mark = self._marked()
            self._asked = time.monotonic()
            self._cost = self._asked - start
            if mark != self._known or (self.problem and self._asked - self._tried > _AGAIN):
                self._known = mark
                self._rebuild(strict)
                self._asked = self._tried = time.monotonic()
            return self.version

    def page(self) -> tuple[int, str]:
        """The status and the document as of now: the last good page, with the reason where it is out of date."""
        self.refresh()
        with self._lock:
            self.served = self.version
            if self._page is None:
                return 503, _unavailable(self.problem)
            return 200, _with_reason(self._page, self.problem) if self.problem else self._page

    def _marked(self) -> str:
        try:
            return self._mark()
        except Exception as error:
            return f"not known: {error!r}"

    def _rebuild(self, strict: bool) -> None:
        before = (self._page, self.problem)
        try:
            self._page, self.problem = self._build(), ""
        except Exception as error:
            if strict and isinstance(error, SkillHealthError):
                raise
            kind = "" if isinstance(error, SkillHealthError) else f"{type(error).__name__}: "
            self.problem = escape_text(" ".join(f"{kind}{error}".split()), _REASON)
        if (self._page, self.problem) != before:
            self.version += 1
            if self.problem and sys.stderr is not None:
                print(f"not rebuilt: {self.problem}", file=sys.stderr, flush=True)


def _with_reason(page: str, reason: str) -> str:
    line = f'<p role="alert" class="bad">This page is not up to date. It cannot be rebuilt: {escape(reason)}</p>'
    found = _BODY.search(page)
    return page[: found.end()] + line + page[found.end() :] if found else line + page


def _unavailable(reason: str) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="3">'
        f"<title>No page yet</title></head><body><p>There is no page yet: {escape(reason)}</p></body></html>\n"
    )
