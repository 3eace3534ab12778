"""The page over HTTP, for this machine only: the page, its events, and the raw files that it links to.

Whatever else runs on this machine or in its browsers may send requests, so each must name us as its host (a name that
was bound anew to our address is refused), and no other site's page may load from here.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import socketserver
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from skill_health.core.errors import UsageError
from skill_health.page.serving.site import Site
from skill_health.trials.kept_files import open_below

if TYPE_CHECKING:
    from skill_health.page.serving.draft_pages import DraftPages


class Patient(Protocol):
    """A server that waits at most `patience` seconds."""

    patience: float


class TimedRequestHandler(BaseHTTPRequestHandler):
    """A request whose head has to be there in time, and of which each piece of the answer has to be taken in time."""

    server: Patient  # type: ignore[assignment]

    def setup(self) -> None:
        """A client that says nothing for so long is hung up on, as is one that says its request bit by bit."""
        super().setup()
        self.connection.settimeout(self.server.patience)
        self._late = threading.Timer(self.server.patience, self._hang_up)
        self._late.daemon = True
        self._late.start()

    def parse_request(self) -> bool:
        """Read the head of the request; with it the time for asking is over."""
        try:
            return super().parse_request()
        finally:
            self._late.cancel()

    def finish(self) -> None:
        """Let go of the connection."""
        self._late.cancel()
        super().finish()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


_SEPARATORS = ("/", "\\", "\0")
_MOST_NAMES = 64


def opened(folder: str, target: str) -> tuple[BinaryIO, int] | None:
    """The file that a URL's path (percent-encoded, with a slash before it) names below a folder, and its size in bytes.

    None for everything that is not a regular file there by this very path: a folder, a link or a file behind one, a
    hidden name or one in a hidden folder (a repository's, or keys), a path with an empty, parent or encoded-slash
    segment. The caller closes what is returned.
    """
    names = _names(target)
    if not names:
        return None
    try:
        base = os.path.realpath(folder)
        full = os.path.join(base, *names)
        # What the path leads to is where it says, unless a link is in it or the path is spelled in another way.
        if os.path.realpath(full) != full:
            return None
        handle = open_below(base, names)
    except (OSError, ValueError):
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return None
    return os.fdopen(handle, "rb"), status.st_size


def _names(target: str) -> list[str] | None:
    """The segments of a path as file names; None where one of them is no such name."""
    from urllib.parse import unquote_to_bytes

    if not target.startswith("/"):
        return None
    names = [os.fsdecode(unquote_to_bytes(part)) for part in target[1:].split("/")]
    if len(names) > _MOST_NAMES or not all(map(_is_name, names)):
        return None
    # A colon names another stream or drive there.
    return None if os.name == "nt" and any(":" in name for name in names) else names


def _is_name(name: str) -> bool:
    return not name.startswith(".") and name != "" and not any(each in name for each in _SEPARATORS)


HOST = "127.0.0.1"
_MOST_CONNECTIONS, _MOST_STREAMS = 64, 32
_HEARTBEAT = 15.0
_PIECE = 1 << 16
_TEXT, _PAGE = "text/plain; charset=utf-8", "text/html; charset=utf-8"
_RAW_POLICY = "sandbox; default-src 'none'"
_DRAFTS, _TRIALS = "/drafts", "/trials/"
_MOST_POSTED = 1 << 21


class Server(ThreadingHTTPServer):
    """A server on the loopback address. `folder` is the folder of the reports; `interval` is in seconds.

    Raises UsageError where the port cannot be had. Nothing that a client does ends it or holds up another client.
    """

    daemon_threads = True
    request_queue_size = 128
    # Elsewhere it would let two programs listen on one port.
    allow_reuse_address = os.name != "nt"

    def __init__(
        self,
        site: Site,
        folder: str,
        port: int = 0,
        interval: float = 1.0,
        patience: float = 20.0,
        drafts: Callable[[], DraftPages] | None = None,
    ) -> None:
        self.site, self.folder, self.interval, self.patience = site, folder, interval, patience
        self._open_drafts, self._drafts = drafts, threading.Lock()
        self._draft_pages: DraftPages | None = None
        self.stopping = threading.Event()
        self.streams = threading.BoundedSemaphore(_MOST_STREAMS)
        self._connections = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        try:
            super().__init__((HOST, port), PageHandler)
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror or error})"
            raise UsageError(f"port {port} {why}: name another one by --port, 0 for any that is free") from error
        own = [f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        self.names = frozenset([*own, *(name.rpartition(":")[0] for name in own if self.server_port == 80)])

    def draft_pages(self) -> DraftPages | None:
        """The pages of drafts, made when they are first asked for; None where there are none."""
        with self._drafts:
            if self._draft_pages is None and self._open_drafts is not None:
                self._draft_pages = self._open_drafts()
            return self._draft_pages

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"

    def server_bind(self) -> None:
        """Bind, and ask no name server for a name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, or hang up where too many are being answered."""
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is no error; anything else is told in one line, without what was asked for."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError) and sys.stderr is not None:
            print(f"a request failed: {type(error).__name__}", file=sys.stderr, flush=True)

    def server_close(self) -> None:
        """Stop listening and end the streams of events."""
        self.stopping.set()
        super().server_close()


class PageHandler(TimedRequestHandler):
    """One request."""

    server: Server
    server_version, sys_version = "skill-health", ""

    def do_GET(self) -> None:
        """Answer with the page, the page of a trial, the events or a raw file."""
        path = self.path.partition("?")[0]
        if self._refused():
            return
        if path == "/":
            status, page = self.server.site.page()
            self._say(status, page.encode("utf-8", "backslashreplace"), _PAGE, "frame-ancestors 'none'")
        elif path == "/events":
            self._events()
        elif path == _DRAFTS and (drafts := self.server.draft_pages()) is not None:
            self._say_draft(*drafts.page())
        elif path.startswith(_TRIALS) and (page := self.server.site.trial(path.removeprefix(_TRIALS))):
            self._say(HTTPStatus.OK, page.encode("utf-8", "backslashreplace"), _PAGE, "frame-ancestors 'none'")
        else:
            self._raw(path)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Carry out a decision on a draft; there is nothing else to post."""
        # The rest of what is refused is not read.
        self.close_connection = True
        if self._refused():
            return
        drafts = self.server.draft_pages() if self.path.partition("?")[0] == _DRAFTS else None
        if drafts is None:
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
        elif not self._is_own():
            self.send_error(HTTPStatus.FORBIDDEN)
        elif (fields := self._fields()) is None:
            self.send_error(HTTPStatus.BAD_REQUEST)
        else:
            self._say_draft(*drafts.decide(fields))

    def _is_own(self) -> bool:
        """Whether a form is on one of our own pages, as far as the browser says; one that says nothing is refused."""
        origins = self.headers.get_all("Origin", [])
        site = self.headers.get("Sec-Fetch-Site")
        known = {f"http://{name}" for name in self.server.names}
        named = len(origins) == 1 and origins[0].strip().lower() in known
        return named and site in (None, "same-origin")

    def _fields(self) -> dict[str, str] | None:
        """The fields of a form; None for anything else, or one that is too large."""
        from urllib.parse import parse_qsl

        length = self.headers.get("Content-Length", "")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded" or not length.isascii() or not length.isdigit():
            return None
        if int(length[:9]) > _MOST_POSTED or len(length) > 9:
            return None
        raw = self.rfile.read(int(length))
        try:
            pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict")
        except ValueError:
            return None
        return dict(pairs) if len(dict(pairs)) == len(pairs) else None

    def _say_draft(self, status: int, page: str) -> None:
        from skill_health.page.serving.draft_pages import POLICY

        # With no referrer at all a browser would not say where a form is from.
        self._say(status, page.encode("utf-8", "backslashreplace"), _PAGE, POLICY, "same-origin")

    def _refused(self) -> bool:
        """Refuse what is not meant for us, or comes from the page of another site."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.names:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return True
        foreign = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        if foreign and self.headers.get("Sec-Fetch-Mode") != "navigate":
            self.send_error(HTTPStatus.FORBIDDEN)
            return True
        return False

    def _raw(self, path: str) -> None:
        found = opened(self.server.folder, path)
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        file, size = found
        with file:
            self._head(HTTPStatus.OK, size, _TEXT, _RAW_POLICY)
            left = size if self.command != "HEAD" else 0
            while left > 0 and (part := file.read(min(left, _PIECE))):
                self.wfile.write(part)
                left -= len(part)

    def _events(self) -> None:
        """Tell each time that the page is another one, as long as the client listens."""
        server, seen = self.server, self.server.site.served
        if not server.streams.acquire(blocking=False):
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            self._head(HTTPStatus.OK, None, "text/event-stream", _RAW_POLICY)
            if self.command == "HEAD":
                return
            self.wfile.write(b"retry: 2000\n\n")
            silent = 0.0
            while not server.stopping.is_set():
                version = server.site.refresh(server.interval)
                silent += server.interval
                if version != seen or silent >= _HEARTBEAT:
                    self.wfile.write(b": \n\n" if version == seen else b"event: rebuilt\ndata: %d\n\n" % version)
                    seen, silent = version, 0.0
                # A client that listens says nothing more: what can be read is its end.
                if select.select([self.connection], [], [], server.interval)[0]:
                    return
        finally:
            server.streams.release()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say what is wrong in our own words: nothing of the request is repeated."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self.close_connection = True
        with suppress(OSError):
            self._say(status, f"{status.value} {status.phrase}\n".encode(), _TEXT, _RAW_POLICY)

    def _say(self, status: int, body: bytes, kind: str, policy: str, referrer: str = "no-referrer") -> None:
        self._head(status, len(body), kind, policy, referrer)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, size: int | None, kind: str, policy: str, referrer: str = "no-referrer") -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind, "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store", "Referrer-Policy": referrer, "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
        }  # fmt: skip
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        if size is not None:
            headers["Content-Length"] = str(size)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: what was asked for may hold anything."""
