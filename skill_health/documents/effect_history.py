"""A line of the effectiveness history.

The last line of each skill and model stands in other reports: it is read, never computed.

The benchmark is another package, which may not even be installed: its file is taken as any other file, and whatever it
holds costs a note and not the run. One that is there and cannot be read is not taken for absent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

from msgspec import Meta

from skill_health.core.files import has_entry
from skill_health.documents._history import MOST, HistoryTail
from skill_health.documents._record import (
    Amount,
    CommitText,
    Count,
    Difference,
    Name,
    NotedFigure,
    OpenRecord,
    Record,
    RunIdText,
    Share,
    TimeText,
)
from skill_health.documents._targets import bundle_digest
from skill_health.documents.effect_report import VerdictWord

HISTORY = "effectiveness-history.jsonl"
KIND, VERSION = "effectiveness", 1
VERDICTS: tuple[VerdictWord, ...] = get_args(VerdictWord)
_REASONS = 20


class EffectHistoryLine(OpenRecord, frozen=True, kw_only=True):
    """What was run and what came out: one line for each run, model and skill, and one for the whole collection."""

    ID: ClassVar = "skill-health/effectiveness-history/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["effectiveness"]
    """What the line is about."""
    created: TimeText
    """When the run began, in UTC."""
    run_id: RunIdText
    """The name of the run, and of its folder."""
    manifest: str
    """A hash of the manifest."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    tool_version: str
    """The version of skill-health."""
    model: Name
    """The name of agent and model as it was given."""
    agent: str
    """The agent."""
    agent_version: str | None
    """The version of the agent's program."""
    resolved: tuple[str, ...]
    """What the provider called the model."""
    simulated: bool
    """True where the line says nothing about any model."""
    skill: Name | None
    """The skill, or the name of a bundle of several; null for the whole collection."""
    skill_digest: str | None
    """A hash of the skill as it was staged; of a bundle those of its skills, for the collection that of all skills."""
    skills: tuple[Name, ...] = ()
    """The skills of a bundle; empty for a single one and for the whole collection."""
    hashes: Mapping[str, str]
    """Hashes of what the run rested on."""
    sandbox: str
    """What agents were kept in."""
    seed: Count
    replications: Annotated[int, Meta(ge=1)]
    tasks: Count
    """Tasks that the line is about."""
    trials: Count
    """Trials of the model that were planned for these tasks."""
    scored: Count
    """Those that count."""
    outcomes: Mapping[str, Count]
    """How many trials of the model came to what, over all tasks of the run."""
    control: EffectHistoryFigure
    """The success rate without a skill."""
    target: EffectHistoryFigure
    """That with the skill."""
    delta: EffectHistoryFigure
    """The difference, from -1 to 1."""
    p: Share | None
    """Of the primary test; null where it is not testable."""
    p_adjusted: Share | None
    """After the correction for several tests."""
    verdict: VerdictWord
    """What the rules come to."""
    reason: str
    """Why."""
    preliminary: tuple[str, ...]
    """Why it is not final."""
    biased: tuple[str, ...]
    """Why nothing of the model's figures is to be trusted."""
    cost_usd: Amount | None
    """Dollars of the model's whole run; null where not all are known."""
    unproved: str = ""
    """What nobody sees of an agent that ran under a weaker proof; empty for all others."""
    pairs: Count = 0
    """Pairs of skills that the run tried alone and together; a line with some and without a difference is about these
    alone.
    """

    @property
    def about_pairs_alone(self) -> bool:
        """Whether it says nothing of any single skill, nor of the collection."""
        return bool(self.pairs) and self.delta.value is None


class EffectHistoryFigure(OpenRecord, frozen=True, kw_only=True):
    """A success rate, or a difference of two, with its 95 % interval."""

    value: Difference | None
    low: Difference | None
    high: Difference | None
    n: Count
    clusters: Count


class ModelEffect(Record, frozen=True, kw_only=True):
    """The last run of one model with one skill."""

    model: str
    """Agent and model as they were named."""
    skill: str | None
    """The skill, or the name of a bundle of several; null for the whole collection."""
    skills: tuple[str, ...] = ()
    """The skills of a bundle; empty for a single one and for the whole collection."""
    time: TimeText
    """When the run began, in UTC."""
    run_id: str
    verdict: VerdictWord
    """What the rules came to."""
    reason: str
    """Why."""
    tasks: Count
    """Tasks that it is about."""
    scored: Count
    """Trials that count."""
    trials: Count
    """Trials that were planned."""
    simulated: bool
    """Whether no agent was run."""
    changed: bool | None
    """Whether the skill is another one now; null where that is not known."""
    delta: NotedFigure
    """Success with the skill less that without, from -1 to 1."""
    biased: tuple[str, ...]
    """Why nothing of it is to be trusted."""
    preliminary: tuple[str, ...]
    """Why it is not final."""
    unproved: str = ""
    """What nobody sees of an agent that ran under a weaker proof; empty for all others."""


class PairRun(NamedTuple):
    """A run in which a model tried pairs of skills: when it began, which, and the model."""

    time: str
    run_id: str
    model: str


@dataclass(frozen=True, slots=True)
class Effects:
    """The last line of each model and skill, by model and then by skill, the collection's first; and the problems.

    `composed` are the runs of each model that tried pairs of skills, the latest first. `lost` is the damage that left
    no line.
    """

    lines: tuple[ModelEffect, ...] = ()
    problems: tuple[str, ...] = ()
    composed: tuple[PairRun, ...] = ()
    lost: str = ""

    def of(self, skill: str | None) -> tuple[ModelEffect, ...]:
        """What the models say of a skill, the latest first; those that asked no model come last."""
        return _latest(each for each in self.lines if each.skill == skill)

    def bundles(self, skill: str | None = None) -> tuple[ModelEffect, ...]:
        """What the models say of bundles, of all or of those with a skill, in the same order."""
        return _latest(each for each in self.lines if each.skills and (skill is None or skill in each.skills))


def _latest(lines: Iterable[ModelEffect]) -> tuple[ModelEffect, ...]:
    found = sorted(lines, key=lambda each: each.time, reverse=True)
    return tuple(sorted(found, key=lambda each: each.simulated))


def read_effects(
    folder: str, now: Callable[[], Mapping[str, str | None]], about: Collection[str] = ()
) -> Effects | None:
    """What the history in a folder of reports says; None where there is none.

    Raises UsageError for a file that cannot be read, and for nothing that one holds.

    `now` gives the digest of each skill as it would be staged now, by name; it is not called where nothing is to mark.
    Only the skills that `about` names count where it names any, and of collections those with one of them.
    """
    if not has_entry(os.path.join(folder, HISTORY)):
        return None
    last: dict[tuple[str, str | None], EffectHistoryLine] = {}
    unmeasured: dict[tuple[str, str | None], EffectHistoryLine] = {}
    seen: set[tuple[str, str]] = set()
    marks = {"kind": KIND, "version": VERSION}
    lines = HistoryTail(folder, HISTORY, EffectHistoryLine, marks, _is_sound)
    composed: set[PairRun] = set()
    for line in lines:
        run = (line.model, line.run_id)
        if line.pairs:
            composed.add(PairRun(line.created, line.run_id, line.model))
            if line.about_pairs_alone:
                continue
        # The line of a collection stands before those of its skills, and so comes after them here.
        if not about or (run in seen if line.skill is None else _is_about(line, about)):
            # What tried no target, or scored none of its trials, measured no skill: what is known of them stays.
            (unmeasured if line.delta.value is None else last).setdefault((line.model, line.skill), line)
            seen.add(run)
    last = unmeasured | last
    order = sorted(last, key=lambda key: (key[0], key[1] is not None, key[1] or ""))
    digests = now() if last else {}
    told = tuple(_effect(last[key], digests) for key in order)
    return Effects(told, lines.problems, tuple(sorted(composed, reverse=True)), lines.lost)


def _is_about(line: EffectHistoryLine, skills: Collection[str]) -> bool:
    return line.skill in skills or any(each in skills for each in line.skills)


def _is_sound(line: EffectHistoryLine) -> bool:
    return line.scored <= line.trials <= MOST and max(line.tasks, line.delta.n, line.delta.clusters) <= MOST


def _effect(line: EffectHistoryLine, digests: Mapping[str, str | None]) -> ModelEffect:
    """What a line says, and whether its skill is another one now."""
    now, delta = bundle_digest(line.skills or (line.skill or "",), digests), line.delta
    return ModelEffect(
        model=line.model, skill=line.skill, skills=line.skills, time=line.created, run_id=line.run_id, verdict=line.verdict,
        reason=line.reason, tasks=line.tasks, scored=line.scored, trials=line.trials, simulated=line.simulated,
        changed=now != line.skill_digest if now and line.skill_digest else None,
        delta=NotedFigure(
            value=delta.value, low=delta.low, high=delta.high, n=delta.n, clusters=delta.clusters, note=""
        ),
        biased=line.biased[:_REASONS], preliminary=line.preliminary[:_REASONS],
        unproved=line.unproved,
    )  # fmt: skip
