"""Where a provider is reached, and with which key; a configuration that would leak the key is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from skill_health.bench.providers._api import ProviderProtocol
from skill_health.config.settings import Provider
from skill_health.core.errors import UsageError
from skill_health.text.patterns import lazy

_NAME, _PLAIN = lazy(r"[A-Za-z_][A-Za-z0-9_]*"), lazy(r"[A-Z_][A-Z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, its key ("" for none) and how it may be asked. `base_url` has no trailing slash.

    Times are seconds: `timeout` is for one request from first to last byte, `idle_timeout` for silence once the answer
    has begun.
    """

    base_url: str
    key: str = field(default="", repr=False)
    key_header: tuple[str, str] | None = field(default=None, repr=False)
    concurrency: int = 4
    timeout: float = 120
    idle_timeout: float = 60
    requests_per_minute: int = 0

    @property
    def host(self) -> str:
        """The server's name and port, for messages."""
        return urlsplit(self.base_url).netloc


def base_url(provider: Provider | None, protocol: ProviderProtocol) -> str:
    """The URL below which the protocol's paths are. Raises UsageError for one that cannot be used.

    Messages do not quote it: it may be a key that was put there by mistake.
    """
    url = (provider.base_url if provider else "") or protocol.base_url
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError('base-url is not a URL; it should look like "https://host/v1"')
    if "@" in parts.netloc:
        raise UsageError("base-url contains a user name or a password; name the variable that holds the key in key-env")
    if parts.query or parts.fragment:
        raise UsageError('base-url must end with its path, without "?" and "#"')
    return url.rstrip("/")


def open_endpoint(
    provider: Provider | None, protocol: ProviderProtocol, environ: Mapping[str, str] | None = None
) -> Endpoint:
    """The endpoint of a provider (None: the vendor's own), with its key from the environment.

    Raises UsageError for a base URL that cannot be used, a key that is not set, and a key that would be sent
    unencrypted.
    """
    url = base_url(provider, protocol)
    given = provider or Provider(protocol=protocol.name)
    name = key_variable(provider, protocol)
    key = _key(name, os.environ if environ is None else environ)
    if key and not url.startswith("https://") and not _near(urlsplit(url).hostname or ""):
        raise UsageError(
            f"base-url {url[:200]} is not https, so the key in {name} could be read in transit; "
            'use https, or set key-env = "" if the server needs no key'
        )
    return Endpoint(
        url, key, protocol.build_key_header(key) if key else None, max(1, given.concurrency), given.timeout, given.idle_timeout,
        given.requests_per_minute,
    )  # fmt: skip


def key_variable(provider: Provider | None, protocol: ProviderProtocol) -> str:
    """The environment variable that holds the key, "" for none.

    The vendor's own variable is used only for the vendor's own server: no other server gets a key that was not meant
    for it.
    """
    if provider is not None and provider.key_env:
        return provider.key_env
    return "" if provider is not None and provider.base_url else protocol.key_env


def _key(name: str, environ: Mapping[str, str]) -> str:
    if not name:
        return ""
    # A value that does not look like a name is not quoted: it may be the key itself.
    if not _NAME.fullmatch(name):
        raise UsageError("key-env is not the name of an environment variable; it must not be the key itself")
    key = environ.get(name, "").strip()
    if not key:
        shown = name if _PLAIN.fullmatch(name) else "that key-env names"
        raise UsageError(f"the environment variable {shown} is not set; it must hold the provider's key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"the environment variable {name} contains characters that no key has")
    return key


def _near(host: str) -> bool:
    """Whether a host is this machine or is in a private network."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return False
