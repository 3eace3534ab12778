"""Skills on disk -> the JSON report as a value; two such reports -> what has changed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.documents.lint_report import FindingRecord, LintDocument
from skill_health.formats.json import build_lint_document
from skill_health.lint.baseline import without_known
from skill_health.lint.pipeline import configure, lint
from skill_health.lint.report import LintReport, fold_clones

PathText = str | os.PathLike[str]


def lint_paths(
    *paths: PathText,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    config_file: PathText | None = None,
    profile: str | None = None,
    score: bool = False,
    as_of: date | None = None,
    cache: bool = True,
) -> LintDocument:
    """Check files, skill folders, collections or repositories (default: here), as `skill-health lint` does.

    `select` and `ignore` are codes, names or families of rules; what a configuration file says holds, too. Findings
    that a baseline knows are counted, not listed. Scores, from 0 to 1, are there only with `score`. `as_of` is the day
    as of which claims are judged (today). Without `cache` none is read or written. Rules in Python that a configuration
    names are never run. Nothing is printed.

    Raises UsageError for a path or a setting that is wrong; a finding is no exception.
    """
    given: Mapping[str, Any] = {"select": tuple(select), "ignore": tuple(ignore), "profile": profile}
    report, _ = check_paths(named_paths(paths), config_file, given, as_of, score, cache)
    return build_lint_document(report)


def check_paths(
    paths: Sequence[str], config_file: PathText | None, given: Mapping[str, Any], as_of: date | None, score: bool,
    cache: bool, jobs: int = 0,
) -> tuple[LintReport, Config]:  # fmt: skip
    """The report as `lint` prints it, and the configuration that it was made by."""
    overrides = {key: value for key, value in given.items() if value}
    if "select" in overrides:
        # What is selected here is all that is selected.
        overrides.setdefault("extend_select", ())
    root, config = configure(paths, os.fspath(config_file) if config_file else None, overrides)
    report, result = lint(paths, root, config, as_of or date.today(), jobs, cache, score)
    return fold_clones(without_known(report, root, config), Boundary(result.root)), config


def named_paths(paths: Sequence[PathText]) -> tuple[str, ...]:
    """The paths as texts; the current folder where there are none. Raises UsageError for what is no path."""
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise UsageError(f"a path is a string or a Path, not {type(path).__name__}")
        if not os.fspath(path):
            raise UsageError("an empty path names nothing: leave it out for the current folder")
    return tuple(os.fspath(path) for path in paths) or (os.curdir,)


@dataclass(frozen=True, slots=True)
class LintChange:
    """What a later report has otherwise than an earlier one of the same collection.

    `new` and `fixed` are findings, by their content: one that only has another line is neither. `same` counts those in
    both. `scores` has (before, after) of each skill, by the path of its SKILL.md, whose score has changed; None is no
    score: the skill was not there, or scores were not asked for.
    """

    new: tuple[FindingRecord, ...]
    fixed: tuple[FindingRecord, ...]
    same: int
    scores: Mapping[str, tuple[float | None, float | None]]


def compare(before: LintDocument, after: LintDocument) -> LintChange:
    """Compare two reports of one collection, as `lint_paths` returns or `read_report` reads them.

    Where several findings of a skill have the same content, their numbers are compared. Raises UsageError where the two
    were scored by different profiles, since their scores and severities mean different things.
    """
    if before.profile != after.profile:
        raise UsageError(
            f"one report has the profile {before.profile!r}, the other {after.profile!r}: use one for both"
        )
    earlier, later = ({each.path: each.score for each in report.skills} for report in (before, after))
    scores = {
        path: (earlier.get(path), later.get(path))
        for path in sorted(earlier.keys() | later.keys())
        if earlier.get(path) != later.get(path)
    }
    new = _left_over(after.findings, before.findings)
    fixed = _left_over(before.findings, after.findings)
    return LintChange(new, fixed, len(after.findings) - len(new), scores)


def _left_over(findings: Sequence[FindingRecord], others: Sequence[FindingRecord]) -> tuple[FindingRecord, ...]:
    """The findings without a partner among the others, in their order."""
    known = Counter(map(_identity, others))
    left = []
    for finding in findings:
        if known[_identity(finding)]:
            known[_identity(finding)] -= 1
        else:
            left.append(finding)
    return tuple(left)


def _identity(finding: FindingRecord) -> tuple[str, str, str]:
    return finding.skill or finding.path, finding.code, finding.key
