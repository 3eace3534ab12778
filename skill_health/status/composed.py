"""Pairs of skills, from the reports of the runs that tried them: read for the records of both, and told in one line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from skill_health.core.files import cannot_read, is_absence, read_whole
from skill_health.documents._history import MOST
from skill_health.documents._record import FullFigure, NotedFigure, OpenRecord, RunIdText, decode_record
from skill_health.documents._targets import bundle_digest
from skill_health.documents.caveats import Caveat, find_effect_caveats
from skill_health.documents.effect_composition import PairComposition
from skill_health.documents.effect_history import Effects, PairRun
from skill_health.documents.skill_record import MeasuredPair, SkillRecord
from skill_health.status.faults import DocumentFault
from skill_health.text.numbers import with_interval

REPORT, MANIFEST = "report.json", "manifest.json"
_MOST_REPORT, _MOST_RUNS = 64 << 20, 40
_REASONS = 20


class _PairModel(OpenRecord, frozen=True, kw_only=True):
    model: str
    simulated: bool
    unproved: str = ""
    biased: tuple[str, ...]
    composition: tuple[PairComposition, ...] = ()


class _PairReport(OpenRecord, frozen=True, kw_only=True):
    """As much of a report as is told of pairs."""

    kind: Literal["effectiveness"]
    run_id: RunIdText
    models: tuple[_PairModel, ...]


class _StagedSkill(OpenRecord, frozen=True, kw_only=True):
    name: str
    digest: str


class _PairManifest(OpenRecord, frozen=True, kw_only=True):
    """As much of a manifest as tells which skills a run staged."""

    run_id: RunIdText
    skills: tuple[_StagedSkill, ...]


_Document = TypeVar("_Document", _PairReport, _PairManifest)


@dataclass(frozen=True, slots=True)
class ComposedSkills:
    """The last run of each pair by each model, real ones first, then the latest; and what could not be read.

    `lost` is the damage that some are left out for.
    """

    pairs: tuple[MeasuredPair, ...]
    problems: tuple[str, ...] = ()
    lost: str = ""

    def of(self, skill: str) -> tuple[MeasuredPair, ...]:
        """The pairs that a skill is in, in the same order."""
        return tuple(each for each in self.pairs if skill in (each.first, each.second))


def read_composed(folder: str, effects: Effects | None, digests: Mapping[str, str | None]) -> ComposedSkills:
    """The pairs of the runs that the history in a folder of reports names.

    `digests` are those of the skills as they would be staged now, by name. Raises UsageError for a file that cannot be
    read, and for nothing that one holds.
    """
    runs = effects.composed if effects else ()
    found: dict[tuple[str, tuple[str, str, str]], MeasuredPair] = {}
    problems: list[str] = []
    lost = ""
    names = list(dict.fromkeys(run.run_id for run in runs))
    for name in names[:_MOST_RUNS]:
        place = os.path.join(folder, "effectiveness", name)
        report, wrong, why = _read(place, REPORT, name, _PairReport)
        manifest, bent, more = _read(place, MANIFEST, name, _PairManifest)
        if report is None or bent not in (None, DocumentFault.ABSENT):
            told = f"{name}/{REPORT} {wrong}{why}" if wrong else f"{name}/{MANIFEST} {bent}{more}"
            problems.append(f"effectiveness/{told}: its pairs of skills are not shown")
            lost = lost or (f"effectiveness/{told}" if wrong is not DocumentFault.ABSENT else "")
            continue
        skills = manifest.skills if manifest else ()
        several = {name for name, count in Counter(skill.name for skill in skills).items() if count > 1}
        staged = {skill.name: skill.digest for skill in skills if skill.name not in several}
        for run in (run for run in runs if run.run_id == name):
            for pair in _pairs(run, report, staged, digests):
                found.setdefault((pair.model, pair.key), pair)
    if len(names) > _MOST_RUNS:
        problems.append(f"of {len(names)} runs that tried pairs of skills the last {_MOST_RUNS} are read")
    ordered = sorted(found.values(), key=lambda each: each.time, reverse=True)
    return ComposedSkills(tuple(sorted(ordered, key=lambda each: each.simulated)), tuple(problems), lost)


def _read(place: str, file: str, run: str, kind: type[_Document]) -> tuple[_Document | None, DocumentFault | None, str]:
    """A document of a run, what is wrong with it, and where. Raises UsageError if it cannot be read."""
    path = os.path.join(place, file)
    try:
        found = decode_record(read_whole(path, _MOST_REPORT), kind)
    except OSError as error:
        if not is_absence(error):
            raise cannot_read(path, error) from None
        return None, DocumentFault.ABSENT, ""
    except ValueError as error:
        return None, DocumentFault.DAMAGED, f" ({str(error)[:200]})"
    return (found, None, "") if found.run_id == run else (None, DocumentFault.OTHER_RUN, "")


def _pairs(
    run: PairRun, report: _PairReport, staged: Mapping[str, str], digests: Mapping[str, str | None]
) -> Iterator[MeasuredPair]:
    """The pairs of one model in a run. What holds a number beyond all measure is left out."""
    for model in report.models:
        for own in model.composition if model.model == run.model else ():
            if own.tasks > MOST or not _measurable(own.interaction):
                continue
            skills = own.first, own.second
            now, then = bundle_digest(skills, digests), bundle_digest(skills, staged)
            yield MeasuredPair(
                first=own.first, second=own.second, variant=own.variant, model=run.model, run_id=run.run_id, time=run.time,
                simulated=model.simulated, unproved=model.unproved, changed=now != then if now and then else None,
                biased=model.biased[:_REASONS], preliminary=own.verdict.preliminary[:_REASONS], verdict=own.verdict.word,
                reason=own.verdict.reason, tasks=own.tasks, interaction=_noted(own.interaction), truth=own.truth,
            )  # fmt: skip


def _measurable(figure: FullFigure) -> bool:
    return all(each is None or abs(each) <= 2 for each in (figure.value, figure.low, figure.high))


def _noted(figure: FullFigure) -> NotedFigure:
    return NotedFigure(
        value=figure.value, low=figure.low, high=figure.high, n=figure.n, clusters=figure.clusters, note=figure.note
    )


def all_pairs(records: Iterable[SkillRecord]) -> tuple[MeasuredPair, ...]:
    """The pairs of records, each once: both of its skills have it. Real ones first, then the latest."""
    found = {(pair.model, pair.key): pair for record in records for pair in record.pairs}
    ordered = sorted(found.values(), key=lambda each: (each.first, each.second, each.variant, each.model))
    latest = sorted(ordered, key=lambda each: each.time, reverse=True)
    return tuple(sorted(latest, key=lambda each: each.simulated))


def is_decided(pair: MeasuredPair) -> bool:
    """Whether anything is shown of two skills together."""
    return pair.verdict not in ("inconclusive", "not testable")


def pairs_cell(pairs: Sequence[MeasuredPair]) -> str:
    """The verdicts on a skill beside others, by the model that is told first; one alone with its figures."""
    best = {pair.key: pair for pair in reversed(pairs)}
    told = [pair for pair in pairs if best[pair.key] is pair]
    if not told:
        return "not tried"
    signs = "".join(
        dict.fromkeys(mark.caveat.value.sign for pair in told for mark in find_effect_caveats(pair)),
    )
    if len(told) == 1:
        (pair,) = told
        return f"{pair.verdict} {with_interval(pair.interaction, '+.0f')} n {pair.tasks}{signs}"
    counts = Counter(pair.verdict for pair in told)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {word}" for word, n in ordered) + signs


def pair_line(pair: MeasuredPair) -> str:
    """Two skills together by one model: the verdict, the interaction, what it rests on and what to mind."""
    said = f"; what the collection says of them: {pair.truth}" if pair.truth else ""
    biased = "".join(f"; biased: {why}" for why in pair.biased)
    marks = [mark.caveat for mark in find_effect_caveats(pair) if mark.caveat is not Caveat.BIASED]
    phrases = "".join(f", {mark.phrase}" for mark in marks)
    return (
        f"{pair.first} + {pair.second}{pair.variant}, {pair.model}: {pair.verdict}, interaction {interaction_text(pair)}, "
        f"{pair.time[:10]}, run {pair.run_id}{phrases}{said}{biased}"
    )


def interaction_text(pair: MeasuredPair) -> str:
    """The interaction of two skills with its interval and its n."""
    if pair.interaction.value is None:
        return f"not known, {pair.tasks} tasks"
    return f"{with_interval(pair.interaction, '+.1f')} points, {pair.tasks} task{'s' * (pair.tasks != 1)}"
