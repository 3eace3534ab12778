"""For people: one line per finding, the source with a caret, what to do, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from skill_health.formats._hosts import message_of
from skill_health.lint.report import LintReport, count_fixes
from skill_health.rules._api import Finding, Severity
from skill_health.text.terminal import clean, paint

if TYPE_CHECKING:
    from skill_health.score.population import Standing
    from skill_health.score.scoring import Score

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_WIDTH = 100
_MARKED = 40


def render(report: LintReport, color: bool) -> str:
    """The findings grouped by file, then the totals."""
    lines: list[str] = []
    if report.statistics:
        lines += _statistics(report, color)
    else:
        for finding in report.findings:
            lines += _finding(report, finding, color)
    if report.scores is not None:
        lines += score_lines(report, color)
    lines += _summary(report, color)
    return "\n".join(lines) + "\n"


def _finding(report: LintReport, finding: Finding, color: bool) -> Iterator[str]:
    place = f"{clean(report.shown(finding.path))}:{finding.line}:{finding.col}:"
    severity = paint(finding.severity.value, _COLORS[finding.severity], color)
    code = paint(finding.code, "bold", color)
    yield f"{paint(place, 'bold', color)} {severity} {code} {clean(message_of(finding) + report.copies(finding))}"
    if finding.source.strip():
        yield from excerpt(finding, color)
    if finding.help:
        yield f"    {paint('help:', 'cyan', color)} {clean(finding.help)}"
    yield ""


def excerpt(finding: Finding, color: bool) -> Iterator[str]:
    """The line that a finding points at, cut to the terminal's width, and a line of carets below the fault."""
    at = finding.col - 1
    start = max(0, at - _WIDTH // 2) if at > _WIDTH - 20 else 0
    shown = finding.source[start : start + _WIDTH]
    if not start:
        start = len(shown) - len(shown.lstrip())
        shown = shown.lstrip()
    before = clean(shown[: max(0, at - start)])
    same_line = finding.end_line in (0, finding.line)
    length = finding.end_col - finding.col if same_line and finding.end_col > finding.col else 1
    marked = clean(finding.source[at : at + length])
    room = max(1, min(_MARKED, _WIDTH - len(before)))
    caret = "^" * max(1, min(len(marked), room))
    number = str(finding.line)
    yield paint(f"    {number} | ", "dim", color) + clean(shown.rstrip())
    yield paint(f"    {' ' * len(number)} | ", "dim", color) + " " * len(before) + paint(caret, "green", color)


def _statistics(report: LintReport, color: bool) -> Iterator[str]:
    rows = report.by_rule()
    width = max((len(str(n)) for _, n in rows), default=1)
    for finding, n in rows:
        severity = paint(f"{finding.severity.value:7}", _COLORS[finding.severity], color)
        yield f"{n:{width}}  {severity}  {finding.code}  {finding.rule}"
    if rows:
        yield ""


def _summary(report: LintReport, color: bool) -> Iterator[str]:
    for warning in report.warnings:
        yield f"{paint('note:', 'yellow', color)} {clean(warning)}"
    copies = [(entry.path, entry.copies) for entry in report.skills if entry.copies]
    for path, others in copies[:5]:
        named = ", ".join(clean(report.shown(other)) for other in others[:3])
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield f"{paint('note:', 'cyan', color)} {clean(report.shown(path))} stands for its copies {named}{more}"
    if len(copies) > 5:
        yield f"{paint('note:', 'cyan', color)} {len(copies) - 5} more skills have copies, checked once"
    counts = [
        f"{report.number(s)} {s.value}{'s' * (report.number(s) != 1 and s is not Severity.INFO)}" for s in Severity
    ]
    skills = report.subject or f"{len(report.skills)} skill{'s' * (len(report.skills) != 1)}"
    extra = [f"{report.ignored} ignored inline"] * bool(report.ignored)
    extra += [f"{report.baselined} in the baseline"] * bool(report.baselined)
    cloned = sum(map(len, report.clones.values()))
    extra += [f"{cloned} more in copies of the same files"] * bool(cloned)
    extra += [f"{report.hidden} less severe not shown"] * bool(report.hidden)
    tail = f" ({', '.join(extra)})" if extra else ""
    worst = next((_COLORS[s] for s in Severity if report.number(s)), "green")
    text = f"{skills} checked: {', '.join(counts)}{tail}" if report.findings else f"{skills} checked: no findings{tail}"
    yield paint(text, worst, color)
    if fixes := count_fixes(report.findings, report.unsafe):
        yield fixes


_BAR = 20


def score_lines(report: LintReport, color: bool) -> Iterator[str]:
    """For each skill a bar, a number and the components that cost most; below them the mean with its range."""
    if report.scores is None:
        return
    scores = sorted(report.scores.skills.items(), key=lambda item: (item[1].value, item[0]))
    width = min(44, max((len(_name(path)) for path, _ in scores), default=0))
    from skill_health.documents.skill_grades import SkillGrade, count_grades, grade_skills

    grades = grade_skills(report)
    colors = {SkillGrade.FAIL: "red", SkillGrade.NEEDS_WORK: "yellow"}
    for path, score in scores:
        filled, grade = round(score.value * _BAR), grades.get(path, SkillGrade.PASSING)
        bar = paint("█" * filled, colors.get(grade, "green"), color) + "·" * (_BAR - filled)
        if score.losses is not None:
            yield f"{clean(_name(path))[:width]:{width}}  {bar}  {score.value:.4f}  {_losses(report, score)}".rstrip()
            continue
        lost = sorted(
            (
                (part.share * (1 - part.value), part)
                for part in score.parts
                if part.value is not None and part.value < 1
            ),
            key=lambda item: (-item[0], item[1].name),
        )
        weak = ", ".join(f"{part.name} {part.value:.2f}" for _, part in lost[:3])
        line = f"{clean(_name(path))[:width]:{width}}  {bar}  {score.value:.4f}  {weak}"
        yield line.rstrip() + ("" if grade is SkillGrade.PASSING else "  " + paint(grade.value, colors[grade], color))
    corpus = report.scores.corpus
    left_out = sorted(
        {part.name for score in report.scores.skills.values() for part in score.parts if part.value is None}
    )
    if corpus.mean is not None:
        yield ""
        yield (
            f"collection {corpus.mean:.4f} (mean of {corpus.n}; {corpus.min:.4f} to {corpus.max:.4f}, "
            f"{corpus.flagged} flagged), profile {report.scores.profile}"
        )
        if grades:
            yield f"of {corpus.n} skill{'s' * (corpus.n != 1)} {count_grades(grades.values())}"
        yield from score_notes(report)
        if any(score.losses is not None for _, score in scores):
            if left_out:
                yield f"not judged where SKILL.md cannot be read: {', '.join(left_out)}"
        elif left_out:
            yield f"left out where they do not apply, weights renormalised: {', '.join(left_out)}"
    yield ""


def _losses(report: LintReport, score: Score) -> str:
    """Where a score stands, and what took most of the rest."""
    population = report.scores.population if report.scores else None
    said = [standing_text(population.place(score.value), score.value)] if population and score.value < 1 else []
    for loss in (score.losses or ())[:3]:
        many = f" x{loss.findings}" * (loss.findings > 1)
        said.append(f"{loss.code} {loss.rule}{many}{f' -{loss.gain:.2f}' if loss.gain else ''}")
    more = len(score.losses or ()) - 3
    return ", ".join(said + [f"{more} more"] * (more > 0))


def standing_text(standing: Standing, score: float) -> str:
    """A place in the population in words: `below 84 %`, or as good as it gets."""
    share = standing.same if score == 1 else standing.higher
    shown = f"{min(99, max(1, round(100 * share)))} %" if 0 < share < 1 else f"{100 * share:.0f} %"
    return f"as {shown}" if score == 1 else f"below {shown}"


def score_notes(report: LintReport) -> Iterator[str]:
    """What to know about the scores of a profile that counts findings: the population, and what is excepted."""
    if report.scores is None:
        return
    population = report.scores.population
    if population is not None:
        whole = standing_text(population.place(1.0), 1.0).removeprefix("as ")
        yield (
            f"held against {population.skills:,} public skills of {len(population.repositories)} repositories, each "
            f"repository weighing the same ({population.date[:7]}); {whole} of them score 1"
        )
    excepted = Counter[str]()
    for score in report.scores.skills.values():
        for loss in score.losses or ():
            excepted[f"{loss.code} {loss.rule}"] += loss.excepted
    named = ", ".join(f"{rule} x{n}" for rule, n in sorted(excepted.items()) if n)
    if named:
        yield f"comments and the configuration keep findings out of this report, not out of the score: {named}"


def _name(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2] or path
