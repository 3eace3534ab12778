"""The short form for a terminal: who is best, which skills are worst, what is mixed up, and why to be careful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents._record import Figure
from skill_health.documents.router_report import ModelRoutingReport, RouterReport
from skill_health.router.reports import _cells
from skill_health.text import numbers
from skill_health.text.numbers import share
from skill_health.text.terminal import NARROWEST, cut, lay_out_table, paint, wrapped

EXTENSION = ".txt"
_MOST, _MODELS = 5, 20


def render(report: RouterReport, look: RenderOptions = PLAIN) -> str:
    """At most `look.width` columns; the leaderboard loses columns before it loses names."""
    width = max(look.width, NARROWEST)
    lines = [
        *_head(report, look, width), *_leaderboard(report, look, width), *_stages(report, look, width),
        *_skills(report, look, width),
        *_pairs(report, look, width), *_thieves(report, look, width), *_careful(report, look, width),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _head(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    run, counts = report.run, report.counts
    yield paint(cut(f"router run {run.run_id}", width), "bold", look.color)
    yield cut(
        f"{numbers.count(counts.prompts, 'prompt')} ({counts.null} for no skill), {numbers.count(counts.listed, 'skill')}, "
        f"mode {run.mode}, listing {run.listing}",
        width,
    )
    verdict = _cells.trust(report)
    if verdict:
        yield from (paint(line, "red" if report.check else "dim", look.color) for line in wrapped(verdict, width))
    yield ""


def _leaderboard(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    head = ("model", "n", "top-1 %", "top-3 %", "false fire %")
    rows = [
        (
            model.model, str(model.metrics.top1.n),
            *map(share, (model.metrics.top1, model.metrics.top3, model.metrics.false_fire)),
        )
        for model in report.models[:_MODELS]
    ]  # fmt: skip
    title, *lines = lay_out_table(head, rows, width, fewest=3)
    yield from (paint(title, "bold", look.color), *lines)
    if len(report.models) > _MODELS:
        yield f"and {len(report.models) - _MODELS} more models"
    yield ""


def _stages(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    if not report.retrieval:
        return
    found = report.retrieval
    lines = [f"{_share(each.prompts)}  among the first {each.depth}" for each in found.recall[-1:]]
    for model in report.models:
        if model.stages:
            lines.append(f"{_share(model.stages.ranked)}  right where it was, by {model.model}")
    yield from _section(f"Two stages: {found.router} leaves {found.k}", lines, look, width)


def _skills(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    worst = [skill for skill in _cells.rank_skills(report) if skill.recall.value != 1][:_MOST]
    lines = [f"{_share(skill.recall)}  {skill.name}" for skill in worst]
    yield from _section(f"Lowest recall{_together(report)}", lines, look, width)


def _pairs(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    lines = []
    for pair in report.pairs[:_MOST]:
        words = f" (both say {', '.join(pair.shared_words[:4])})" if pair.shared_words else ""
        lines.append(f"{pair.calls} of {pair.rate.n}  {pair.expected} -> {pair.picked}{words}")
    yield from _section(f"Most confused{_together(report)}", lines, look, width)


def _thieves(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    lines = [f"{_share(thief.rate)}  {thief.skill}" for thief in report.steals.thieves[:3]]
    yield from _section(f"Picked where they should not be{_together(report)}", lines, look, width)


def _share(number: Figure) -> str:
    """A share with all that belongs to it, in words."""
    interval = (
        "no interval" if number.low is None else f"{numbers.percent(number.low)} to {numbers.percent(number.high)}"
    )
    return f"{numbers.percent(number.value)} % of {numbers.count(number.n, 'call')} ({interval})"


def _together(report: RouterReport) -> str:
    return ", all models" if len(report.models) > 1 else ""


def _section(title: str, lines: Sequence[str], look: RenderOptions, width: int) -> Iterator[str]:
    if lines:
        yield paint(cut(title, width), "bold", look.color)
        yield from (f"  {cut(line, width - 2)}" for line in lines)
        yield ""


def _careful(report: RouterReport, look: RenderOptions, width: int) -> Iterator[str]:
    yield paint("Mind", "bold", look.color)
    preliminary = (
        f"preliminary ({', '.join(names)}): {reason}" for reason, names in _cells.preliminary(report.models).items()
    )
    for line in (*preliminary, *_failures(report.models), *report.notes, report.statements[0]):
        for at, part in enumerate(wrapped(line, width - 2)):
            yield f"{'- ' if at == 0 else '  '}{part}"


def _failures(models: Sequence[ModelRoutingReport]) -> Iterator[str]:
    """Answers of no use, which count as wrong, and calls without an answer, which count as nothing."""
    for model in models:
        failed, calls = model.failures.after_retry, model.coverage
        if failed.kinds:
            yield f"{model.model}: no usable answer in {_share(failed.rate)}, counted as wrong: {_cells.kinds(failed)}"
        if calls.missing:
            absent = calls.planned - calls.scored
            yield f"{model.model}: {absent} of {numbers.count(calls.planned, 'call')} missing: {_cells.missing(calls)}"
