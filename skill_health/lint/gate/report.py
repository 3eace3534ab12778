"""What the gate prints: a line for each new finding and, where there is anything to say, a summary."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from skill_health import __version__
from skill_health.lint.gate.judge import GateResult
from skill_health.lint.report import LintReport, count_fixes, is_shown
from skill_health.rules._api import Finding, Severity
from skill_health.text.terminal import clean, paint

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def gate_report(result: GateResult, profile: str, prefix: str) -> LintReport:
    """The same as every format renders it; what caused a finding is said in its help."""
    findings = tuple(f._replace(help=" ".join(filter(None, (f.help, _reason(why))))) for f, why in result.new)
    return LintReport(
        __version__, profile, result.entries, findings, prefix, baselined=result.baselined, hidden=result.hidden
    )


def keep_severe(result: GateResult, severity: str) -> GateResult:
    """Only what is new and at least so severe; the rest is counted."""
    new = tuple(each for each in result.new if is_shown(each[0], severity))
    return result._replace(new=new, hidden=len(result.new) - len(new))


def gate_lines(result: GateResult, prefix: str, color: bool) -> Iterator[str]:
    """One line for each new finding, then a summary; nothing where nothing is new and nothing was left out."""
    for finding, why in result.new:
        yield _line(finding, why, prefix, color)
    older = f"{result.older} older finding{'s' * (result.older != 1)} not shown" if result.older else ""
    hidden = f"{result.hidden} less severe not shown" if result.hidden else ""
    left_out = ", ".join(filter(None, (older, hidden)))
    if not result.new:
        what = "nothing as severe is new since" if hidden else "nothing is worse than in"
        yield from [f"{what} {result.since} ({left_out})"] * bool(left_out)
        return
    counts = [(severity, sum(f.severity is severity for f, _ in result.new)) for severity in Severity]
    said = ", ".join(f"{n} {s.value}{'s' * (n != 1 and s is not Severity.INFO)}" for s, n in counts if n)
    yield ""
    yield f"new since {clean(result.since)}: {said}" + f" ({left_out})" * bool(left_out)
    if fixes := count_fixes([finding for finding, _ in result.new], False, "skill-health lint "):
        yield fixes


def _line(finding: Finding, why: str, prefix: str, color: bool) -> str:
    place = paint(f"{clean(prefix + finding.path)}:{finding.line}:{finding.col}:", "bold", color)
    severity = paint(finding.severity.value, _COLORS[finding.severity], color)
    parts = [finding.message + "." * (finding.message[-1:] not in ".!?"), finding.help, _reason(why)]
    return f"{place} {severity} {paint(finding.code, 'bold', color)} {clean(' '.join(filter(None, parts)))}"


def _reason(why: str) -> str:
    return f"({why})" if why else ""


def keep_below(result: GateResult, paths: Sequence[str], root: str, others: Sequence[str]) -> GateResult:
    """Only what is new in the folders that were named, and in no other root, which has settings of its own.

    Files, as a hook may pass them, leave out nothing.
    """
    here = [os.path.realpath(path) for path in paths]
    named = [root] if not all(map(os.path.isdir, here)) else here
    others = [other for other in others if _is_below(other, root)]

    def is_kept(finding: Finding) -> bool:
        places = [os.path.join(root, path) for path in (finding.path, finding.skill) if path]
        if any(_is_below(place, other) for place in places for other in others):
            return False
        return any(_is_below(place, folder) for place in places for folder in named)

    return result._replace(new=tuple(each for each in result.new if is_kept(each[0])))


def _is_below(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
