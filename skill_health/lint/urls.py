"""Checking external links: opt-in, concurrent, cached and polite. Nothing else in the linter uses the network."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from threading import Event
from typing import Any, Literal
from urllib.parse import SplitResult, quote, urldefrag, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from skill_health import __version__
from skill_health.config.settings import Config
from skill_health.core.files import read_bytes, read_whole, replace_file
from skill_health.lint import pipeline
from skill_health.lint.cache import cache_folder
from skill_health.lint.check import FileContext, as_findings, load_skill
from skill_health.lint.pipeline import LintResult
from skill_health.lint.report import LintReport
from skill_health.registries.records import Registries
from skill_health.rules._api import Finding, Rule
from skill_health.rules._load import all_rules
from skill_health.rules.ignores import _comments
from skill_health.rules.links import dead_url
from skill_health.skill.model import Skill

DAY = 86_400
UrlStatus = Literal["ok", "moved", "gone", "error"]
# An address that answered is checked again after a week, any other after a day.
FRESH_DAYS: Mapping[UrlStatus, int] = {"ok": 7, "moved": 7, "gone": 1, "error": 1}


class CachedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """What an address answered, and when."""

    status: UrlStatus
    code: int
    final: str
    reason: str
    at: float


class UrlCache(msgspec.Struct, frozen=True):
    """The file of the cache."""

    format: Literal[1]
    urls: Mapping[str, CachedUrl]


def load(path: str | None, now: float) -> dict[str, CachedUrl]:
    """The entries that are still fresh, by address; {} without a file or where it is damaged."""
    if path is None:
        return {}
    try:
        known = msgspec.json.decode(read_whole(path, 64 << 20), type=UrlCache)
    except (OSError, ValueError, RecursionError):
        return {}
    return {
        url: entry for url, entry in known.urls.items() if 0 <= now - entry.at < FRESH_DAYS.get(entry.status, 0) * DAY
    }


def save(path: str | None, entries: Mapping[str, CachedUrl], now: float) -> None:
    """Add entries to the file. A cache that cannot be written is no reason to fail."""
    if path is None:
        return
    merged = UrlCache(1, dict(sorted({**load(path, now), **entries}.items())))
    blob = msgspec.json.format(msgspec.json.encode(merged), indent=1).decode()
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        replace_file(path, f"{blob}\n".encode(), private=True)
    except OSError:
        return


_HEADERS = {"User-Agent": f"skill-health/{__version__} (link checker)", "Accept": "*/*"}
_NAT64 = IPv6Network("64:ff9b::/96")
_URL_SAFE = "/%:=&?~#+!$,;'@()*[]"
_LOCAL_NAMES = (".localhost", ".local", ".internal", ".localdomain", ".home.arpa")


@dataclass(frozen=True, slots=True)
class UrlResponse:
    """The HTTP status (0 without one), the absolute target of a redirect, and in words what went wrong."""

    code: int
    location: str = ""
    reason: str = ""


class RefusedUrl(Exception):
    """The address must not be requested."""


def ask(method: str, url: str, timeout: float, allow_private: bool) -> UrlResponse:
    """Send one request without a body and read the head of the answer. Never raises, whatever the server does."""
    try:
        parts = urlsplit(url)
        connection = _connection(parts, timeout, allow_private)
        return _exchange(connection, method, url, parts, timeout)
    except RefusedUrl as error:
        return UrlResponse(0, reason=str(error))
    except TimeoutError:
        return UrlResponse(0, reason="timed out")
    except socket.gaierror:
        return UrlResponse(0, reason="no such host")
    except ssl.SSLError as error:
        return UrlResponse(0, reason=f"TLS: {error.reason or 'failed'}".replace("_", " ").lower())
    except (OSError, http.client.HTTPException):
        return UrlResponse(0, reason="connection failed")
    except (ValueError, UnicodeError):
        return UrlResponse(0, reason="not a valid address")


def _exchange(
    connection: http.client.HTTPConnection, method: str, url: str, parts: SplitResult, timeout: float
) -> UrlResponse:
    path = quote(parts.path or "/", safe=_URL_SAFE) + (f"?{quote(parts.query, safe=_URL_SAFE)}" if parts.query else "")
    proxied = isinstance(connection, _ThroughProxy)
    # The socket's own timeout bounds each read only; a server that drips bytes is cut off here.
    late = threading.Event()
    watchdog = threading.Timer(2 * timeout, _abort, [connection, late])
    watchdog.daemon = True
    watchdog.start()
    try:
        connection.request(method, quote(url, safe=_URL_SAFE) if proxied else path, headers=_HEADERS)
        with connection.getresponse() as response:
            location = response.getheader("Location", "")
        reason = f"{response.status} {http.client.responses.get(response.status, '')}".strip()
        return UrlResponse(response.status, urljoin(url, location) if location else "", reason)
    except (OSError, http.client.HTTPException):
        if late.is_set():
            raise TimeoutError from None
        raise
    finally:
        watchdog.cancel()
        connection.close()


def _abort(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    late.set()
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def _connection(parts: SplitResult, timeout: float, allow_private: bool) -> http.client.HTTPConnection:
    if parts.scheme not in ("http", "https"):
        raise RefusedUrl(f"{parts.scheme or 'no'} scheme: only http and https are checked")
    if parts.username or parts.password:
        raise RefusedUrl("the address contains credentials")
    name = (parts.hostname or "").rstrip(".")
    if not name:
        raise ValueError("no host")
    host = name if ":" in name else name.encode("idna").decode("ascii").lower()
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    local = not _is_literal(host) and ("." not in host or host.endswith(_LOCAL_NAMES))
    if not allow_private and local:
        raise RefusedUrl("a private address")
    proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
    if proxy and not (allow_private and _is_literal(host)):
        if not allow_private and _is_literal(host) and not is_public(host):
            raise RefusedUrl("a private address")
        return _through(proxy, host, port, secure, timeout)
    address = _resolve(host, port, allow_private)
    if secure:
        return _PinnedTLS(host, port, address, timeout)
    return _Pinned(host, port, address, timeout)


def _resolve(host: str, port: int, allow_private: bool) -> str:
    found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not allow_private and not all(is_public(address) for address in found):
        raise RefusedUrl("a private address")
    # IPv4 first: machines without a working IPv6 route are common, and one address must do.
    return next((address for address in found if ":" not in address), found[0])


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet, also where IPv6 wraps an IPv4 address."""
    ip: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        wrapped = ip.ipv4_mapped or ip.sixtofour or (IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        if wrapped is not None:
            return is_public(str(wrapped))
        if ip.teredo is not None:
            return False
    return ip.is_global and not ip.is_multicast


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class _Pinned(http.client.HTTPConnection):
    def __init__(self, host: str, port: int, address: str, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), self.timeout)


class _PinnedTLS(http.client.HTTPSConnection):
    def __init__(self, host: str, port: int, address: str, timeout: float) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, timeout=timeout, context=self._tls)
        self._address = address

    def connect(self) -> None:
        plain = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)


class _ThroughProxy(http.client.HTTPConnection):
    """Plain HTTP through a proxy, which is sent the whole address."""


def _through(proxy: str, host: str, port: int, secure: bool, timeout: float) -> http.client.HTTPConnection:
    server = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if not server.hostname:
        raise RefusedUrl("the proxy of the environment has no host")
    at = server.port or 80
    if not secure:
        return _ThroughProxy(server.hostname, at, timeout=timeout)
    tunnel = http.client.HTTPSConnection(server.hostname, at, timeout=timeout, context=ssl.create_default_context())
    tunnel.set_tunnel(host, port)
    return tunnel


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
    status: UrlStatus
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
    """Request every address once; the results are in the order of the addresses.

    `timeout` (seconds) bounds each wait for a server; at most `per_host` requests to one host run at once, each
    `delay` seconds after the one before. Without `allow_private` nothing is sent to addresses that are not
    public. What is still fresh in `cache_path` is not requested again. Never raises, whatever the server does.
    """
    wanted = sorted(set(urls))
    pages = sorted({urldefrag(url).url for url in wanted})
    known = load(cache_path, now())
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
        save(cache_path, {url: _cached(result, now()) for url, result in fresh.items()}, now())
    found = {
        url: UrlResult(url, each.status, each.code, each.final, each.reason, True) for url, each in known.items()
    } | fresh
    return {url: _for(url, found[urldefrag(url).url]) for url in wanted}


@contextmanager
def _pool(workers: int) -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    pool, stop = ThreadPoolExecutor(workers, "check-urls"), Event()
    try:
        yield pool, stop
    finally:
        # An interrupt need only wait for the requests under way.
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
    """Request one address, following up to five redirects."""
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


def _cached(result: UrlResult, at: float) -> CachedUrl:
    return CachedUrl(status=result.status, code=result.code, final=result.final, reason=result.reason, at=at)


def _for(url: str, result: UrlResult) -> UrlResult:
    fragment = urldefrag(url).fragment
    if not fragment:
        return result
    moved = result.final and "#" not in result.final
    return replace(result, url=url, final=f"{result.final}#{fragment}" if moved else result.final)


def with_urls(report: LintReport, result: LintResult, config: Config) -> LintReport:
    """Check every external address of the skills in the report; add what is gone or has moved, and list them all."""
    rule = next(rule for rule in all_rules() if rule.code == dead_url.CODE)
    read = _skills(report, result, config)
    facts: dict[str, dict[str, Any]] = {s.path: {dead_url.CODE: dead_url.collect(s, context)} for s, context in read}
    results = check_urls(dead_url.addresses(facts), cache_folder.own_path(cache_folder.URLS))
    findings: list[Finding] = []
    silenced = 0
    for skill, context in read:
        new = _findings(rule, skill, context, facts[skill.path], results)
        left, _ = _comments.apply(new, _comments.read_ignores(skill))
        silenced += len(new) - len(left)
        findings += [pipeline.graded(f, config) for f in left if not pipeline.off_here(f, config)]
    unknown = sorted({found.reason or "no answer" for found in results.values() if found.status == "error"})
    failed = sum(found.status == "error" for found in results.values())
    note = f"{failed} of {len(results)} addresses could not be checked: {', '.join(unknown[:3])}"
    return report._replace(
        warnings=report.warnings + ((note,) if failed else ()),
        findings=tuple(sorted({*report.findings, *findings}, key=pipeline.place)),
        ignored=report.ignored + silenced,
        urls=results,
    )


def _skills(report: LintReport, result: LintResult, config: Config) -> list[tuple[Skill, FileContext]]:
    read = []
    for entry in report.skills:
        if not entry.problem:
            data, problem = read_bytes(os.path.join(result.root, entry.path))
            context = FileContext(result.root, config, Registries())
            read.append((load_skill(entry, data, problem), context))
    return read


def _findings(
    rule: Rule, skill: Skill, context: FileContext, facts: dict[str, Any], results: dict[str, UrlResult]
) -> list[Finding]:
    return as_findings(rule, dead_url.hits_for(results, {skill.path: facts}), skill, context)
