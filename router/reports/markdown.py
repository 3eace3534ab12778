"""The report for a repository or a job summary; everything from skills, prompts and answers is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.router.reports import PLAIN, RenderOptions, Report, _cells
from skill_health.router.reports._markdown_behaviour import behaviour
from skill_health.router.reports._markdown_models import models
from skill_health.router.reports._markdown_prompts import prompts
from skill_health.router.reports._markdown_skills import skills
from skill_health.text import numbers
from skill_health.text.blocks import text
from skill_health.text.numbers import NOTHING

EXTENSION = ".md"
_FINDINGS = 20


def render(report: Report, look: RenderOptions = PLAIN) -> str:
    """The verdicts first, then the models, the skills, and the prompts that failed."""
    parts = (_head(report), models(report), behaviour(report), skills(report), prompts(report), _foot(report))
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _head(report: Report) -> Iterator[str]:
    run, counts = report["run"], report["counts"]
    yield "# Router report"
    yield ""
    commit = f"commit {str(run['commit'])[:12]}" if run["commit"] else "no commit"
    commit += " with changes" if run["dirty"] else ""
    template = run["template"] or {}
    yield text(
        f"Run {run['run_id']}, {run['created']}, {commit}: {numbers.count(counts['prompts'], 'prompt')} "
        f"({counts['with_skill']} with a skill, {counts['null']} for which none applies, {counts['clusters']} independent) "
        f"x {numbers.count(counts['listed'], 'listed skill')} x {numbers.count(len(report['models']), 'model')}; mode "
        f"{run['mode']}, listing {run['listing']}, template {template.get('name')}{_version(template)}, "
        f"orders {run['orders']}, seed {run['seed']}."
    )
    yield ""
    yield from _trust(report)
    for note in report["notes"]:
        yield f"- {text(note)}"
    if report["notes"]:
        yield ""


def _version(template: Mapping[str, Any]) -> str:
    return f" (version {template['version']})" if template.get("version") else ""


def _trust(report: Report) -> Iterator[str]:
    verdict = _cells.trust(report)
    if verdict:
        yield f"> **{text(verdict)}**  "
    findings = (report["check"] or {}).get("findings", ())
    for finding in findings[:_FINDINGS]:
        yield f"> {'' if finding['level'] == 'fail' else 'Note: '}{text(finding['model'])}: {text(finding['text'])}  "
    if len(findings) > _FINDINGS:
        yield f"> {len(findings) - _FINDINGS} more findings are in the JSON report."
    if verdict or findings:
        yield ""


def _foot(report: Report) -> Iterator[str]:
    yield "## How to read this"
    yield ""
    yield f"- [{NOTHING}] stands where too few or too unequal clusters leave no interval, {NOTHING} where there is no number."
    for statement in report["statements"]:
        yield f"- {text(statement)}"
    yield ""
    hashes = report["run"]["hashes"] or {}
    if hashes:
        yield text(f"Hashes: {', '.join(f'{name} {value}' for name, value in sorted(hashes.items()))}.")
        yield ""
