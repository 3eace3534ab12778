"""Checking external links: opt-in, concurrent, cached and polite. Nothing else in the package goes on the network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from urllib.parse import urldefrag, urlsplit

from skill_health import url_cache
from skill_health.url_requests import UrlResponse, ask

MAX_REDIRECTS = 5
_PERMANENT = frozenset((301, 308))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_GONE = frozenset((404, 410))
_WORKERS = 16


@dataclass(frozen=True, slots=True)
class UrlResult:
    """What is known of one address.

    `status` is ok, moved (permanently, to `final`, which answers), gone (404 or 410) or error (not known: refused,
    too slow, no such host, a server's fault, not allowed). `code` is the last HTTP status, 0 without an answer.
    """

    url: str
    status: str
    code: int = 0
    final: str = ""
    reason: str = ""
    cached: bool = False


def check_urls(
    urls: Iterable[str],
    cache_path: str | None = None,
    *,
    timeout: float = 10.0,
    per_host: int = 2,
    delay: float = 0.5,
    allow_private: bool = False,
    now: Callable[[], float] = time.time,
) -> dict[str, UrlResult]:
    """Ask for every address once; the results come in the order of the addresses.

    `timeout` (seconds) bounds each wait for a server; at most `per_host` requests to one host run at once, each
    `delay` seconds after the one before. Without `allow_private` nothing is sent to addresses that are not
    public. What `cache_path` holds and is fresh is not asked again. Never raises for what a server does.
    """
    wanted = sorted(set(urls))
    pages = sorted({urldefrag(url).url for url in wanted})
    known = url_cache.load(cache_path, now())
    hosts: dict[str, list[str]] = {}
    for page in pages:
        if page not in known:
            hosts.setdefault(_host(page), []).append(page)
    lanes = [pages[i::per_host] for pages in hosts.values() for i in range(min(per_host, len(pages)))]
    fresh: dict[str, UrlResult] = {}
    if lanes:
        with _pool(min(_WORKERS, len(lanes))) as (pool, stop):
            for results in pool.map(lambda lane: list(_lane(lane, timeout, delay, allow_private, stop)), lanes):
                fresh |= {result.url: result for result in results}
        url_cache.save(cache_path, {url: _packed(result) for url, result in fresh.items()}, now())
    found = {url: _unpacked(url, entry) for url, entry in known.items()} | fresh
    return {url: _for(url, found[urldefrag(url).url]) for url in wanted}


@contextmanager
def _pool(workers: int) -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    pool, stop = ThreadPoolExecutor(workers, "check-urls"), Event()
    try:
        yield pool, stop
    finally:
        # An interrupt must wait for the requests under way only.
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _lane(pages: list[str], timeout: float, delay: float, allow_private: bool, stop: Event) -> Iterator[UrlResult]:
    for nth, page in enumerate(pages):
        if nth and stop.wait(delay):
            return
        result = check_url(page, timeout, allow_private)
        if result.status == "error" and (result.code >= 500 or result.reason in ("timed out", "connection failed")):
            stop.wait(delay)
            result = check_url(page, timeout, allow_private)
        yield result


def check_url(url: str, timeout: float, allow_private: bool) -> UrlResult:
    """Ask for one address, following up to five redirects."""
    at, final, permanent = url, url, True
    for _ in range(MAX_REDIRECTS + 1):
        answer = _best_answer(at, timeout, allow_private)
        if answer.code not in _REDIRECTS or not answer.location:
            return _verdict(url, final, answer)
        at = answer.location
        permanent = permanent and answer.code in _PERMANENT
        final = at if permanent else final
    return UrlResult(url, "error", answer.code, reason="too many redirects")


def _best_answer(url: str, timeout: float, allow_private: bool) -> UrlResponse:
    answer = ask("HEAD", url, timeout, allow_private)
    # Many servers refuse or misroute HEAD; a page is only gone when GET says so too.
    if (400 <= answer.code < 500 and answer.code != 429) or answer.code == 501:
        answer = ask("GET", url, timeout, allow_private)
    return answer


def _verdict(url: str, final: str, answer: UrlResponse) -> UrlResult:
    if 200 <= answer.code < 300:
        return UrlResult(url, "ok" if final == url else "moved", answer.code, "" if final == url else final)
    if answer.code in _GONE:
        return UrlResult(url, "gone", answer.code, reason=answer.reason)
    return UrlResult(url, "error", answer.code, reason=answer.reason)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _packed(result: UrlResult) -> dict[str, object]:
    return {"status": result.status, "code": result.code, "final": result.final, "reason": result.reason}


def _unpacked(url: str, entry: dict[str, object]) -> UrlResult:
    code = entry["code"]
    return UrlResult(
        url, str(entry["status"]), code if isinstance(code, int) else 0, str(entry["final"]), str(entry["reason"]), True
    )


def _for(url: str, result: UrlResult) -> UrlResult:
    fragment = urldefrag(url).fragment
    if not fragment:
        return result
    moved = result.final and "#" not in result.final
    return replace(result, url=url, final=f"{result.final}#{fragment}" if moved else result.final)
