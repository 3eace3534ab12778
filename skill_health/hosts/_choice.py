"""Which hosts a collection is for: those of its configuration, else those that its layout names plainly."""

from __future__ import annotations

from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.hosts._api import HostRules
from skill_health.hosts._load import all_hosts, host, host_keys

UNCHOSEN = "agentskills"
"""The specification that skills are held against where nothing says what they are for."""


class HostChoice(NamedTuple):
    """The hosts that skills are judged for. What they skip is an error only if they are `certain`."""

    hosts: tuple[HostRules, ...]
    certain: bool


def check_hosts(config: Config) -> None:
    """Raise UsageError where the configuration names a host that there is not."""
    for key in config.hosts:
        if key not in host_keys():
            raise UsageError(
                f'{config.source}: "hosts": there is no host {key[:60]!r}; choose from {", ".join(host_keys())}'
            )


def choose_hosts(config: Config, path: str = "") -> HostChoice:
    """The hosts that a skill at this path is for. Without a choice and without a telling layout, the specification's.

    A skill that stands in the folder of one host is for the hosts that read that folder.
    """
    if config.hosts:
        return HostChoice(tuple(map(host, config.hosts)), True)
    if config.layout:
        plain = [each for each in all_hosts() if not {*each.folders, *each.manifests}.isdisjoint(config.layout)]
        place = "/".join(path.split("/")[:2])
        if place in config.layout:
            plain = [each for each in plain if place in each.folders or place in each.also]
        if plain:
            return HostChoice(tuple(plain), True)
    return HostChoice((host(UNCHOSEN),), False)


def hosts_to_score(config: Config) -> tuple[HostRules, ...]:
    """The hosts that should load a skill: those that the configuration names, else all programs.

    The layout does not choose here: where a skill is kept must not change what it is worth.
    """
    return tuple(map(host, config.hosts)) or tuple(each for each in all_hosts() if not each.specification)
