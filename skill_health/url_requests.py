"""One HTTP request to one address, never to a private one unless allowed.

The host name is resolved once, every address is judged, and the connection goes to a judged address: a name
cannot change its mind between the check and the request. Where the environment names a proxy, the proxy
resolves, and only names and literal addresses can be judged here.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, quote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from skill_health import __version__

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
    """The address is not one that may be asked."""


def ask(method: str, url: str, timeout: float, allow_private: bool) -> UrlResponse:
    """Send one request without a body and read the head of the answer. Never raises for what a server does."""
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
        raise RefusedUrl(f"{parts.scheme or 'no'} scheme: only http and https are asked")
    if parts.username or parts.password:
        raise RefusedUrl("the address holds credentials")
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
    """Plain HTTP through a proxy, which is asked for the whole address."""


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
