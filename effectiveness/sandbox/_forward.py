"""A port inside a sandbox that has no network, joined to a Unix socket. Only the supervisor inside imports it."""

from __future__ import annotations

import _thread
import socket
from collections.abc import Callable
from contextlib import suppress


def connect(port: int, path: bytes) -> Callable[[], None]:
    """Open 127.0.0.1:port; the function that is returned joins everybody who comes with the socket, and never ends."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return lambda: _serve(listener, path)


def _serve(listener: socket.socket, path: bytes) -> None:
    while True:
        here = listener.accept()[0]
        there = socket.socket(socket.AF_UNIX)
        try:
            there.connect(path)
        except OSError:
            here.close()
            there.close()
            continue
        left = [here, there]
        for source, target in ((here, there), (there, here)):
            _thread.start_new_thread(_copy, (source, target, left))


def _copy(source: socket.socket, target: socket.socket, left: list[socket.socket]) -> None:
    """Pass on what comes until its end; the last of the two directions closes both."""
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
    left.remove(source)
    if not left:
        source.close()
        target.close()
