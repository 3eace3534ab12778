"""One skill and one host -> whether it loads there. Pure: it looks at nothing but the skill and the host's data."""

from __future__ import annotations

from skill_health.hosts._api import HostReason, HostRules, HostVerdict, Outcome
from skill_health.hosts._faults import FoundFault, find_faults
from skill_health.skill.model import Skill


def judge_skill(skill: Skill, host: HostRules) -> HostVerdict:
    """What a host makes of a skill. Never raises, whatever the skill holds."""
    found = find_faults(skill, host.limits)
    skips = tuple(_reason(each, host.skips[each.fault]) for each in found if each.fault in host.skips)
    if skips:
        return HostVerdict(host, Outcome.SKIPPED, skips)
    losses = tuple(_reason(each, host.loses[each.fault]) for each in found if each.fault in host.loses)
    return HostVerdict(host, Outcome.LOSES if losses else Outcome.LOADS, losses)


def _reason(found: FoundFault, then: str) -> HostReason:
    return HostReason(found.fault, *found.span, found.what, then)
