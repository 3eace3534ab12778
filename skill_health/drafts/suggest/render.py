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
    yield f"{clean(report.skill)}, measured by {', '.join(report.measured_by)}"
    rows = [("today", _percent(report.today), "")]
    rows += [(f"candidate {each.number}", _percent(each.share), _figure(each)) for each in report.candidates]
    counts = f"{report.train} prompts, {report.train_clusters} independent"
    yield from lay_out_table((f"to select on ({counts})", "right", "against today"), rows)
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
    if sealed is None or report.best is None:
        yield "No better: no candidate is ahead of today's description; the sealed prompts were left alone."
        return
    best = report.candidates[report.best - 1]
    again = "" if sealed.use == 1 else f" This is use {sealed.use} of the sealed prompts for this skill."
    yield (
        f"Candidate {best.number} on {report.sealed} sealed prompts: {_percent(sealed.candidate)} right, today "
        f"{_percent(sealed.today)}; difference {_points(sealed.difference)}, {sealed.moved} moved."
    )
    yield f"The one-sided p-value has to be at most {sealed.level:.4g}, and is {_half(sealed.difference.p)}.{again}"
    if report.verdict == "better":
        yield "Better: the sealed prompts confirm it."
        yield from wrapped(f"  {best.description}", _WIDTH, "  ")
    else:
        yield "No better: the sealed prompts do not confirm that it is."


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
