"""One line for each agent and skill of a run, and one for the whole collection, in activation-history.jsonl."""

from __future__ import annotations

import os
from collections.abc import Iterator

from skill_health.bench.durable import append_once
from skill_health.bench.manifest import digest
from skill_health.documents._record import Figure, record_values
from skill_health.documents.activation_history import HISTORY, ActivationHistoryLine
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_report import ActivationReport, ModelActivation, SkillActivation


def record_activation(reports: str, manifest: ActivationManifest, report: ActivationReport) -> int:
    """Append the lines of a finished run that the history in a folder of reports lacks; how many those were.

    A second call changes nothing. Raises UsageError where the history cannot be read or written.
    """
    lines = [record_values(line) for line in history_lines(manifest, report)]
    return append_once(os.path.join(reports, HISTORY), lines, ("schema", "run_id", "model", "skill"))


def history_lines(manifest: ActivationManifest, report: ActivationReport) -> Iterator[ActivationHistoryLine]:
    """The lines of a run: of each agent that of the collection, then those of its skills."""
    mark = digest(record_values(manifest))
    for model in report.models:
        yield _line(manifest, mark, model, None)
        for skill in model.skills:
            if skill.prompts or skill.false_fire_near.n:
                yield _line(manifest, mark, model, skill)


def _line(
    manifest: ActivationManifest, mark: str, model: ModelActivation, skill: SkillActivation | None
) -> ActivationHistoryLine:
    contents = {each.name: each.digest for each in manifest.skills}
    part = skill or model.metrics
    return ActivationHistoryLine(
        schema="skill-health/activation-history/1",
        time=manifest.created,
        run_id=manifest.run_id,
        manifest=mark,
        commit=manifest.commit,
        dirty=manifest.dirty,
        version=manifest.tool_version,
        model=model.model,
        agent=model.agent,
        agent_version=model.agent_version,
        resolved=model.resolved,
        simulated=model.simulated,
        skill=skill.skill if skill else None,
        skills=len(manifest.skills),
        prompts=manifest.hashes.get("prompts"),
        catalogue=manifest.hashes.get("catalogue"),
        content=contents.get(skill.skill) if skill else manifest.hashes.get("skills"),
        replications=manifest.replications,
        turns=manifest.turns,
        planned=skill.prompts * manifest.replications if skill else model.planned,
        known=skill.recall.n if skill else model.known,
        recall=_bare(part.recall),
        precision=_bare(part.precision),
        false_fire_none=None if skill else _bare(model.metrics.false_fire_none),
        false_fire_near=_bare(part.false_fire_near),
        calibration={} if skill else {each.router: _bare(each.place_auc) for each in model.calibration},
        cost_usd=None if skill else model.cost_usd,
    )


def _bare(figure: Figure) -> Figure:
    return Figure(
        value=figure.value, low=figure.low, high=figure.high, n=figure.n, clusters=figure.clusters, note=figure.note
    )
