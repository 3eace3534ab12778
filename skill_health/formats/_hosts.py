"""Shared by the formats: what a finding says, with the hosts that it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_health.rules._api import Finding

if TYPE_CHECKING:
    from skill_health.hosts._api import HostRules

_MOST = 4


def message_of(finding: Finding) -> str:
    """The message, and in brackets the hosts that skip the skill because of it; not yet safe to print."""
    if not finding.hosts:
        return finding.message
    from skill_health.hosts._load import host, host_keys

    hosts = sorted((host(key) for key in finding.hosts if key in host_keys()), key=_place)
    titles = [each.title for each in hosts]
    more = f" and {len(titles) - _MOST} more" if len(titles) > _MOST else ""
    return f"{finding.message} (skipped by {', '.join(titles[:_MOST])}{more})"


def _place(host: HostRules) -> tuple[bool, str]:
    """Programs come before specifications."""
    return host.specification, host.title
