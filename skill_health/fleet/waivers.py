"""Waivers: which findings do not count on a day, and which waivers do nothing, or no longer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from msgspec.structs import replace

from skill_health.discovery.ignores import Patterns, compile_patterns, ignored_within
from skill_health.documents.fleet_file import GivenWaiver
from skill_health.documents.fleet_run import FleetWaiver, WaiverStatus
from skill_health.documents.fleet_state import FleetState, KeptFinding
from skill_health.rules._api import named_by


@dataclass(frozen=True, slots=True)
class WaivedState:
    """A state without the findings that waivers hide on a day: so many are hidden.

    `used` counts for each waiver, by its place, the findings that it means, whether it has ended or not.
    """

    state: FleetState
    waived: int
    used: Mapping[int, int] = field(default_factory=dict)


def apply_waivers(name: str, state: FleetState, waivers: Sequence[GivenWaiver], day: str) -> WaivedState:
    """The state of a repository without what waivers hide on a day, its last one included.

    Findings that an active waiver and one that has ended mean are hidden, and count for both.
    """
    used: dict[int, int] = {}
    own = [(at, each) for at, each in enumerate(waivers) if _means(each.repository, name)]
    left: list[KeptFinding] = []
    for finding in state.findings:
        meant = [(at, waiver) for at, waiver in own if _is_meant(waiver, finding)]
        for at, _ in meant:
            used[at] = used.get(at, 0) + 1
        if not any(is_active(waiver, day) for _, waiver in meant):
            left.append(finding)
    waived = len(state.findings) - len(left)
    return WaivedState(replace(state, findings=tuple(left)) if waived else state, waived, used)


def is_active(waiver: GivenWaiver, day: str) -> bool:
    """Whether a day is not after the last one of a waiver."""
    return day <= waiver.until


def judge_waivers(
    waivers: Sequence[GivenWaiver], used: Mapping[int, int], day: str, failed: Collection[str] = ()
) -> tuple[FleetWaiver, ...]:
    """What each waiver does, by how many findings it means; `failed` are the repositories that could not be checked."""
    return tuple(
        FleetWaiver(
            rule=each.rule, repository=each.repository, skill=each.skill, reason=each.reason, until=each.until,
            status=_status(each, used.get(at, 0), day, failed), findings=used.get(at, 0),
        )
        for at, each in enumerate(waivers)
    )  # fmt: skip


def _status(waiver: GivenWaiver, n: int, day: str, failed: Collection[str]) -> WaiverStatus:
    if not is_active(waiver, day):
        return "expired"
    if n:
        return "active"
    return "unknown" if any(_means(waiver.repository, name) for name in failed) else "unused"


def _is_meant(waiver: GivenWaiver, finding: KeptFinding) -> bool:
    return named_by(waiver.rule, finding.code, finding.rule, finding.family) and _means(
        waiver.skill, finding.skill or finding.path
    )


def _means(pattern: str, path: str) -> bool:
    return _matcher(pattern)(path)


@cache
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern, as in an ignore file, matches a path or a folder above it."""
    patterns: Patterns | None = compile_patterns((pattern,))

    @cache
    def matches(path: str) -> bool:
        return patterns is not None and ignored_within((patterns,), path, False)

    return matches
