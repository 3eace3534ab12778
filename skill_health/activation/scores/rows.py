"""Results beside their labels, and the metrics over them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skill_health.documents._record import Figure
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_report import (
    ActivationMetrics,
    ListPart,
    LoadCell,
    PlaceActivation,
    SkillActivation,
)
from skill_health.documents.activation_result import LoadResult
from skill_health.documents.router_manifest import NONE, Prompt
from skill_health.router.scores.numbers import not_testable, number, share

FEWEST_SKILLS = 6
"""With fewer skills that are asked for, prompts are what is taken to be independent."""
_PARTS: tuple[ListPart, ...] = ("first third", "middle third", "last third")


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One result beside its prompt, of which it is known what was opened first; `first` is NONE for nothing."""

    prompt: Prompt
    result: LoadResult

    @property
    def first(self) -> str:
        """The class that came first."""
        return self.result.first or NONE

    @property
    def right(self) -> bool:
        """Whether the expected skill came first."""
        return self.result.first is not None and self.result.first == self.prompt.expected

    @property
    def accepted(self) -> bool:
        """Whether the expected skill or an acceptable one came first."""
        return self.right or self.result.first in self.prompt.acceptable

    @property
    def rejected(self) -> bool:
        """Whether a skill came first that must not."""
        return self.result.first in self.prompt.rejected

    @property
    def stolen(self) -> bool:
        """Whether a skill came first that is neither expected nor acceptable."""
        return self.result.first is not None and not self.accepted


def clustering_of(manifest: ActivationManifest) -> str:
    """What is independent in a run: "skill" with all its prompts, or "prompt" where few skills are asked for."""
    asked = {prompt.expected for prompt in manifest.prompts if prompt.expected}
    return "skill" if len(asked) >= FEWEST_SKILLS else "prompt"


def cluster_of(prompt: Prompt, clustering: str, near: bool = False) -> str:
    """What a prompt is resampled with: its skill, the one that it must not fire for a near miss, or its family."""
    if clustering == "skill":
        if near and prompt.rejected:
            return f"skill:{prompt.rejected[0]}"
        if prompt.expected:
            return f"skill:{prompt.expected}"
    return prompt.cluster


class LoadMetric(NamedTuple):
    """One metric: over the rows whose prompt is meant by `of` and that are `among` them, the mean of `value`."""

    title: str
    of: Callable[[Prompt], bool]
    value: Callable[[LoadRow], bool]
    among: Callable[[LoadRow], bool] = lambda row: True
    why: str = "no request is known"
    near: bool = False


def _expects(prompt: Prompt) -> bool:
    return prompt.expected is not None


def _none(prompt: Prompt) -> bool:
    return prompt.known and prompt.expected is None


_NO_SKILL, _NO_NONE, _NO_NEAR = (
    "no prompt expects a skill", "no prompt is labelled with none", "no prompt names a skill that must not fire",
)  # fmt: skip
METRICS: Mapping[str, LoadMetric] = {
    "recall": LoadMetric("recall", _expects, lambda row: row.right, why=_NO_SKILL),
    "accepted": LoadMetric("recall, acceptable ones too", _expects, lambda row: row.accepted, why=_NO_SKILL),
    "precision": LoadMetric(
        "precision", lambda prompt: True, lambda row: row.accepted,
        among=lambda row: row.result.first is not None and (row.prompt.known or row.rejected), why="no skill was opened",
    ),
    "other_first": LoadMetric("another first", _expects, lambda row: row.stolen, why=_NO_SKILL),
    "silent": LoadMetric("none opened", _expects, lambda row: row.result.first is None, why=_NO_SKILL),
    "false_fire_none": LoadMetric("false fire, no skill applies", _none, lambda row: row.stolen, why=_NO_NONE),
    "false_fire_near": LoadMetric(
        "false fire, near miss", lambda prompt: bool(prompt.rejected), lambda row: row.rejected, why=_NO_NEAR, near=True
    ),
}  # fmt: skip


def judge_loads(manifest: ActivationManifest, results: Iterable[LoadResult]) -> list[LoadRow]:
    """The results of prompts of the manifest, in the manifest's order, known or not."""
    prompts = {prompt.prompt_id: prompt for prompt in manifest.prompts}
    order = {prompt_id: nth for nth, prompt_id in enumerate(prompts)}
    rows = [LoadRow(prompts[each.prompt_id], each) for each in results if each.prompt_id in prompts]
    return sorted(rows, key=lambda row: (order[row.prompt.prompt_id], row.result.key[1:]))


def summed(
    rows: Iterable[LoadRow], value: Callable[[LoadRow], bool], clustering: str, near: bool = False
) -> list[list[float]]:
    """(successes, requests) of each cluster, in the clusters' order."""
    sums: dict[str, list[float]] = {}
    for row in rows:
        total = sums.setdefault(cluster_of(row.prompt, clustering, near), [0.0, 0.0])
        total[0] += value(row)
        total[1] += 1
    return [sums[cluster] for cluster in sorted(sums)]


def measure(metric: LoadMetric, rows: Sequence[LoadRow], clustering: str, planned: int | None = None) -> Figure:
    """One metric over the rows that are known; `planned` requests are what it is about."""
    there = [row for row in rows if row.result.known and metric.of(row.prompt) and metric.among(row)]
    estimate = share(summed(there, metric.value, clustering, metric.near), metric.why)
    return number(estimate, planned, len(there) if planned else None)


def metrics_of(rows: Sequence[LoadRow], clustering: str, planned: Mapping[str, int]) -> ActivationMetrics:
    """All metrics; `planned` says how many requests each is about."""
    return ActivationMetrics(
        **{
            name: measure(metric, rows, clustering, None if name == "precision" else planned[name])
            for name, metric in METRICS.items()
        }
    )


def bounds_of(rows: Sequence[LoadRow]) -> dict[str, tuple[float, float]]:
    """Between which values the shares lie, whatever was opened in the requests of which that cannot be told."""
    found = {}
    for name, metric in METRICS.items():
        about = [row for row in rows if row.result.scored and metric.of(row.prompt)]
        untold = sum(not row.result.known for row in about)
        if untold and name != "precision":
            hits = sum(row.result.known and metric.value(row) for row in about)
            found[name] = (round(hits / len(about), 9), round((hits + untold) / len(about), 9))
    return found


def confusion_of(rows: Iterable[LoadRow]) -> tuple[LoadCell, ...]:
    """The cells that are not 0, of prompts with a known answer; null stands for what cannot be told."""
    calls: Counter[tuple[str, str | None]] = Counter()
    prompts: dict[tuple[str, str | None], set[str]] = {}
    for row in rows:
        if row.prompt.known and row.result.scored:
            cell = (row.prompt.expected or NONE, row.first if row.result.known else None)
            calls[cell] += 1
            prompts.setdefault(cell, set()).add(row.prompt.prompt_id)
    order = sorted(calls, key=lambda cell: (cell[0], cell[1] is None, cell[1] or ""))
    return tuple(
        LoadCell(expected=cell[0], first=cell[1], calls=calls[cell], prompts=len(prompts[cell])) for cell in order
    )


def skills_of(manifest: ActivationManifest, rows: Sequence[LoadRow]) -> tuple[SkillActivation, ...]:
    """Each skill by itself, its prompts independent of each other."""
    known = [row for row in rows if row.result.known]
    return tuple(_skill(skill.name, manifest.prompts, known) for skill in manifest.skills)


def _skill(name: str, prompts: Sequence[Prompt], rows: Sequence[LoadRow]) -> SkillActivation:
    expected = [row for row in rows if row.prompt.expected == name]
    near = [row for row in rows if name in row.prompt.rejected]
    opened = [row for row in rows if row.result.first == name]
    judged = [row for row in opened if row.prompt.known or row.rejected]
    instead = Counter(row.first for row in expected if not row.right)
    return SkillActivation(
        skill=name,
        prompts=sum(prompt.expected == name for prompt in prompts),
        recall=number(share(summed(expected, lambda row: row.right, "prompt"), "no prompt expects it")),
        precision=number(share(summed(judged, lambda row: row.accepted, "prompt"), "it was never opened first")),
        false_fire_near=number(
            share(summed(near, lambda row: row.result.first == name, "prompt"), "no prompt says that it must not fire")
        ),
        opened=len(opened),
        instead=dict(sorted(instead.items(), key=lambda item: (-item[1], item[0]))),
    )


def places_of(rows: Sequence[LoadRow], clustering: str) -> tuple[PlaceActivation, ...]:
    """The recall by the third of the list in which the expected skill stood."""
    parts: dict[ListPart, list[LoadRow]] = {part: [] for part in _PARTS}
    for row in rows:
        order, expected = row.result.offered, row.prompt.expected
        if row.result.known and order and expected in order:
            parts[_PARTS[min(2, 3 * order.index(expected) // len(order))]].append(row)
    found = []
    for part in _PARTS:
        recall = measure(METRICS["recall"], parts[part], clustering)
        if not parts[part]:
            recall = not_testable("no expected skill was seen at such a place")
        found.append(PlaceActivation(part=part, recall=recall))
    return tuple(found)


def has_fixed_order(rows: Iterable[LoadRow]) -> bool:
    """Whether skills stood in one and the same order in every request."""
    return len({row.result.offered for row in rows if row.result.offered}) <= 1
