"""Finds the hosts by walking this package; a new host needs no registration."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import skill_health.hosts as package
from skill_health.core.plugins import plugin_names
from skill_health.hosts._api import HostRules


@cache
def host_keys() -> tuple[str, ...]:
    """The keys of all hosts, sorted; none of them is imported."""
    return tuple(name.replace("_", "-") for name in plugin_names(package.__path__))


@cache
def host(key: str) -> HostRules:
    """The host of this key, one of `host_keys()`."""
    found: HostRules = import_module(f"skill_health.hosts.{key.replace('-', '_')}").HOST
    return found


def all_hosts() -> tuple[HostRules, ...]:
    """Every host, sorted by key."""
    return tuple(map(host, host_keys()))
