"""Findings say which hosts they concern: those that skip a skill because of what a rule has found in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.config.settings import Config
from skill_health.hosts._api import Fault, HostRules, Outcome
from skill_health.hosts._choice import choose_hosts
from skill_health.hosts._faults import find_faults
from skill_health.hosts._load import all_hosts
from skill_health.hosts._verdict import judge_skill
from skill_health.rules._api import Hit, Rule, Severity
from skill_health.skill.model import Skill


def name_hosts(hits: Sequence[tuple[Rule, Hit]], skill: Skill, config: Config) -> Iterator[tuple[Rule, Hit]]:
    """The hits of one skill with the hosts that they concern, each cause once.

    Where hosts are chosen or plain from the layout only these are named, and what makes one of them skip the skill is
    an error. Otherwise all are named and the severities stay.
    """
    reported = frozenset().union(*(rule.faults for rule, _ in hits))
    choice = choose_hosts(config, skill.path) if reported else None
    skipping = _skipping(skill, choice.hosts if choice and choice.certain else all_hosts()) if reported else {}
    for rule, hit in hits:
        if hit.fault in reported:
            continue
        keys = sorted({key for fault in rule.faults for key in skipping.get(fault, ())})
        if keys and choice is not None:
            hit = hit._replace(hosts=tuple(keys), severity=Severity.ERROR if choice.certain else hit.severity)
        yield rule, hit


def _skipping(skill: Skill, hosts: Sequence[HostRules]) -> dict[Fault, list[str]]:
    """The keys of the hosts that skip a skill, by the fault that makes them."""
    found = find_faults(skill)
    skipping: dict[Fault, list[str]] = {}
    for host in hosts:
        verdict = judge_skill(skill, host, found)
        for reason in verdict.reasons if verdict.outcome is Outcome.SKIPPED else ():
            skipping.setdefault(reason.fault, []).append(host.key)
    return skipping
