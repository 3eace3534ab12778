"""Known findings that are not shown again: keyed by content, each with a reason; their number may only shrink.

With them goes which hosts skip which skill, since that takes points where it is no finding.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, read_whole, write_text
from skill_health.discovery.roots import stay_inside
from skill_health.lint.report import BASELINE, LintReport
from skill_health.rules._api import Finding

if TYPE_CHECKING:
    from skill_health.score.defects import Loss

_VERSION = 1
_MOST = 256 << 20


class BaselineEntry(NamedTuple):
    """A known finding, and why it is known."""

    key: str
    code: str = ""
    path: str = ""
    skill: str = ""
    message: str = ""
    reason: str = ""


class Baseline(NamedTuple):
    """The entries by their content key, and the hosts that are known to skip a skill, by the path of its SKILL.md."""

    findings: dict[str, list[BaselineEntry]]
    skipped: dict[str, frozenset[str]]


def without_known(report: LintReport, root: str, config: Config) -> LintReport:
    """The report without the findings that the baseline of the collection knows, if it has one.

    An entry counts once: a second finding with the same content is new. Raises UsageError where it cannot be read.
    """
    return _without(report, read_known(root, config))


def _without(report: LintReport, known: Baseline) -> LintReport:
    left = drop_known(report.findings, known)
    accepted = frozenset(_accepted(report, left, known))
    return report._replace(findings=tuple(left), baselined=len(report.findings) - len(left), accepted=accepted)


def _accepted(report: LintReport, left: Sequence[Finding], known: Baseline) -> Iterator[str]:
    """The skills that are flagged for known findings and known hosts alone."""
    new = {(each.skill, each.code) for each in left}
    old = {(each.skill, each.code) for each in report.findings} - new
    for path, score in report.scores.skills.items() if report.scores else ():
        causes = len(score.losses or ()) == len(score.flags) > 0
        if causes and all(_is_known(path, each, old, known) for each in score.losses or ()):
            yield path


def _is_known(path: str, loss: Loss, old: Set[tuple[str, str]], known: Baseline) -> bool:
    if loss.hosts:
        return known.skipped.get(path, frozenset()).issuperset(loss.hosts)
    # An excepted finding is in no report, and so in no baseline.
    return (path, loss.code) in old and not loss.excepted


def _skipping(report: LintReport) -> dict[str, frozenset[str]]:
    """The hosts that skip each skill, as its score counts them."""
    scores = report.scores.skills if report.scores else {}
    found = {
        path: frozenset(host for loss in each.losses or () for host in loss.hosts) for path, each in scores.items()
    }
    return {path: hosts for path, hosts in found.items() if hosts}


def rewrite_baseline(report: LintReport, root: str, config: Config, reason: str, grow: bool) -> LintReport:
    """The report without the findings that the baseline knows, once it is rewritten.

    Rewriting drops the entries that no longer occur and adds new findings only where `grow` allows it or no
    baseline exists yet. Of a report with scores it also keeps the hosts that skip its skills.
    """
    path = stay_inside(os.path.join(root, config.baseline or BASELINE), git_top(root) or root)
    fresh = not is_there(path)
    known = Baseline({}, {}) if fresh else read_baseline(path)
    if not reason.strip():
        raise UsageError("--write-baseline needs a reason, which every entry keeps")
    known = _rewritten(report, root, known, reason, grow or fresh)
    write_text(path, _dump(known))
    left = _without(report, known)
    total, more = sum(map(len, known.findings.values())), len(left.findings)
    notes = [f"wrote {config.baseline or BASELINE}: {total} finding{'s' * (total != 1)}"]
    if more:
        notes.append(f"not added to the baseline: {more} findings; --grow-baseline adds them")
    return left._replace(warnings=(*report.warnings, *notes))


def read_known(root: str, config: Config) -> Baseline:
    """The baseline of a collection, empty where there is none. Raises UsageError where it cannot be read."""
    path = stay_inside(os.path.join(root, config.baseline or BASELINE), git_top(root) or root)
    return read_baseline(path) if config.baseline or is_there(path) else Baseline({}, {})


def drop_known(findings: Sequence[Finding], known: Baseline) -> list[Finding]:
    """The findings that the baseline does not know."""
    room = Counter({key: len(entries) for key, entries in known.findings.items()})
    left = []
    for finding in findings:
        room[finding.key] -= 1
        if room[finding.key] < 0:
            left.append(finding)
    return left


def read_baseline(path: str) -> Baseline:
    """Read the file of a baseline. Raises UsageError for a missing or damaged file."""
    try:
        document = json.loads(read_whole(path, _MOST))
        known = Baseline({}, {path: frozenset(map(str, hosts)) for path, hosts in document.get("skipped", {}).items()})
        for values in document["findings"]:
            entry = BaselineEntry(**{name: str(values[name]) for name in BaselineEntry._fields if name in values})
            known.findings.setdefault(entry.key, []).append(entry)
    except FileNotFoundError as error:
        raise UsageError(f"no baseline at {path}; --write-baseline REASON creates one") from error
    except OSError as error:
        raise UsageError(f"cannot read the baseline {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is not a baseline: {error}") from error
    if document.get("version") != _VERSION:
        raise UsageError(f"{path} has version {document.get('version')}; this skill-health reads {_VERSION}")
    return known


def _rewritten(report: LintReport, root: str, known: Baseline, reason: str, grow: bool) -> Baseline:
    kept: dict[str, list[BaselineEntry]] = {}
    checked = {entry.path for entry in report.skills}
    for finding in report.findings:
        before = known.findings.get(finding.key, [])
        so_far = kept.setdefault(finding.key, [])
        if len(so_far) < len(before):
            so_far.append(_entry(finding, before[len(so_far)].reason or reason))
        elif grow:
            so_far.append(_entry(finding, reason))
    for key, entries in known.findings.items():
        # A run over part of the collection knows nothing of the rest.
        unseen = [entry for entry in entries if entry.skill and entry.skill not in checked]
        if key not in kept:
            kept[key] = [entry for entry in unseen if is_there(os.path.join(root, entry.skill))]
    skipped = {
        skill: hosts if grow else hosts & known.skipped.get(skill, frozenset())
        for skill, hosts in _skipping(report).items()
    }
    for skill, hosts in known.skipped.items():
        if skill not in checked and is_there(os.path.join(root, skill)):
            skipped[skill] = hosts
    return Baseline(
        {key: entries for key, entries in kept.items() if entries},
        {skill: hosts for skill, hosts in skipped.items() if hosts},
    )


def _entry(finding: Finding, reason: str) -> BaselineEntry:
    return BaselineEntry(finding.key, finding.code, finding.path, finding.skill, finding.message, reason)


def _dump(known: Baseline) -> str:
    entries = sorted((e for group in known.findings.values() for e in group), key=lambda e: (e.path, e.code, e.key))
    document: dict[str, object] = {"version": _VERSION, "findings": [entry._asdict() for entry in entries]}
    if known.skipped:
        document["skipped"] = {path: sorted(hosts) for path, hosts in sorted(known.skipped.items())}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
