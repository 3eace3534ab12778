"""One skill and one host -> whether it loads there. Pure: it looks at nothing but the skill and the host's data."""

from __future__ import annotations

from collections.abc import Iterable

from skill_health.hosts._api import HostReason, HostRules, HostVerdict, Outcome
from skill_health.hosts._faults import FoundFault, find_excesses, find_faults
from skill_health.skill.model import Skill


def judge_skill(skill: Skill, host: HostRules, found: Iterable[FoundFault] | None = None) -> HostVerdict:
    """What a host makes of a skill. Never raises, whatever the skill holds.

    `found` are its faults as `find_faults` has them, where several hosts are asked about the same skill.
    """
    faults = dict.fromkeys((*(find_faults(skill) if found is None else found), *find_excesses(skill, host.limits)))
    every = sorted(faults, key=lambda each: (each.span.line, each.span.col, each.fault.name))
    skips = tuple(_reason(each, host.skips[each.fault]) for each in every if each.fault in host.skips)
    if skips:
        return HostVerdict(host, Outcome.SKIPPED, skips)
    losses = tuple(_reason(each, host.loses[each.fault]) for each in every if each.fault in host.loses)
    return HostVerdict(host, Outcome.LOSES if losses else Outcome.LOADS, losses)


def _reason(found: FoundFault, then: str) -> HostReason:
    return HostReason(found.fault, found.span, found.what, then)
