"""Names of providers -> their protocols, found by looking into this folder and imported only when named."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from skill_health.bench import providers
from skill_health.bench.providers._api import ProviderProtocol


def list_providers() -> list[str]:
    """The names of all providers, sorted."""
    return sorted(found.name.replace("_", "-") for found in iter_modules(providers.__path__) if found.name[0] != "_")


def load_provider(name: str) -> ProviderProtocol:
    """The provider of exactly this name, imported. Raises LookupError where there is none."""
    if name not in list_providers():
        raise LookupError(f"there is no protocol {name[:200]!r}")
    module = import_module(f"{providers.__name__}.{name.replace('-', '_')}")
    return cast(ProviderProtocol, module.PROVIDER)


def load_providers() -> list[ProviderProtocol]:
    """All providers, by name."""
    return [load_provider(name) for name in list_providers()]
