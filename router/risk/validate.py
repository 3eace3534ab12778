"""The risk of each skill beside what real models lost in a run -> whether the risk carries over to them.

A model lost a skill if it found fewer than half of its requests, as the report of the run counts them. Skills are the
independent observations: all requests of one make one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from skill_health.bench.run_folder import earlier_runs
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.discovery.roots import reports_folder
from skill_health.documents._record import Figure, convert_record
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import SkillModelRouting, SkillRoutingReport
from skill_health.documents.router_risk import RatedRisk, RiskReport
from skill_health.documents.router_risk_check import (
    BinRiskCheck,
    CarryOverVerdict,
    ModelRiskCheck,
    RiskCheckReport,
    SkillRiskCheck,
)
from skill_health.router.compare.comparable import changed_skills
from skill_health.router.inputs import ListedCollection
from skill_health.router.records import Catalogue
from skill_health.router.risk.assess import load_model
from skill_health.router.routers._load import PROVIDER
from skill_health.router.runs import ROUTER, RouterRun, load_run
from skill_health.router.scores.failures import coverage
from skill_health.router.scores.numbers import number
from skill_health.router.scores.skills import FEW, skills
from skill_health.stats.intervals import auc, wilson_interval
from skill_health.text.near import list_some
from skill_health.text.numbers import count
from skill_health.text.terminal import clean, lay_out_table

LOST = 0.5
"""A skill is lost if the model found it for a smaller share of the calls that expect it."""
ALPHA = 0.05
"""The level of the exact test below which so few skills could not get."""
CHANCE = 0.5
"""The AUC of a score that says nothing."""
_DIGITS = 3


def check_risk(report: RiskReport, catalogue: Catalogue, run: RouterRun) -> RiskCheckReport:
    """Hold the risks of a catalogue against the real models of a run.

    Skills whose listed text has changed since the run are left out: the models saw another one. Raises UsageError where
    the run asked no real model, listed something else, or is not finished.
    """
    specs = [model.spec for model in run.manifest.models if model.kind == PROVIDER]
    if not specs:
        asked = list_some([model.spec for model in run.manifest.models])
        raise UsageError(f"{run.run_id} asked no real model, but {asked}: name a run of one, or import one")
    if run.manifest.listing != report.listing:
        raise UsageError(
            f"{run.run_id} listed {run.manifest.listing}, and the risk is that of {report.listing}: "
            f"give --listing {run.manifest.listing}"
        )
    if not _is_over(run):
        raise UsageError(
            f"{run.run_id} is not finished: end it with `skill-health router run --resume {run.run_id}` first"
        )
    changed = {skill.name for skill in changed_skills(run.facts.shown.values(), catalogue.shown)}
    same = {skill.name for skill in catalogue.shown} - changed
    if not same:
        raise UsageError(
            f"{run.run_id} listed none of these skills as they are listed now: name a run of this collection"
        )
    rated = {each.skill: each for each in report.skills if each.skill in same}
    routed = skills(run.sheet)
    promised = report.validation.auc
    return RiskCheckReport(
        schema="skill-health/router-risk-check/1",
        run_id=run.run_id,
        created=run.manifest.created,
        listing=report.listing,
        fewest=FEW,
        promised=promised,
        models=tuple(_check(spec, rated, routed, promised) for spec in specs),
        notes=(*report.notes, *_notes(run, specs, sorted(changed))),
    )


def _notes(run: RouterRun, specs: Sequence[str], changed: Sequence[str]) -> Iterator[str]:
    if changed:
        yield f"left out, since the run listed another text or none: {list_some(changed)}"
    for column in run.sheet.columns:
        spec = column.model.spec
        if spec in specs and run.trusted(spec) is False:
            yield f"{spec} is not to be trusted in {run.run_id}: the instrument check failed"
        found = coverage(column, run.facts)
        if spec in specs and found.missing:
            kinds = ", ".join(f"{name} {n}" for name, n in found.missing.items())
            yield f"{spec}: {sum(found.missing.values())} of {found.planned} calls are missing ({kinds})"


def _check(
    spec: str, rated: Mapping[str, RatedRisk], routed: Sequence[SkillRoutingReport], promised: float
) -> ModelRiskCheck:
    found = {
        skill.name: by_model
        for skill in routed
        for by_model in skill.models
        if by_model.model == spec and skill.name in rated and skill.prompts
    }
    checked = [row for name, one in found.items() if (row := _skill(rated[name], one)) is not None]
    checked.sort(key=lambda row: (-row.probability, row.skill))
    lost, kept = ([row.probability for row in checked if row.lost is which] for which in (True, False))
    figure = number(auc(lost, kept))
    return ModelRiskCheck(
        model=spec,
        verdict=_verdict(figure, len(lost), promised),
        auc=figure,
        lost=len(lost),
        too_few_prompts=sum(one.recall.clusters < FEW for one in found.values()),
        skills=tuple(checked),
        bins=tuple(_bins(checked)),
    )


def _skill(rated: RatedRisk, routed: SkillModelRouting) -> SkillRiskCheck | None:
    """A skill that counts: it has a risk, and enough prompts of it have a score."""
    recall = routed.recall
    if rated.probability is None or recall.value is None or recall.clusters < FEW:
        return None
    return SkillRiskCheck(skill=rated.skill, probability=rated.probability, found=recall, lost=recall.value < LOST)


def _verdict(found: Figure, lost: int, promised: float) -> CarryOverVerdict:
    """The verdict; none where even skills that are wholly apart could be so by chance, by an exact test (two-sided)."""
    if found.low is None or found.high is None or 2 / math.comb(found.n, lost) > ALPHA:
        return "too_few"
    if found.low > CHANCE:
        return "carries_over"
    return "does_not_carry_over" if found.high < promised else "too_few"


def _bins(checked: Sequence[SkillRiskCheck]) -> Iterator[BinRiskCheck]:
    """The bins of the shipped model, so that both can be laid side by side."""
    model = load_model()
    for each in model.bins:
        there = [row for row in checked if model.alike(row.probability) is each]
        if there:
            lost = sum(row.lost for row in there)
            low, high = wilson_interval(lost, len(there))
            mean = math.fsum(row.probability for row in there) / len(there)
            yield BinRiskCheck(
                least=each.least, skills=len(there), mean=round(mean, _DIGITS), lost=lost,
                low=round(low, _DIGITS), high=round(high, _DIGITS),
            )  # fmt: skip


_VERDICTS: Mapping[CarryOverVerdict, str] = {
    "carries_over": "the risk carries over: a skill that the model lost had the higher risk more often than chance",
    "does_not_carry_over": "the risk does not carry over: it tells lost skills apart less well than it does for free routers",
    "too_few": "too few skills to tell whether the risk carries over",
}


def check_text(report: RiskCheckReport) -> str:
    """The report for a terminal."""
    lines = [f"note: {clean(note)}" for note in report.notes]
    lines.append(f"The risk against {clean(report.run_id)}: skills with at least {report.fewest} independent prompts")
    for each in report.models:
        lines += ["", *_model_lines(each, report)]
    lines += [
        "",
        f"lost: the model found the skill for fewer than half of the calls that expect it. {report.promised:.2f} is the AUC of "
        "the risk",
        "where free routers lose the skills. The interval is 95 %, with the skill as its unit.",
    ]
    return "\n".join(lines) + "\n"


def _model_lines(each: ModelRiskCheck, report: RiskCheckReport) -> Iterator[str]:
    yield f"{clean(each.model)}: {_VERDICTS[each.verdict]}"
    more = f"; {count(each.too_few_prompts, 'more skill')} with too few prompts" if each.too_few_prompts else ""
    yield f"  {each.lost} of {count(len(each.skills), 'skill')} lost{more}"
    figure = each.auc
    if figure.value is None:
        yield f"  AUC {figure.note}"
    else:
        yield f"  AUC {figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}], n = {figure.n} skills"
    if each.bins:
        rows = [
            (
                f"from {one.least:.0%}",
                str(one.skills),
                f"{one.mean:.0%}",
                f"{one.lost} ({one.low:.0%} to {one.high:.0%})",
            )
            for one in each.bins
        ]
        yield from (f"  {line}" for line in lay_out_table(("risk", "skills", "mean risk", "were lost"), rows))
    gone = [
        (clean(row.skill), f"{row.probability:.0%}", f"{row.found.value:.0%} of {row.found.n}")
        for row in each.skills
        if row.lost
    ]
    if gone:
        yield from (f"  {line}" for line in lay_out_table(("lost skill", "risk", "calls that found it"), gone))


_LATEST = 20


def find_checkable(listed: ListedCollection, named: str | None) -> str:
    """One line about the latest run whose real models were asked about this very listing; "" where there is none.

    Only the latest runs in the folder of reports (see `reports_folder`) are looked at; a folder that cannot be read has
    none.
    """
    catalogue = listed.catalogue
    try:
        reports = reports_folder(named, listed.root, listed.config)
        for folder, found in islice(earlier_runs(reports, ROUTER), _LATEST):
            manifest = convert_record(found, RouterManifest)
            specs = [model.spec for model in manifest.models if model.kind == PROVIDER]
            if not specs or manifest.listing != catalogue.listing:
                continue
            run = load_run(folder)
            specs = [spec for spec in specs if run.trusted(spec) is not False]
            if specs and _is_over(run) and not changed_skills(run.facts.shown.values(), catalogue.shown):
                return (
                    f"{list_some(specs)} was asked about this very listing: --against {run.run_id} says whether the risk "
                    "carries over"
                )
    except SkillHealthError:
        pass
    return ""


def _is_over(run: RouterRun) -> bool:
    return bool(run.manifest.imported) or run.finished
