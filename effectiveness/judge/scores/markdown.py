"""The report of a judging for people, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from skill_health.documents._record import Figure, FullFigure
from skill_health.documents.judge_calibration import JudgeCalibration
from skill_health.documents.judge_report import NOT_CALIBRATED, JudgeReport, RubricScore, SkillScores
from skill_health.effectiveness.judge.carry import carried_lines
from skill_health.effectiveness.judge.scores.agreement import reliability
from skill_health.text.terminal import markdown_text

_UNKNOWN = (
    f"{NOT_CALIBRATED}: nobody has held these verdicts against those of people (`skill-health effectiveness calibrate`)"
)
NOTHING_SETTLED = (
    "Not calibrated: no criterion that has a label was settled, so nothing says whether verdicts are right."
)
_MOST_DISPUTED = 20
_UNREAD = {"format_failure": "not in the form", "truncated": "cut off", "refusal": "refused"}


def to_markdown(report: JudgeReport) -> str:
    """All of a report; the same report gives the same bytes."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: JudgeReport) -> Iterator[str]:
    yield f"# Judged scores of {markdown_text(report.of_run)}"
    yield ""
    yield from _trust(report)
    yield ""
    yield from table_lines(("judge", "votes read", "void verdicts", "other verdict when asked again", "cost"), [
        (each.judge, f"{each.read} of {each.asked}", f"{each.void} of {each.verdicts}", share_text(each.repeats), usd_text(each.cost_usd))
        for each in report.judges
    ])  # fmt: skip
    yield ""
    if report.contrasts:
        yield "## Weighted score, arm against arm"
        yield ""
        yield from table_lines(("model", "contrast", "difference, points", "p", "p, corrected", "verdict"), [
            (each.model, each.name, _points(each.delta), p_text(each.delta.p), p_text(each.delta.p_adjusted), (each.verdict or "").replace("_", " "))
            for each in report.contrasts
        ])  # fmt: skip
        yield ""
    if report.skills:
        yield "## Skills, with and without"
        yield ""
        yield from table_lines(("skill", "model", "score", "with", "without", "difference, points", "p, corrected", "verdict", "missing"), [
            row for each in report.skills for row in _skill(each)
        ])  # fmt: skip
        yield ""
    if report.agreement.disputed:
        yield "## Criteria on which judges differ"
        yield ""
        yield from table_lines(("task", "criterion", "trials in which they differ"), [
            (each.task, each.criterion, f"{each.differing} of {each.trials}")
            for each in report.agreement.disputed[:_MOST_DISPUTED]
        ])  # fmt: skip
        yield ""
    if flagged := [trial for trial in report.trials if trial.flags]:
        yield "## Trials with text that is written for a judge"
        yield ""
        yield "No verdict was changed. Read them before you trust their scores."
        yield ""
        yield from table_lines(("trial", "where", "what", "passage"), [
            (trial.folder, f"{flag.part}{' ' if flag.path else ''}{flag.path}, line {flag.line}", flag.kind.replace("_", " "), flag.excerpt)
            for trial in flagged for flag in trial.flags[:3]
        ])  # fmt: skip
        yield ""
    yield "## Trials"
    yield ""
    head = ("task", "model", "arm", "replication", "goal", "instruction", "weighted", "judged")
    yield from table_lines(head, map(_trial, report.trials))


def calibration_lines(found: JudgeCalibration) -> Iterator[str]:
    """A calibration, as lines of Markdown."""
    yield f"# {markdown_text(found.run_id)} against {found.labels} verdicts of people"
    yield ""
    if not found.labels:
        yield f"{NOTHING_SETTLED} There are {found.unjudged} labels."
        return
    yield reliability(found.counted.kappa)
    yield ""
    if found.unjudged:
        yield f"{found.unjudged} more labels are on criteria that the judging did not settle; they are missing."
        yield ""
    rows = (
        (
            each.judge or "counted",
            share_text(each.accuracy),
            number_text(each.kappa),
            _points_of(each.leniency),
            _slope(each.by_length),
            _slope(each.by_position),
        )
        for each in (found.counted, *found.judges)
    )
    yield from table_lines(("verdicts", "accuracy", "kappa", "lenient by", "slope by length", "slope by place"), rows)
    yield ""
    yield (
        "A slope is that of the log-odds of a right verdict, for each doubling of the work's length and for each place "
        "further down in the list of criteria."
    )
    yield ""
    yield from table_lines(("task", "criterion", "accuracy", "lenient", "strict"), [
        (each.task, each.criterion, share_text(each.accuracy, "trials"), str(each.lenient), str(each.strict)) for each in found.criteria
    ])  # fmt: skip


def _trust(report: JudgeReport) -> Iterator[str]:
    found = report.calibration
    if found is None:
        yield f"**{_UNKNOWN[0].upper()}{_UNKNOWN[1:]}**"
    elif not found.labels:
        yield f"**{NOTHING_SETTLED}**"
    else:
        where = f" in {found.judging}, by the same judges over other work" if found.judging else ""
        yield (
            f"**{reliability(found.kappa)}** Held against {found.labels} verdicts of people{where}: accuracy {share_text(found.accuracy)}, "
            f"kappa {number_text(found.kappa)}, {_leaning(found.leniency)}."
        )
    yield ""
    agreement = report.agreement
    kind = f"{agreement.kind.capitalize()}'s kappa" if agreement.kind == "cohen" else "Fleiss' kappa"
    yield f"- votes: {report.votes_read} of {report.votes_planned} could be read{_missing(report)}"
    if agreement.kind:
        yield f"- judges agree: {share_text(agreement.raw)}; {kind} {number_text(agreement.kappa)}"
    yield f"- another verdict when the same judge is asked again: {share_text(report.repeats)}"
    judged = [trial.coverage for trial in report.trials]
    yield (
        f"- settled: {100 * sum(judged) / len(judged):.1f} % of the judged points, over {len(judged)} trials"
        if judged
        else "- no trial"
    )
    yield from blindness_lines(report.skill_shown, len(report.trials), "trials")
    for line in carried_lines(report.taken_over, "vote"):
        yield f"- {line}"
    if report.left_out:
        yield f"- not judged: {len(report.left_out)} trials, such as {report.left_out[0].task_id}: {markdown_text(report.left_out[0].reason)}"


def _skill(each: SkillScores) -> Iterator[tuple[str, ...]]:
    """A row for each score that is known on a side; the weighted one decides."""
    sides = (("goal", each.goal), ("instruction", each.instruction), ("weighted", each.weighted))
    for name, side in sides:
        if side.with_skill.value is None and side.without.value is None:
            continue
        said = ("", "", "")
        if name == "weighted":
            said = (p_text(side.delta.p_adjusted), each.verdict.replace("_", " "), f"{100 * each.missing:.1f} %")
        yield (
            each.skill,
            each.model,
            name,
            share_text(side.with_skill),
            share_text(side.without),
            _points(side.delta),
            *said,
        )


def _missing(report: JudgeReport) -> str:
    """What became of the votes that could not be read: no verdict against anybody."""
    counts = Counter({"not asked": report.votes_planned - sum(each.asked for each in report.judges)})
    for each in report.judges:
        counts.update({_UNREAD.get(status, status.replace("_", " ")): count for status, count in each.unread.items()})
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"; missing, not failures: {said}" if said else ""


def blindness_lines(shown: int, of: int, what: str) -> Iterator[str]:
    """Where judges are not blind to the arm, as an item of a list."""
    if shown:
        yield f"- not blind: {shown} of {of} {what} show that a skill was there, as where the agent opened it; no arm is named"


def _trial(trial: RubricScore) -> tuple[str, ...]:
    scores = (_score(each) for each in (trial.goal, trial.instruction, trial.weighted))
    return (trial.task_id, trial.model, trial.arm, str(trial.replication), *scores, f"{100 * trial.coverage:.0f} %")


def table_lines(head: tuple[str, ...], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table, its cells safe to print."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(_cell, row)) + " |"


def _cell(text: str) -> str:
    """A cell that can be read in a terminal, too: without square brackets parentheses make no link."""
    return markdown_text(text).replace("\\(", "(").replace("\\)", ")").replace("\\+", "+").replace("\\_", "_")


def _with_interval(figure: Figure | FullFigure, word: Callable[[float], str], of: str) -> str:
    if figure.value is None:
        return figure.note or "not known"
    n = f"n {figure.n} in {figure.clusters} tasks" if figure.n != figure.clusters else f"n {figure.n} {of}"
    if figure.low is None or figure.high is None:
        return f"{word(figure.value)} ({figure.note or 'no interval'}; {n})"
    return f"{word(figure.value)} ({word(figure.low)} to {word(figure.high)}; {n})"


def share_text(figure: Figure | FullFigure, of: str = "tasks") -> str:
    """A share in percent, with its interval and n."""
    return _with_interval(figure, lambda value: f"{100 * value:.1f} %", of)


def number_text(figure: Figure) -> str:
    """A number with its interval and n."""
    return _with_interval(figure, lambda value: f"{value:.2f}", "tasks")


def _points(figure: FullFigure) -> str:
    return _with_interval(figure, lambda value: f"{100 * value:+.1f}", "tasks")


def _points_of(figure: Figure) -> str:
    return _with_interval(figure, lambda value: f"{100 * value:+.1f} points", "tasks")


def _slope(figure: Figure) -> str:
    if "separates" in figure.note:
        return "not testable: all errors are at one end"
    return number_text(figure)


def _leaning(figure: Figure) -> str:
    """Which way the verdicts lean: too many are met, or too few."""
    word = "strict: " if figure.value is not None and figure.value < 0 else ""
    return f"{word}lenient by {_points_of(figure)}"


def p_text(p: float | None) -> str:
    """A p-value; nothing where there is none."""
    return "" if p is None else f"{p:.3f}"


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:.1f}"


def usd_text(usd: float | None) -> str:
    """Dollars, as far as they are known."""
    return "not known" if usd is None else f"${usd:.4f}"
