"""The defects of a skill -> what is left of its score, and what took the rest. Pure; docs/scoring.md explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, prod
from typing import Literal, NamedTuple

from skill_health.profiles import Defects

HOSTS, SAFETY = "hosts", "safety"
_PLACES = 3
LossSeverity = Literal["error", "warning"]


class RulePrecision(NamedTuple):
    """How often a rule is right where nobody tuned it, `right` of `judged`; `trust` is the lower bound."""

    right: int = 0
    judged: int = 0
    trust: float = 0.0


class ScoredFinding(NamedTuple):
    """A finding that may take points. `excepted`: a comment or the configuration keeps it out of the report."""

    component: str
    code: str
    rule: str
    severity: LossSeverity
    place: str
    precision: RulePrecision
    excepted: bool = False


class Loading(NamedTuple):
    """How much each host weighs that a skill was held against, and why some do not load it, both by their titles."""

    hosts: Mapping[str, float]
    skipping: Mapping[str, str]

    @property
    def share(self) -> float:
        """The weight of the hosts that load it, of that of all."""
        kept = fsum(weight for title, weight in sorted(self.hosts.items()) if title not in self.skipping)
        return kept / fsum(self.hosts.values())


@dataclass(frozen=True, slots=True)
class Loss:
    """What the findings of one rule and severity take from a score.

    `gain` is what fixing all of them alone gives back. Of `judged` findings that were read on collections where nobody
    tuned the rule `right` were right. Of the `findings` so many are `excepted` in the report; the first `places` are
    named. For hosts `findings` is the number of those that skip the skill, and `hosts` are their titles.
    """

    component: str
    code: str
    rule: str
    severity: LossSeverity
    findings: int
    excepted: int
    gain: float
    right: int
    judged: int
    places: tuple[str, ...]
    hosts: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """One line for people."""
        if self.component == HOSTS:
            told = f"skipped by {self.findings} host{'s' * (self.findings != 1)}: {'; '.join(self.places)}"
        else:
            told = f"{self.findings} finding{'s' * (self.findings != 1)} at {', '.join(self.places)}"
            told += " ..." * (self.findings > len(self.places))
            known = f"held-out: {self.right} of {self.judged} right" if self.judged else "held-out: not measured"
            told += f" ({known}{f'; {self.excepted} excepted in the report' if self.excepted else ''})"
        given = f"fixing gives back {self.gain:.4f}" if self.gain else "fixing it alone gives nothing back"
        return f"{self.code} {self.rule}, {told}; {given}"


class DefectScore(NamedTuple):
    """What is left by component, None where it was not judged, and what took the rest."""

    value: float
    components: Mapping[str, float | None]
    losses: tuple[Loss, ...]


class _Group(NamedTuple):
    component: str
    found: tuple[ScoredFinding, ...]
    left: float


def score_defects(
    defects: Iterable[ScoredFinding], loading: Loading | None, costs: Defects, unread: bool = False
) -> DefectScore:
    """What is left of 1 after every rule took its part.

    The findings of a rule take `trust * (1 - (1 - cost) ** n)`: what they would cost, times how sure it is that the
    rule is right. Hosts that skip the skill take their share. An error of the family `safety` takes everything. Where
    the file cannot be read, nothing but that is judged.
    """
    groups = list(_group(defects, costs))
    if loading and loading.skipping:
        groups.append(_Group(HOSTS, (), loading.share))
    if unread:
        groups = [each for each in groups if each.component == HOSTS]
    value = prod(each.left for each in groups)
    components: dict[str, float | None] = {}
    for name in (HOSTS, *costs.families):
        known = loading is not None if name == HOSTS else not unread
        components[name] = prod(each.left for each in groups if each.component == name) if known else None
    losses = [
        _loss(each, loading, prod(other.left for other in groups if other is not each) - value) for each in groups
    ]
    losses.sort(key=lambda loss: (-loss.gain, loss.code, loss.severity))
    return DefectScore(value, components, tuple(losses))


def _group(defects: Iterable[ScoredFinding], costs: Defects) -> Iterator[_Group]:
    by_rule: dict[tuple[str, str], list[ScoredFinding]] = {}
    for each in sorted(set(defects)):
        by_rule.setdefault((each.code, each.severity), []).append(each)
    for (_, severity), found in sorted(by_rule.items()):
        first = found[0]
        if first.component == SAFETY and severity == "error":
            left = 0.0
        else:
            trust = first.precision.trust if first.precision.judged else costs.unmeasured
            left = 1 - trust * (1 - (1 - _cost(severity, costs)) ** len(found))
        yield _Group(first.component, tuple(found), left)


def _cost(severity: str, costs: Defects) -> float:
    return costs.error if severity == "error" else costs.warning


def _loss(group: _Group, loading: Loading | None, gain: float) -> Loss:
    if group.component == HOSTS and loading is not None:
        reasons: dict[str, list[str]] = {}
        for title, what in loading.skipping.items():
            reasons.setdefault(what, []).append(title)
        told = tuple(f"{', '.join(titles)} ({what})" for what, titles in reasons.items())
        hosts = tuple(loading.skipping)
        return Loss(HOSTS, "FM029", "skipped-by-host", "error", len(hosts), 0, round(gain, 4), 0, 0, told, hosts)
    first, found = group.found[0], group.found
    return Loss(
        group.component, first.code, first.rule, first.severity, len(found), sum(each.excepted for each in found),
        round(gain, 4), first.precision.right, first.precision.judged, _places(found),
    )  # fmt: skip


def _places(found: Sequence[ScoredFinding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.place for each in found))[:_PLACES]
