"""One line for each model and skill of a run, and one for the whole collection, in effectiveness-history.jsonl.

`core/schemas/effectiveness-history.schema.json` says what a line holds. A line is written once for a run, model and
skill, however often the run is resumed or reported; when its trials are verified again with another outcome, once more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from skill_health.bench.durable import append_once
from skill_health.bench.manifest import digest
from skill_health.core.history import append_history, read_backwards
from skill_health.documents._record import FullFigure, decode_record, record_values
from skill_health.documents._targets import bundle_digest
from skill_health.documents.effect_history import HISTORY, EffectHistoryFigure, EffectHistoryLine
from skill_health.documents.effect_manifest import EffectManifest, digests_over
from skill_health.documents.effect_report import EffectReport, ModelEffectReport, SkillEffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.records import CONTROL, TARGET
from skill_health.stats.estimates import Estimate

Part = ModelEffectReport | SkillEffectReport
_NONE = Estimate(None)


def history_lines(
    manifest: EffectManifest, report: EffectReport, results: Sequence[TrialResult]
) -> list[EffectHistoryLine]:
    """The lines of a run: of each model in the report's order that of the collection, then those of its skills."""
    return [line for model in report.models for line in _lines(manifest, model, results)]


def record_run(reports: str, manifest: EffectManifest, report: EffectReport, results: Sequence[TrialResult]) -> int:
    """Append the lines of a finished run that the history in a folder of reports lacks; how many those were.

    Raises UsageError where the history cannot be read or written.
    """
    path = os.path.join(reports, HISTORY)
    lines = [record_values(line) for line in history_lines(manifest, report, results)]
    return append_once(path, lines, ("kind", "version", "run_id", "model", "skill"))


def record_again(reports: str, manifest: EffectManifest, report: EffectReport, results: Sequence[TrialResult]) -> int:
    """Append new lines of a run whose results were replaced, where it is the last that was recorded; how many.

    The last line of a model and skill is what is known of them, so a run that a later one has followed gets none.
    Raises UsageError where the history cannot be read or written.
    """
    path = os.path.join(reports, HISTORY)
    last: dict[tuple[str, str | None, bool], EffectHistoryLine] = {}
    for _, raw in read_backwards(path):
        with suppress(ValueError):
            line = decode_record(raw, EffectHistoryLine)
            last.setdefault(history_subject(line), line)
    known = [(line, last.get(history_subject(line))) for line in history_lines(manifest, report, results)]
    lines = [line for line, old in known if old and old.run_id == line.run_id and old != line]
    for line in lines:
        append_history(path, record_values(line))
    return len(lines)


def history_subject(line: EffectHistoryLine) -> tuple[str, str | None, bool]:
    """What a line is about: where a run of pairs follows one of skills, each has a last line of its own."""
    return line.model, line.skill, line.about_pairs_alone


def _lines(
    manifest: EffectManifest, model: ModelEffectReport, results: Sequence[TrialResult]
) -> Iterator[EffectHistoryLine]:
    targets = [task.id for task in manifest.tasks if task.target_skills != ()]
    yield _line(manifest, model, model, None, manifest.hashes.get("skills"), targets, results)
    if model.composition and not any(each.kind == "primary" for each in model.contrasts):
        return
    for part in model.skills:
        mark = bundle_digest(part.skills or (part.skill,), digests_over(manifest, part.tasks))
        yield _line(manifest, model, part, part.skill, mark, part.tasks, results)


def _line(
    manifest: EffectManifest,
    model: ModelEffectReport,
    part: Part,
    skill: str | None,
    skill_digest: str | None,
    tasks: Sequence[str],
    results: Sequence[TrialResult],
) -> EffectHistoryLine:
    """The line of one part of a model's report: all of it, or a skill."""
    arms = {arm.arm: arm.success for arm in part.arms}
    primary = next((each for each in part.contrasts if each.name == f"{TARGET}-{CONTROL}"), None)
    delta = primary.delta if primary else _NONE
    planned = sum(len(manifest.staged.get(task, ())) for task in tasks) * manifest.replications
    wanted = set(tasks)
    scored = sum(each.scored and each.model == model.model and each.task_id in wanted for each in results)
    return EffectHistoryLine(
        version=1,
        kind="effectiveness",
        created=manifest.created,
        run_id=manifest.run_id,
        manifest=digest(record_values(manifest)),
        commit=manifest.commit,
        dirty=manifest.dirty,
        tool_version=manifest.tool_version,
        model=model.model,
        agent=model.agent,
        agent_version=model.agent_version,
        resolved=model.resolved,
        simulated=model.simulated,
        unproved=model.unproved,
        skill=skill,
        skill_digest=skill_digest,
        skills=part.skills if isinstance(part, SkillEffectReport) else (),
        hashes=manifest.hashes,
        sandbox=manifest.sandbox.name,
        seed=manifest.seed,
        replications=manifest.replications,
        tasks=len(tasks),
        trials=planned,
        scored=scored,
        outcomes=model.outcomes,
        control=_number(arms.get(CONTROL, _NONE)),
        target=_number(arms.get(TARGET, _NONE)),
        delta=_number(delta),
        p=delta.p,
        p_adjusted=delta.p_adjusted,
        verdict=part.verdict.word,
        reason=part.verdict.reason,
        preliminary=part.verdict.preliminary,
        biased=model.biased,
        cost_usd=model.cost_usd,
        pairs=len(model.composition) if skill is None else 0,
    )


def _number(figure: FullFigure | Estimate) -> EffectHistoryFigure:
    return EffectHistoryFigure(
        value=figure.value, low=figure.low, high=figure.high, n=figure.n, clusters=figure.clusters
    )
