"""The report as headings, sentences and tables, for every format that people read."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.activation.scores.rows import METRICS
from skill_health.documents._record import Figure
from skill_health.documents.activation_report import (
    ActivationCalibration,
    ActivationReport,
    ModelActivation,
    PromptActivation,
    SkillActivation,
)
from skill_health.documents.router_manifest import NONE
from skill_health.text import numbers
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.numbers import NOTHING, count, format_number, share, with_n

_WORST = 40
CANNOT_TELL = "(cannot tell)"


def document(report: ActivationReport) -> Iterator[Block]:
    """The whole report."""
    yield TitleBlock(f"Activation: {report.run_id}", 1)
    yield Sentence(_about(report))
    if simulated := [model.model for model in report.models if model.simulated]:
        yield Sentence(f"Simulated, and no model of anybody's: {', '.join(simulated)}.", strong=True)
    yield from _figures(report)
    yield from _calibrations(report)
    for model in report.models:
        yield from _skills(report, model)
        yield from _confusion(report, model)
        yield from _sizes(report, model)
        yield from _places(report, model)
    yield from _requests(report)
    yield TitleBlock("What these figures rest on")
    yield Items([*report.statements, *report.notes, *_isolation(report)], most=40)


def _about(report: ActivationReport) -> str:
    prompts = report.prompts
    commit = (
        f", commit {report.commit[:12]}{' with uncommitted changes' if report.dirty else ''}" if report.commit else ""
    )
    return (
        f"{count(prompts.total, 'prompt')} to {count(len(report.models), 'agent')} with {count(report.skills, 'skill')} staged"
        f" ({prompts.skill} expect a skill, {prompts.none} none, {prompts.near_miss} name one that must not fire), "
        f"{count(report.replications, 'replication')}, at most {count(report.turns, 'turn')} each{commit}."
    )


def _figures(report: ActivationReport) -> Iterator[Block]:
    yield TitleBlock("How often agents load the right skill")
    yield Sentence("Per cent with 95 % intervals, and the requests behind each.")
    head = ("agent", *(metric.title for metric in METRICS.values()), "known of planned")
    rows = [
        [
            model.model,
            *(cell(getattr(model.metrics, name)) for name in METRICS),
            f"{model.known} of {model.planned}",
        ]
        for model in report.models
    ]
    yield Table(head, rows)
    for model in report.models:
        for why, number in model.cannot_tell.items():
            yield Sentence(f"{model.model}: {count(number, 'request')} cannot be told: {why}.")
        if recall := model.bounds.get("recall"):
            low, high = (numbers.percent(each) for each in recall)
            yield Sentence(
                f"{model.model}: recall in this run lies between {low} and {high} % whatever was opened there."
            )
        if model.missing:
            gone = ", ".join(f"{what} {number}" for what, number in model.missing.items())
            yield Sentence(f"{model.model}: missing: {gone}.")
        if model.preliminary:
            yield Sentence(f"Preliminary ({model.model}): {'; '.join(model.preliminary)}.")


def cell(figure: Figure) -> str:
    """A share with its interval and its n, or why there is none."""
    return with_n(share(figure), figure) if figure.value is not None else NOTHING


def _calibrations(report: ActivationReport) -> Iterator[Block]:
    if not report.routers:
        return
    yield TitleBlock("Beside the ranking of a router")
    for router in report.routers:
        where = f"in the run {router.source}" if router.source else "over the same listing"
        yield Sentence(
            f"{router.router} ({where}) puts the expected skill first for {cell(router.top1)} % of the prompts that expect "
            "one."
        )
    rows = [[model.model, each.router, *_calibration(each)] for model in report.models for each in model.calibration]
    head = (
        "agent", "router", "prompts", "AUC of the place", "correlation with the place", "AUC of the lead",
        "correlation with the lead", "AUC of the best score for false fires",
    )  # fmt: skip
    yield Table(head, rows)
    yield Sentence(
        "AUC: how often a skill that was loaded stood ahead of one that was not (0.5 tells nothing); correlations are of "
        "ranks (Spearman)."
    )
    steps = [
        [model.model, each.router, *(cell(step.recall) for step in each.steps)]
        for model in report.models
        for each in model.calibration
    ]
    yield Sentence("Recall of agents by the place at which the router puts the expected skill, in per cent:")
    yield Table(("agent", "router", "1", "2 to 3", "4 or later", "not ranked"), steps)
    for model in report.models:
        for each in model.calibration:
            for reason in dict.fromkeys(
                figure.note for figure in (each.place_auc, each.margin_auc) if figure.value is None and figure.note
            ):
                yield Sentence(f"{model.model}, {each.router}: {reason}.")


def _calibration(each: ActivationCalibration) -> list[str]:
    figures = (each.place_auc, each.place_correlation, each.margin_auc, each.margin_correlation, each.fire_auc)
    return [str(each.prompts), *(with_n(format_number(figure), figure) for figure in figures)]


def _skills(report: ActivationReport, model: ModelActivation) -> Iterator[Block]:
    yield TitleBlock(f"Skills, {model.model}")
    ordered = sorted(model.skills, key=lambda skill: (_low(skill), skill.skill))
    yield Table(
        ("skill", "recall", "precision", "false fire, near miss", "opened first", "instead of it"),
        [
            [
                skill.skill, cell(skill.recall), cell(skill.precision), cell(skill.false_fire_near), str(skill.opened),
                _instead(skill),
            ]
            for skill in ordered
        ],
    )  # fmt: skip


def _low(skill: SkillActivation) -> float:
    return 2.0 if skill.recall.value is None else skill.recall.value


def _instead(skill: SkillActivation) -> str:
    return ", ".join(f"{name} {number}" for name, number in [*skill.instead.items()][:3]) or NOTHING


def _confusion(report: ActivationReport, model: ModelActivation) -> Iterator[Block]:
    wrong = [each for each in model.confusion if each.first != each.expected]
    if not wrong:
        return
    yield TitleBlock(f"What was opened first instead, {model.model}", 3)
    ordered = sorted(wrong, key=lambda each: (-each.calls, each.expected, each.first or ""))
    yield Table(
        ("expected", "opened first", "requests", "prompts"),
        [
            [each.expected, CANNOT_TELL if each.first is None else each.first, str(each.calls), str(each.prompts)]
            for each in ordered
        ],
    )


def _sizes(report: ActivationReport, model: ModelActivation) -> Iterator[Block]:
    if len(model.sizes) < 2:
        return
    yield TitleBlock(f"By size of the collection, {model.model}", 3)
    shown = ("recall", "precision", "other_first", "false_fire_none", "false_fire_near")
    yield Table(
        ("skills", *(METRICS[name].title for name in shown)),
        [[str(each.size), *(cell(getattr(each.metrics, name)) for name in shown)] for each in model.sizes],
    )


def _places(report: ActivationReport, model: ModelActivation) -> Iterator[Block]:
    if not any(place.recall.n for place in model.places):
        return
    yield TitleBlock(f"By place in the list, {model.model}", 3)
    yield Table(("place of the expected skill", "recall"), [[each.part, cell(each.recall)] for each in model.places])
    if model.fixed_order:
        yield Sentence("It lists skills in one order always, so that place and skill cannot be told apart here.")


def _requests(report: ActivationReport) -> Iterator[Block]:
    bad = [each for each in report.requests if _failing(each)]
    if not bad:
        return
    yield TitleBlock("Requests that did not go as labelled")
    yield Items([_request(each) for each in bad], most=_WORST)


def _failing(request: PromptActivation) -> bool:
    right = {request.expected or NONE, *request.acceptable} if "".join(request.classes) != "near_miss" else None
    for model in request.models:
        for name in model.first:
            if (right is not None and name not in right) or name in request.rejected:
                return True
    return False


def _request(request: PromptActivation) -> str:
    wanted = request.expected or ("none" if "none" in request.classes else f"not {', '.join(request.rejected)}")
    told = "; ".join(f"{model.model}: {_counted(model.first, model.cannot_tell)}" for model in request.models)
    return f"{request.prompt_id} ({wanted}): {told}: {' '.join(request.text.split())[:120]}"


def _counted(first: object, untold: int) -> str:
    pairs = [f"{name} {number}" for name, number in dict(first).items()]  # type: ignore[call-overload]
    return ", ".join([*pairs, *([f"cannot tell {untold}"] if untold else [])]) or NOTHING


def _isolation(report: ActivationReport) -> Iterator[str]:
    proof = report.isolation
    yield (
        f"Isolation ({report.sandbox}): before {proof.proved} of {count(proof.calls, 'request')} all that lay in the workspace, "
        "the home and the temporary folder had the hash of a control workspace that no agent was ever in."
    )
    yield (
        f"{count(proof.reused, 'request')} of them came to a workspace that had served another one; before {proof.renewed} a used "
        "workspace was given up, because it was not as it had been."
    )
    if proof.seen:
        yield (
            f"The first request to the model was looked through in {proof.seen}: it held all staged skills and no other prompt."
        )
