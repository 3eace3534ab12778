"""A loopback server that answers as GitHub's API and GitLab's do."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "ghs_Qz7Xw9Rt2Lm4Vb6Np8Ks3Jd5Hf1Gc0"
OURS, STRANGER = "github-actions[bot]", "mallory"


class ForgeServer:
    """Comments of one request, as both forges keep them, and what was asked."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.uploads: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        self.refuses = 0
        self.redirects = ""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def add(self, login: str, body: str) -> None:
        number = len(self.comments) + 1
        self.comments.append({"id": number, "user": {"login": login}, "author": {"id": login}, "body": body})

    def answer(self, method: str, path: str, headers: Any, values: Any) -> tuple[int, Any]:
        self.asked.append((method, path))
        if TOKEN not in (headers.get("Authorization") or "") + (headers.get("PRIVATE-TOKEN") or ""):
            return 401, {"message": "Bad credentials"}
        if self.refuses:
            return self.refuses, {"message": "Resource not accessible by integration"}
        own = OURS if headers.get("Authorization") else "7"
        place, _, query = path.partition("?")
        if place == "/user":
            return 200, {"id": "7"}
        if place.endswith("/code-scanning/sarifs"):
            self.uploads.append(values)
            return 202, {"id": "x"}
        if method == "GET" and re.fullmatch(
            r"/repos/o/r/issues/12/comments|/projects/34/merge_requests/5/notes", place
        ):
            page = int(re.search(r"[?&]page=(\d+)", "?" + query)[1])  # type: ignore[index]
            return 200, self.comments[(page - 1) * 100 : page * 100]
        if method == "POST" and re.fullmatch(
            r"/repos/o/r/issues/12/comments|/projects/34/merge_requests/5/notes", place
        ):
            self.add(own, values["body"])
            return 201, self.comments[-1]
        edited = re.fullmatch(r"/repos/o/r/issues/comments/(\d+)|/projects/34/merge_requests/5/notes/(\d+)", place)
        if method in ("PATCH", "PUT") and edited:
            comment = self.comments[int(edited[1] or edited[2]) - 1]
            comment["body"] = values["body"]
            return 200, comment
        return 404, {"message": "Not Found"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                if forge.redirects:
                    self.send_response(302)
                    self.send_header("Location", forge.redirects + self.path)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                code, values = forge.answer(self.command, self.path, self.headers, json.loads(raw) if raw else None)
                body = json.dumps(values).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
