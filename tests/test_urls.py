"""External links, asked of a real server on the loopback interface."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fixture_types import Run

from skill_health.lint import urls
from skill_health.lint.urls import UrlResult, check_urls
from skill_health.rules.links import dead_url

DAY = 86_400


@dataclass
class Site:
    """A running server, what it was asked and how many requests it served at once."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    busy: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


REDIRECTS = {
    "/moved": (301, "/ok"), "/twice": (308, "/moved"), "/for-now": (302, "/ok"),
    "/moved-then-for-now": (301, "/for-now"), "/loop": (301, "/loop"), "/moved-to-gone": (301, "/gone"),
    "/elsewhere": (302, "http://127.0.0.2:1/private"), "/to-file": (302, "file:///etc/hosts"), "/nowhere": (302, ""),
}  # fmt: skip
STATUS = {"/gone": 404, "/gone-for-good": 410, "/login": 401, "/busy": 429, "/broken": 500}


class Handler(BaseHTTPRequestHandler):
    site: Site

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        site, path = self.site, urlsplit(self.path).path
        with site.lock:
            site.asked.append(f"{self.command} {self.path}")
            site.busy += 1
            site.most = max(site.most, site.busy)
            again = site.asked.count(f"{self.command} {self.path}") > 1
        try:
            self.reply(path, again)
        except OSError:
            self.close_connection = True
        finally:
            with site.lock:
                site.busy -= 1

    def reply(self, path: str, again: bool) -> None:
        if path == "/slow":
            time.sleep(0.7)
        if path.startswith("/crowd"):
            time.sleep(0.05)
        if path == "/drip":
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 100:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
            return
        if path == "/garbage":
            self.wfile.write(b"\x00\xff not http \r\n\r\n")
            return
        code, location = REDIRECTS.get(path, (STATUS.get(path, 200), ""))
        if path == "/flaky" and not again:
            code = 503
        if self.command == "HEAD" and path in ("/no-head", "/head-lies"):
            code = {"/no-head": 405, "/head-lies": 404}[path]
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    state = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"site": state}))
    server.daemon_threads = True
    state.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def ask(site: Site, *paths: str, cache: Path | None = None, at: float = 0.0, timeout: float = 0.3) -> list[UrlResult]:
    urls = [site(path) for path in paths]
    cache_path = str(cache) if cache else None
    found = check_urls(urls, cache_path, timeout=timeout, delay=0.0, allow_private=True, now=lambda: at)
    return [found[url] for url in urls]


@pytest.mark.parametrize(
    ("path", "status", "code", "final"),
    [
        ("/ok", "ok", 200, ""), ("/ok?a=b c&ü", "ok", 200, ""), ("/no-head", "ok", 200, ""),
        ("/head-lies", "ok", 200, ""), ("/gone", "gone", 404, ""), ("/gone-for-good", "gone", 410, ""),
        ("/login", "error", 401, ""), ("/busy", "error", 429, ""), ("/broken", "error", 500, ""),
        ("/flaky", "ok", 200, ""), ("/moved", "moved", 200, "/ok"), ("/twice", "moved", 200, "/ok"),
        ("/for-now", "ok", 200, ""), ("/moved-then-for-now", "moved", 200, "/for-now"),
        ("/moved-to-gone", "gone", 404, ""), ("/loop", "error", 301, ""), ("/nowhere", "error", 302, ""),
        ("/to-file", "error", 0, ""), ("/garbage", "error", 0, ""),
    ],
)  # fmt: skip
def test_answers(site: Site, path: str, status: str, code: int, final: str) -> None:
    [result] = ask(site, path)
    assert (result.status, result.code) == (status, code)
    assert result.final == (site(final) if final else "")


def test_gone_takes_a_get_and_failures_are_tried_twice(site: Site) -> None:
    ask(site, "/gone", "/broken", "/busy", "/ok")
    assert Counter(site.asked) == {
        "HEAD /gone": 1, "GET /gone": 1, "HEAD /broken": 2, "HEAD /busy": 1, "HEAD /ok": 1,
    }  # fmt: skip


def test_at_most_five_redirects(site: Site) -> None:
    [result] = ask(site, "/loop")
    assert result.reason == "too many redirects"
    assert len(site.asked) == 6


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/slow", "/drip"])
def test_slow_servers_are_cut_off(site: Site, path: str) -> None:
    [result] = ask(site, path, timeout=0.2)
    assert (result.status, result.reason) == ("error", "timed out")


def test_fragments_share_one_request(site: Site) -> None:
    first, second, moved = ask(site, "/ok#one", "/ok#two", "/moved#part")
    assert first.status == second.status == "ok"
    assert moved.final == site("/ok#part")
    assert sorted(site.asked) == ["HEAD /moved", "HEAD /ok", "HEAD /ok"]


def test_a_failed_handshake_says_nothing_about_the_link(site: Site) -> None:
    url = site("/ok").replace("http:", "https:")
    result = check_urls([url], timeout=0.3, delay=0, allow_private=True)[url]
    assert result.status == "error"


@pytest.mark.slow
def test_polite_and_in_order(site: Site) -> None:
    paths = [f"/crowd/{n:02}" for n in range(12)]
    found = check_urls([site(p) for p in reversed(paths)], timeout=60, delay=0.01, per_host=2, allow_private=True)
    assert list(found) == [site(p) for p in paths]
    assert site.most <= 2


def test_nobody_there() -> None:
    # A port that is bound and not listened at refuses everybody, and nobody else can take it meanwhile.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/"
        assert check_urls([url], delay=0, allow_private=True)[url].reason == "connection failed"


PRIVATE, INVALID, SCHEMES = "a private address", "not a valid address", "only http and https are checked"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:{port}/ok", PRIVATE), ("http://localhost:{port}/ok", PRIVATE),
        ("http://[::1]:{port}/ok", PRIVATE), ("http://[::ffff:127.0.0.1]:{port}/ok", PRIVATE),
        ("http://169.254.169.254/latest/meta-data", PRIVATE),
        ("http://0/ok", PRIVATE), ("http://printer.local/ok", PRIVATE), ("http://intranet/ok", PRIVATE),
        ("file:///etc/hosts", f"file scheme: {SCHEMES}"),
        ("ftp://ftp.acme.dev/a", f"ftp scheme: {SCHEMES}"),
        ("javascript:alert(1)", f"javascript scheme: {SCHEMES}"),
        ("http://user:secret@127.0.0.1:{port}/ok", "the address contains credentials"),
        ("http://", INVALID), ("http://[bad/ok", INVALID), ("http://127.0.0.1:99999/ok", INVALID),
        ("http://" + "a" * 70 + ".dev/", INVALID),
    ],
)  # fmt: skip
def test_what_is_never_asked(site: Site, url: str, reason: str) -> None:
    url = url.format(port=site.port) if "{port}" in url else url
    result = check_urls([url], delay=0)[url]
    assert (result.status, result.code, result.reason) == ("error", 0, reason)
    assert site.asked == []


def test_a_redirect_leads_to_no_private_address(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "is_public", lambda address: address == "127.0.0.1")
    url = site("/elsewhere")
    result = check_urls([url], delay=0)[url]
    assert (result.status, result.reason) == ("error", PRIVATE)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1:248:1893:25c8:1946", True), ("10.0.0.1", False),
        ("192.168.1.1", False), ("100.64.0.1", False), ("224.0.0.1", False), ("0.0.0.0", False), ("fe80::1%eth0", False),
        ("fd00::1", False), ("64:ff9b::a00:1", False), ("2002:a00:1::", False), ("2001::1", False), ("::", False),
    ],
)  # fmt: skip
def test_public_addresses(address: str, public: bool) -> None:
    assert urls.is_public(address) is public


def test_a_proxy_is_asked_for_the_whole_address(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", site(""))
    found = check_urls(["http://docs.acme.dev/ok", "http://10.0.0.1/ok"], delay=0)
    assert [result.status for result in found.values()] == ["error", "ok"]
    assert site.asked == ["HEAD http://docs.acme.dev/ok"]


def test_cache(site: Site, tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "urls.json"
    first = ask(site, "/ok", "/gone", "/moved", cache=cache)
    asked = len(site.asked)
    again = ask(site, "/ok", "/gone", "/moved", cache=cache, at=0.9 * DAY)
    assert len(site.asked) == asked
    assert [(r.status, r.code, r.final) for r in again] == [(r.status, r.code, r.final) for r in first]
    assert all(result.cached for result in again)
    ask(site, "/ok", "/gone", "/moved", cache=cache, at=2 * DAY)
    assert site.asked[asked:] == ["HEAD /gone", "GET /gone"]
    ask(site, "/ok", cache=cache, at=8 * DAY)
    assert site.asked[-1] == "HEAD /ok"
    assert list(cache.parent.iterdir()) == [cache]


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"format": 2, "urls": {}}', '{"format": 1, "urls": {"x": 1}}', "\xff"]
)
def test_a_damaged_cache_is_no_cache(site: Site, tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "urls.json"
    cache.write_text(damage, encoding="latin-1")
    [result] = ask(site, "/ok", cache=cache)
    assert not result.cached
    assert list(json.loads(cache.read_text("utf-8"))["urls"]) == [site("/ok")]


@pytest.mark.slow
def test_lint_asks_and_reports(site: Site, tmp_path: Path, run: Run) -> None:
    skill = tmp_path / "skills" / "forms"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: forms\ndescription: Fills forms. Use when a form is to be filled.\n---\n"
        "[a](http://docs.acme.dev/gone) and http://docs.acme.dev/moved, [b](http://docs.acme.dev/ok)\n\n"
        "<!-- skill-health: ignore LI016 it comes back -->\n[c](http://docs.acme.dev/gone-for-good)\n"
    )
    (skill / "references" / "r.md").write_text(
        "See references/r.md: [d](http://docs.acme.dev/gone), http://localhost/x\n"
    )
    proxy = {"http_proxy": site(""), "no_proxy": "", "NO_PROXY": ""}
    done = run(
        "lint", "--select", "LI016", "--check-urls", "--format", "json", "--fail-on", "warning", str(tmp_path),
        env=proxy,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    report = json.loads(done.stdout)
    found = [(f["path"], f["line"], f["severity"], f["message"]) for f in report["findings"]]
    assert found == [
        ("skills/forms/SKILL.md", 5, "warning", "http://docs.acme.dev/gone is gone: 404 Not Found"),
        ("skills/forms/SKILL.md", 5, "info", "http://docs.acme.dev/moved has moved for good"),
        ("skills/forms/references/r.md", 1, "warning", "http://docs.acme.dev/gone is gone: 404 Not Found"),
    ]
    statuses = {entry["url"].rpartition("/")[2]: entry["status"] for entry in report["urls"]}
    assert statuses == {"gone": "gone", "gone-for-good": "gone", "moved": "moved", "ok": "ok"}
    asked = len(site.asked)
    assert run("lint", "--select", "LI016", "--check-urls", str(tmp_path), env=proxy).returncode == 0
    assert len(site.asked) == asked


def test_hits_follow_from_answers() -> None:
    facts = {
        "a/SKILL.md": {"LI016": [["http://x.dev/1", "a/SKILL.md", 3, 1, 9], ["http://x.dev/1", "a/SKILL.md", 5, 1, 9]]},
        "b/SKILL.md": {"LI016": [["http://x.dev/2", "b/r.md", 2, 4, 9], ["http://x.dev/3", "b/r.md", 2, 14, 19]]},
    }
    assert dead_url.addresses(facts) == ["http://x.dev/1", "http://x.dev/2", "http://x.dev/3"]
    results = {
        "http://x.dev/1": UrlResult("http://x.dev/1", "gone", 404, reason="404 Not Found"),
        "http://x.dev/2": UrlResult("http://x.dev/2", "moved", 200, final="http://x.dev/9"),
        "http://x.dev/3": UrlResult("http://x.dev/3", "error", reason="timed out"),
    }
    hits = list(dead_url.hits_for(results, facts))
    assert [(hit.path, hit.span.line, hit.severity and hit.severity.value) for hit in hits] == [
        ("a/SKILL.md", 3, None), ("b/r.md", 2, "info"),
    ]  # fmt: skip
    assert hits[0].message == "http://x.dev/1 is gone: 404 Not Found"
    assert hits[1].help == "write http://x.dev/9"
