"""The page over HTTP: rebuilt when something changes, for this machine only, whatever is asked for."""

from __future__ import annotations

import builtins
import io
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from subprocess import PIPE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.cli import main
from skill_health.core.errors import UsageError
from skill_health.lint.pipeline import configure
from skill_health.page.request import PageOptions
from skill_health.page.serving.server import Server, opened
from skill_health.page.serving.site import Site, mark
from skill_health.page.serving.site import site as live_site

Said = pytest.CaptureFixture[str]
Write = Callable[[Mapping[str, str]], Path]
SKILL = "---\nname: {0}\ndescription: Sorts {0} by size. Use when {0} are out of order.\n---\n# {0}\n\nSort them.\n"
REBUILT = "It cannot be rebuilt"
PAGE = "<!DOCTYPE html><html><head><title><body></title></head>\n<body class=x><h1>{}</h1></body></html>"


class Made:
    """A site whose page says what it is told to, or fails."""

    def __init__(self) -> None:
        self.text, self.mark, self.error, self.builds = "one", "1", None, 0  # type: str, str, Exception | None, int
        self.site = Site(self.build, lambda: self.mark)

    def build(self) -> str:
        self.builds += 1
        if self.error:
            raise self.error
        return PAGE.format(self.text)

    def change(self, text: str = "", error: Exception | None = None) -> None:
        self.text, self.error = text or self.text, error
        self.mark += "."


class Client:
    """Sends bytes as they are, and reads what comes back."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def raw(self, data: bytes) -> bytes:
        with socket.create_connection(self.server.server_address[:2], timeout=600) as connection:
            # The server may hang up before it has read a request that is too large.
            try:
                connection.sendall(data)
            except ConnectionError:
                return b""
            found = b""
            try:
                while part := connection.recv(1 << 16):
                    found += part
            except ConnectionError:
                pass
            return found

    def __call__(
        self, target: str, method: str = "GET", host: str | None = "", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} {target} HTTP/1.1"]
        if host is not None:
            lines.append(f"Host: {host or f'127.0.0.1:{self.server.server_port}'}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        head, _, body = self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")).partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        told = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        return int(first.split()[1]), told, body


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def server(made: Made, tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "reports"
    folder.mkdir()
    with serving(Server(made.site, str(folder), 0, interval=0.02, patience=5)) as running:
        yield running


class serving:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Server:
        self.thread.start()
        return self.server

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def ask(server: Server) -> Client:
    return Client(server)


def test_the_page(ask: Client, made: Made) -> None:
    status, headers, body = ask("/")
    assert (status, body.decode()) == (200, PAGE.format("one"))
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "Python" not in headers["server"]
    ask("/?a=b")
    assert made.builds == 1
    made.change("two")
    assert b"two" in ask("/")[2] and made.builds == 2
    status, headers, body = ask("/", "HEAD")
    assert (status, body) == (200, b"") and int(headers["content-length"]) == len(PAGE.format("two"))


def test_a_build_that_fails_keeps_the_page_and_says_why(ask: Client, made: Made, capsys: Said) -> None:
    ask("/")
    made.change(error=UsageError("a <script>\n\x1b[31m\u202eb"))
    status, _, body = ask("/")
    line = REBUILT + r": a &lt;script&gt; \x1b[31m\u{202e}b</p>"
    assert status == 200 and body.count(b"role=") == 1
    assert all(part in body.decode() for part in ("<body class=x><p role=", line, "<h1>one</h1>"))
    assert capsys.readouterr().err == "not rebuilt: a <script> \\x1b[31m\\u{202e}b\n"
    made.change(error=ZeroDivisionError("no"))
    assert b"ZeroDivisionError: no" in ask("/")[2]
    made.change("three")
    assert ask("/")[2].decode() == PAGE.format("three")


def test_no_page_yet(ask: Client, made: Made) -> None:
    made.error = RuntimeError("<b>")
    status, _, body = ask("/")
    assert status == 503 and b"RuntimeError: &lt;b&gt;" in body and b"refresh" in body
    made.change("back")
    assert ask("/")[0] == 200


def test_a_mark_that_fails_does_no_harm() -> None:
    marks = iter(["1"])
    site = Site(lambda: "page", lambda: next(marks))
    assert site.page() == (200, "page") and site.page() == (200, "page")


def test_the_first_build_may_be_strict() -> None:
    def fail() -> str:
        raise UsageError("wrong")

    with pytest.raises(UsageError):
        Site(fail, lambda: "").refresh(strict=True)
    assert Site(fail, lambda: "").refresh() == 1


def test_it_is_looked_at_only_so_often() -> None:
    looks: list[int] = []

    def look() -> str:
        looks.append(1)
        return "same"

    site = Site(lambda: "page", look)
    for _ in range(50):
        site.refresh(60.0)
    assert len(looks) == 1
    site.page()
    assert len(looks) == 2


def stream(server: Server) -> socket.socket:
    connection = socket.create_connection(server.server_address[:2], timeout=600)
    connection.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{server.server_port}\r\n\r\n".encode())
    head = b""
    while b"retry: 2000\n\n" not in head:
        head += connection.recv(4096)
    assert b"200 OK" in head and b"Content-Type: text/event-stream" in head
    return connection


@pytest.mark.slow
def test_events(server: Server, ask: Client, made: Made) -> None:
    ask("/")
    with stream(server) as connection, stream(server) as other:
        made.change("two")
        for each in (connection, other):
            assert each.recv(4096) == b"event: rebuilt\ndata: 2\n\n"
        made.mark += "touched, and yet the same page"
        assert not select.select([connection], [], [], 0.15)[0]
        made.change(error=UsageError("broken"))
        assert connection.recv(4096) == b"event: rebuilt\ndata: 3\n\n"
    looked = made.builds
    while server.streams._value < 32:  # a stream ends when its client has gone
        time.sleep(0.01)
    made.change("three")
    time.sleep(0.1)
    assert made.builds == looked, "nothing is looked at while nobody is there"


def test_what_has_changed_before_the_stream_began_is_told(server: Server, ask: Client, made: Made) -> None:
    ask("/")
    made.change("two")
    with stream(server) as connection:
        assert connection.recv(4096).startswith(b"event: rebuilt\n")
    assert ask("/events", "HEAD")[2] == b""


def test_raw_files(ask: Client, server: Server) -> None:
    folder = Path(server.folder)
    (folder / "router" / "a b<é").mkdir(parents=True)
    (folder / "router" / "a b<é" / "report.html").write_bytes(b"<script>alert(1)</script>\xff")
    status, headers, body = ask("/router/a%20b%3C%C3%A9/report.html?x")
    assert (status, body) == (200, b"<script>alert(1)</script>\xff")
    assert headers["content-type"] == "text/plain; charset=utf-8" and headers["x-content-type-options"] == "nosniff"
    assert (
        headers["content-security-policy"] == "sandbox; default-src 'none'" and headers["cache-control"] == "no-store"
    )
    status, headers, body = ask("/router/a%20b%3C%C3%A9/report.html", "HEAD")
    assert (status, headers["content-length"], body) == (200, "26", b"")
    (folder / "big").write_bytes(bytes(range(256)) * 2048)
    assert ask("/big")[2] == bytes(range(256)) * 2048
    (folder / "empty").write_bytes(b"")
    assert ask("/empty")[::2] == (200, b"")


REFUSED = [
    "/router", "/router/", "//secret", "/router//report.json", "/../secret", "/%2e%2e/secret", "/router/../../secret",
    "/router/%2e%2e/%2e%2e/secret", "/..%2fsecret", "/router%2freport.json", "/router/..%5c..%5csecret", "/router\\report.json",
    "/%00", "/router/report.json%00", "/router/report.json/", "/router/report.json/x", "/link", "/linked/report.json",
    "/.git/config", "/%2egit/config", "/pipe", "/nothing", "/./router/report.json", "/%", "/%zz", "/events/", "/" + "a" * 5000,
    "/router/%ff%fe", "/%E2%80%AE", "/C:/secret", "/router/report.json;x", "/%252e%252e/secret",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="links and pipes are others there")
def test_nothing_else_is_given_away(ask: Client, server: Server, tmp_path: Path) -> None:
    folder = Path(server.folder)
    (folder / "router").mkdir()
    (folder / "router" / "report.json").write_text("fine")
    (tmp_path / "secret").write_text("secret")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "linked").symlink_to(folder / "router")
    os.mkfifo(folder / "pipe")
    assert ask("/router/report.json")[2] == b"fine"
    for target in [*REFUSED, str(tmp_path / "secret"), "/" + str(tmp_path / "secret")]:
        status, _, body = ask(target)
        assert (status, body) == (404, b"404 Not Found\n"), target


@given(st.text() | st.lists(st.sampled_from(["..", "%2e", "%2f", "/", "\\", "a", "%00", "b.json", "."])).map("".join))
def test_no_path_leads_out(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.getbasetemp() / "out"
    (root / "in").mkdir(parents=True, exist_ok=True)
    for place in (root / "a", root / "in" / "a", root / "b.json"):
        place.write_text(place.parent.name)
    found = opened(str(root / "in"), f"/{path}")
    if found:
        with found[0] as file:
            assert file.read() == b"in"


def test_other_hosts_and_other_sites_are_refused(ask: Client, server: Server) -> None:
    port = server.server_port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", f"LocalHost:{port}"):
        assert ask("/", host=host)[0] == 200
    for wrong in (
        "evil.example", f"evil.example:{port}", "localhost", f"localhost:{port + 1}", f"localhost:{port}.evil",
        "0.0.0.0",
    ):  # fmt: skip
        assert ask("/", host=wrong)[0] == 421, wrong
    assert ask("/", host=None)[0] == 421
    assert ask("/", host=None, Host=f"localhost:{port}\r\nHost: evil.example")[0] == 421
    for target in ("/", "/events", "/router/report.json"):
        assert ask(target, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert ask("/", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0] == 200


def test_bad_requests(ask: Client, server: Server, capsys: Said) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "<b>"):
        status, headers, body = ask("/", method)
        assert (status, headers["allow"], body) == (405, "GET, HEAD", b"405 Method Not Allowed\n")
    host = f"Host: localhost:{server.server_port}\r\n".encode()
    for data, wanted in (
        (b"GET http://evil.example/ HTTP/1.1\r\n" + host + b"\r\n", b" 404 "),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n", b" 414 "),
        (b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 70_000 + b"\r\n\r\n", b" 431 "),
        (b"GET / HTTP/1.1\r\n" + host + b"X: a\r\n" * 300 + b"\r\n", b" 431 "),
        (b"GET / HTTP/<b>\x1b[31m\r\n\r\n", b" 400 "),
        (b"\x16\x03\x01\x02\r\n\r\n", b" 400 "),
        (b"\x00" * 100 + b"\r\n\r\n", b" 400 "),
    ):
        answer = ask.raw(data)
        assert not answer or wanted in answer[:30] or wanted.strip() in answer[:5], data[:60]
        assert b"<b>" not in answer and b"\x1b" not in answer
    assert ask("/")[0] == 200
    assert capsys.readouterr() == ("", "")


def test_a_slow_client_holds_up_nobody(made: Made, tmp_path: Path) -> None:
    with serving(Server(made.site, str(tmp_path), 0, patience=600)) as server:
        slow = [socket.create_connection(server.server_address[:2]) for _ in range(20)]
        for each in slow:
            each.sendall(b"GET / HT")
        assert Client(server)("/")[0] == 200
        assert select.select(slow, [], [], 0)[0] == [], "they are waited for still"
        for each in slow:
            each.close()


def test_a_slow_client_is_hung_up_on(made: Made, tmp_path: Path) -> None:
    with (
        serving(Server(made.site, str(tmp_path), 0, patience=0.05)) as server,
        socket.create_connection(server.server_address[:2]) as slow,
    ):
        slow.sendall(b"GET / HT")
        assert slow.recv(100) == b""


def test_too_many_clients_are_hung_up_on_and_room_is_made_again(server: Server, ask: Client) -> None:
    many = [socket.create_connection(server.server_address[:2], timeout=600) for _ in range(80)]
    while len(ended := select.select(many, [], [])[0]) < 16:
        time.sleep(0.01)
    assert len(ended) == 16 and all(each.recv(1) == b"" for each in ended)
    for each in many:
        each.close()
    while not ask.raw(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()):
        time.sleep(0.01)


def test_only_loopback_and_a_port_in_use(server: Server, capsys: Said, write: Write) -> None:
    assert server.server_address[0] == "127.0.0.1"
    root = write({"skills/plums/SKILL.md": SKILL.format("plums")})
    assert main(["serve", str(root), "--port", str(server.server_port)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"skill-health: error: port {server.server_port} is in use: name another one by --port")
    assert main(["serve", str(root / "nowhere")]) == 2
    assert main(["serve", str(root), "--port", "70000"]) == 2


def collection(write: Write) -> Path:
    return write({
        "skill-health.toml": "", "registries/claims.jsonl": "", "reports/skill-health-history.jsonl": "",
        **{f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("plums", "pears")},
        "skills/plums/references/more.md": "# More\n", "tasks/one/metadata.json": "{}", "tasks/one/task.md": "Do it.",
        "reports/router/run-1/report.json": "{}",
    })  # fmt: skip


CHANGES = {
    "skills/plums/SKILL.md": "---\nname: plums\n---\n", "skills/plums/references/more.md": "# Less\n\nAnd less.\n",
    "skills/figs/SKILL.md": SKILL.format("figs"), "registries/claims.jsonl": "{}\n", "registries/prompts.jsonl": "{}\n",
    "tasks/one/metadata.json": '{"a": 1}', "tasks/one/task.md": "Do it well.", "tasks/two/metadata.json": "{}",
    "skill-health.toml": 'exclude = ["x"]\n', ".gitignore": "plums\n", "skill-health-baseline.json": "{}",
    "reports/skill-health-history.jsonl": "{}\n", "reports/skill-health-states.jsonl": "{}\n",
    "reports/router-history.jsonl": "{}\n", "reports/effectiveness-history.jsonl": "{}\n",
    "reports/router/run-1/report.json": '{"a": 1}', "reports/effectiveness/run-2/report.json": "{}",
}  # fmt: skip


def test_a_change_is_seen_and_what_is_not_ours_is_not(write: Write) -> None:
    root = collection(write)
    _, config = configure((str(root),), None, {})
    before = mark((str(root),), config, str(root / "reports"))
    assert mark((str(root),), config, str(root / "reports")) == before
    write({"src/other.py": "x", "README.md": "y"})
    assert mark((str(root),), config, str(root / "reports")) == before
    for path, text in CHANGES.items():
        write({path: text})
        after = mark((str(root),), config, str(root / "reports"))
        assert after != before, path
        before = after
    (root / "skills" / "pears" / "SKILL.md").unlink()
    assert mark((str(root),), config, str(root / "reports")) != before


@pytest.mark.slow
def test_looking_opens_no_document(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"skills/s{n}/SKILL.md": SKILL.format(f"s{n}") for n in range(10)}
    files |= {f"skills/s{n}/references/r{m}.md": "# R\n" for n in range(10) for m in range(5)}
    files |= {f"tasks/t{n}/metadata.json": "{}" for n in range(50)}
    files |= {f"reports/{kind}/run-{n}/report.json": "{}" for n in range(30) for kind in ("router", "effectiveness")}
    root = write({"skill-health.toml": "", **files})
    _, config = configure((str(root),), None, {})
    opened: list[str] = []
    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda path, *more, real=real, **m: opened.append(path) or real(path, *more, **m)
        )
    mark((str(root),), config, str(root / "reports"))
    assert not [path for path in map(str, opened) if path.endswith((".md", ".json"))]


@pytest.mark.slow
def test_an_edit_leads_to_another_page(write: Write) -> None:
    root = collection(write)
    site, folder = live_site(
        (str(root),), PageOptions(True, 1, date(2026, 11, 20), None, None, None), lambda: date(2026, 11, 20)
    )
    assert folder == str(root / "reports")
    status, page = site.page()
    assert status == 200 and "plums" in page and "</html>" in page and "figs" not in page
    assert "EventSource" in page
    write({"skills/figs/SKILL.md": SKILL.format("figs")})
    assert "figs" in site.page()[1]
    write({"skill-health.toml": "nonsense = ["})
    status, page = site.page()
    assert status == 200 and REBUILT in page and "figs" in page
    write({"skill-health.toml": ""})
    assert REBUILT not in site.page()[1]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_the_command(write: Write) -> None:
    root = collection(write)
    command = [sys.executable, "-m", "skill_health", "serve", str(root), "--port", "0", "--open"]
    # A browser that notes what it was given and is gone.
    browser = root / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{root}/opened"\n')
    browser.chmod(0o755)
    env = os.environ | {"BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, cwd=root, env=env) as process:
        assert process.stdout and process.stderr
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/ shows the page; press Ctrl-C to stop\n", line)
            assert found, line
            with socket.create_connection(("127.0.0.1", int(found[1])), timeout=600) as connection:
                connection.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{found[1]}\r\n\r\n".encode())
                assert b"200 OK" in connection.recv(4096)
                process.send_signal(signal.SIGINT)
                assert process.wait(600) == 130
            assert process.stderr.read() == "skill-health: interrupted\n" and process.stdout.read() == ""
            assert (root / "opened").read_text() == line.split()[0] + "\n"
        finally:
            process.kill()
