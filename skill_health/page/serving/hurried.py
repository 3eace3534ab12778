"""Requests whose clients may not take their time: each holds a thread and one of the few places."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Protocol


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
