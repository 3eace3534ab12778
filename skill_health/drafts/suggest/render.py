"""The report on candidates for a description, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents._record import Figure
from skill_health.documents.description_suggestion import MeasuredCandidate, SuggestionReport
from skill_health.text.terminal import clean, lay_out_table, wrapped

_WIDTH = 100


def suggestion_text(report: SuggestionReport) -> str:
    """The report for a terminal."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: SuggestionReport) -> Iterator[str]:
    yield from (f"note: {note}" for note in report.notes)
    yield f"{clean(report.skill)}, measured by {clean(', '.join(report.measured_by))}{_asked(report)}"
    rows = [("today", _percent(report.today), "", _percent(report.today_beside))]
    rows += [
        (f"candidate {each.number}", _percent(each.share), _figure(each), _percent(each.beside))
        for each in report.candidates
    ]
    counts = f"{report.answered} prompts, {report.train_clusters} independent"
    head = (f"to select on ({counts})", "right", "against today", "by free routers")
    columns = 4 if report.beside else 3
    yield from lay_out_table(head[:columns], [row[:columns] for row in rows])
    if report.beside:
        yield f"By free routers: {', '.join(report.beside)} on all {report.train} prompts; they decide nothing."
    for each in report.candidates:
        if each.fault:
            yield f"candidate {each.number} ({clean(each.source)}) was not measured: {each.fault}"
    yield ""
    yield from _verdict(report)


def _verdict(report: SuggestionReport) -> Iterator[str]:
    if report.verdict == "no_candidate":
        yield "No candidate could be measured; the sealed prompts were left alone."
        return
    sealed = report.confirmation
    if report.verdict == "not_testable":
        answered, of = (report.answered, report.train) if sealed is None else (sealed.answered, report.sealed)
        yield (
            f"Not testable: {answered} of the {of} {'prompts to select on' if sealed is None else 'sealed prompts'} have an "
            "answer of each model under each description that is compared. Run the same command again: it asks for the others."
        )
        return
    if sealed is None or report.best is None or sealed.difference is None:
        yield "No better: no candidate is ahead of today's description; the sealed prompts were left alone."
        return
    best = report.candidates[report.best - 1]
    again = "" if sealed.use == 1 else f" This is use {sealed.use} of the sealed prompts for this skill."
    yield (
        f"Candidate {best.number} on {sealed.answered} sealed prompts: {_percent(sealed.candidate)} right, today "
        f"{_percent(sealed.today)}; difference {_points(sealed.difference)}, {sealed.moved} moved."
    )
    yield f"The one-sided p-value has to be at most {sealed.level:.4g}, and is {_half(sealed.difference.p)}.{again}"
    if report.verdict == "better":
        yield "Better: the sealed prompts confirm it."
        yield from wrapped(f"  {best.description}", _WIDTH, "  ")
    else:
        yield "No better: the sealed prompts do not confirm that it is."


def _asked(report: SuggestionReport) -> str:
    if not report.beside:
        return ""
    cost = "cost not known" if report.cost_usd is None else f"${report.cost_usd:.4f}"
    return f" ({report.replications} x each prompt, {cost})"


def _figure(each: MeasuredCandidate) -> str:
    return "not measured" if each.difference is None else _points(each.difference)


def _points(figure: Figure) -> str:
    if figure.value is None:
        return figure.note or "-"
    known = figure.low is not None and figure.high is not None
    ends = f" [{100 * (figure.low or 0):+.1f}, {100 * (figure.high or 0):+.1f}]" if known else f" ({figure.note})"
    return f"{100 * figure.value:+.1f} points{ends}"


def _half(p: float | None) -> str:
    return "not known, as nothing moved" if p is None else f"{p / 2:.4g}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
