"""How long to wait before the next try: what the server asks for, else a jittered back-off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from skill_health.core.files import blake2b
from skill_health.router.http.failures import error_of
from skill_health.text.patterns import lazy

STEPS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before the second, third, ... request of one call; there are no more requests than that."""

MAX_WAIT = 120.0
"""A server that asks for more seconds than this is not waited for."""

_NUMBER = lazy(r"[0-9]{1,13}(?:\.[0-9]{1,9})?")
_DURATION = lazy(r"(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m(?!s))?(?:([0-9.]+)s)?(?:([0-9.]+)ms)?")
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)


def backoff(label: str, retry: int) -> float:
    """Seconds before retry number `retry` (from 0): its step times 0.75 to 1.25, the same for the same label."""
    return STEPS[retry] * (0.75 + 0.5 * _share(label, retry))


def stretched(wait: float, label: str, retry: int) -> float:
    """A wait that a server asked for and up to a tenth more, so that not all calls come back at once."""
    return wait * (1 + 0.1 * _share(label, retry))


def asked_wait(headers: Mapping[str, str], data: Any, now: float) -> float | None:
    """Seconds that the server asks for: retry-after-ms, retry-after (seconds or a date), then Google's RetryInfo.

    None where it asks for none, or for nothing that makes sense. `now` is the time in seconds since 1970; a date is
    taken against the server's own Date header where there is one, because clocks differ.
    """
    if (wait := _positive(headers.get("retry-after-ms", ""), 0.001)) is not None:
        return wait
    asked = headers.get("retry-after", "").strip()
    if (wait := _positive(asked, 1.0)) is not None:
        return wait
    if (then := http_date(asked)) is not None:
        own = http_date(headers.get("date", ""))
        wait = then - (now if own is None else own)
        if wait > 0:
            return wait
    return _retry_info(data)


def until_reset(text: str, now: float) -> float | None:
    """Seconds until a limit resets, from `1s`, `6m0s`, `120ms`, `0.5`, a time in RFC 3339 or seconds since 1970."""
    text = text.strip()[:64]
    if _NUMBER.fullmatch(text):
        number = float(text)
        # Some servers send the moment instead of the span, in seconds or milliseconds.
        for scale in (1000.0, 1.0):
            if number / scale > 1e9:
                return max(0.0, number / scale - now)
        return number
    if (span := duration(text)) is not None:
        return span
    try:
        moment = datetime.fromisoformat(text)
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def duration(text: str) -> float | None:
    """Seconds of `33s`, `1m12.5s`, `120ms`; None for anything else."""
    match = _DURATION.fullmatch(text.strip()[:64])
    if match is None or not any(match.groups()):
        return None
    try:
        return sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS, strict=True) if part)
    except ValueError:
        return None


def http_date(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date; None for anything else."""
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text[:64])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _positive(text: str, unit: float) -> float | None:
    """A positive number of units in seconds. Zero asks for nothing: it would turn a storm into a tighter one."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text) * unit
    return value if value > 0 and math.isfinite(value) else None


def _retry_info(data: Any) -> float | None:
    details = error_of(data).get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            wait = duration(str(detail.get("retryDelay", "")))
            return wait if wait else None
    return None


def _share(label: str, retry: int) -> float:
    digest = blake2b(f"{label}|{retry}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
