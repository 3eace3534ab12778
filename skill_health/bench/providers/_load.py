"""Loads providers by name: they are the modules of this folder, imported only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from skill_health.bench import providers
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.core.plugins import plugin_names


def list_providers() -> list[str]:
    """The names of all providers, sorted."""
    return sorted(name.replace("_", "-") for name in plugin_names(providers.__path__))


def load_provider(name: str) -> ProviderProtocol:
    """Import the provider of exactly this name. Raises LookupError if there is none."""
    if name not in list_providers():
        raise LookupError(f"there is no protocol {name[:200]!r}")
    module = import_module(f"{providers.__name__}.{name.replace('-', '_')}")
    return cast(ProviderProtocol, module.PROVIDER)


def load_providers() -> list[ProviderProtocol]:
    """All providers, by name."""
    return [load_provider(name) for name in list_providers()]
