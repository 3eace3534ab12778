"""The way out for hosts that a user has permitted: a proxy of ours, reached from a sandbox that has no network itself.

It passes on CONNECT and plain HTTP to hosts that are named, or to any public one, and to nothing else: neither this
machine nor its own network, whatever a name leads to.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket as sockets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from skill_health.effectiveness.gateway._sockets import begin_task, ended, listening, pass_on
from skill_health.effectiveness.tasks._image import NetworkGrant

PORT = 8182
"""Where it is found on 127.0.0.1 in a sandbox."""
_PORTS = frozenset((80, 443))
_CONNECTIONS = 128
_TIMEOUT = 30.0
_MOST_NAMES = 50
# Addresses of this machine, of the network it is in, and of no single machine at all.
_OWN = tuple(
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
        "224.0.0.0/3", "::/127", "fc00::/7", "fe80::/10", "ff00::/8",
    )
)  # fmt: skip


@dataclass(slots=True)
class ProxyTrace:
    """The hosts that were reached, and those that were asked for and refused, each with the reason."""

    reached: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def notes(self) -> tuple[str, ...]:
        """What there is to note of it."""
        found = []
        if self.reached:
            found.append(f"through the proxy: {', '.join(sorted(self.reached))}")
        if self.refused:
            found.append(
                f"refused by the proxy: {', '.join(f'{host} ({why})' for host, why in sorted(self.refused.items()))}"
            )
        return tuple(found)


class _Refused(Exception):
    """A request that is not passed on: the status and the reason."""


@contextlib.asynccontextmanager
async def open_proxy(grant: NetworkGrant | None, socket: str) -> AsyncIterator[ProxyTrace]:
    """Listen on a Unix socket until the context ends, which closes every connection; without a grant do nothing.

    Raises AbortedError where nothing can listen there.
    """
    trace = ProxyTrace()
    if grant is None:
        yield trace
        return
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(tasks) >= _CONNECTIONS:
            writer.transport.abort()
            return
        begin_task(tasks, _serve(reader, writer, grant, trace))

    async with ended(tasks), listening(accept, socket, "the proxy"):
        yield trace


async def _serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, grant: NetworkGrant, trace: ProxyTrace
) -> None:
    """One connection, of one request."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            head = await reader.readuntil(b"\r\n\r\n")
        host, port, first = _asked(head)
        there = await _connect(host, port, grant, trace)
    except _Refused as refused:
        writer.write(
            f"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\nX-Reason: {refused}\r\n\r\n".encode(
                "ascii", "replace"
            )
        )
        await _close(writer)
        return
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        await _close(writer)
        return
    other_reader, other = there
    try:
        if first:
            other.write(first)
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pass_on(reader, other), pass_on(other_reader, writer))
    finally:
        for each in (other, writer):
            each.transport.abort()


def _asked(head: bytes) -> tuple[str, int, bytes]:
    """Host and port of a request, and what is to be sent there first; nothing for CONNECT.

    Raises ValueError and _Refused.
    """
    line, _, rest = head.partition(b"\r\n")
    method, target, version = line.decode("ascii").split(" ")
    if method == "CONNECT":
        parts = urlsplit(f"//{target}")
        return parts.hostname or "", parts.port or 443, b""
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname:
        raise _Refused("only CONNECT and plain HTTP are passed on")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # One request for each connection: a second one could be for another host.
    dropped = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:", b"host:")
    headers = [each for each in rest.split(b"\r\n") if each and not each.lower().startswith(dropped)]
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = name if parts.port in (None, 80) else f"{name}:{parts.port}"
    start = [f"{method} {path} {version}".encode("ascii"), f"Host: {host}".encode("ascii"), b"Connection: close"]
    return parts.hostname, parts.port or 80, b"\r\n".join([*start, *headers]) + b"\r\n\r\n"


async def _connect(
    host: str, port: int, grant: NetworkGrant, trace: ProxyTrace
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a host that is permitted. Raises _Refused, and OSError where it cannot be reached."""
    why = ""
    if port not in _PORTS:
        why = f"port {port}"
    elif not grant.permits(host):
        why = "not permitted"
    else:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_TIMEOUT):
            found = await loop.getaddrinfo(host, port, type=sockets.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        open_ones = [each for each in addresses if not _is_own(each)]
        if open_ones:
            # The address that was looked at is the one that is asked, so that no second answer can be another.
            async with asyncio.timeout(_TIMEOUT):
                there = await asyncio.open_connection(open_ones[0], port)
            trace.reached[host] = trace.reached.get(host, 0) + 1
            return there
        why = "an address of this network"
    if len(trace.refused) < _MOST_NAMES:
        trace.refused[host[:100] or "?"] = why
    raise _Refused(why)


def _is_own(address: str) -> bool:
    """Whether an address is one of this machine or of its network."""
    found = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(found, "ipv4_mapped", None) or found
    return any(inner in network for network in _OWN if network.version == inner.version)


async def _close(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await writer.drain()
        writer.close()


def proxy_environment() -> dict[str, str]:
    """The variables by which programs find the proxy; what is on 127.0.0.1 itself is asked directly."""
    place = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    return {**dict.fromkeys(names, place), "no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"}
