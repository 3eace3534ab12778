"""`lint -`: one file from standard input, judged as if it stood where the user says."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import date

from skill_health.commands._lint import LintOptions, finish_report, name_flag
from skill_health.core.boundary import Boundary
from skill_health.core.errors import CLEAN, FINDINGS, UsageError
from skill_health.core.files import here, is_there
from skill_health.lint.named import checkable
from skill_health.lint.overlay import Overlay, discover_around, is_saved, place_texts, root_around
from skill_health.lint.pipeline import as_report, configure, run
from skill_health.text.terminal import clean, echo, wants_color

MOST_BYTES = 64 << 20
DEFAULT = "SKILL.md"
_OTHERS = ("changed", "new_since", "staged", "write_baseline", "add_ignore", "watch", "shard")


def lint_stdin(options: LintOptions, overrides: Mapping[str, object]) -> int:
    """Check standard input; with --fix its fixed text goes to standard output and the report to standard error.

    Nothing on disk changes: fixes of other files, and new names, are left out.
    """
    if given := [name_flag(name) for name in _OTHERS if getattr(options, name)]:
        raise UsageError(f"{given[0]} is about files on disk, and - reads one file from standard input: choose one")
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(f"standard input is larger than {MOST_BYTES >> 20} MiB")
    named = os.path.abspath(options.stdin_filename or DEFAULT)
    path = os.path.join(os.path.realpath(os.path.dirname(named)), os.path.basename(named))
    root, config = configure((root_around(path),), options.config_file, overrides)
    saved = is_saved(path, data)
    discovery = discover_around(path, config, root)
    boundary = None if saved else Overlay(discovery.root, {path: data})
    if boundary is not None:
        discovery = place_texts(discovery, boundary.texts)
    wanted = [entry for entry in discovery.entries if entry.target]
    if options.force_exclude and is_there(path, links=False) and not checkable((path,), root, config, True):
        wanted = []
    if not wanted:
        if options.fix:
            _write(data)
        echo(f"nothing to check: {clean(here(path))} is not part of a skill\n", err=True)
        return CLEAN
    if options.fix or options.diff:
        from skill_health.lint.fixing.fixes import FixPlan, SkillFixer, diff_lines

        plan = SkillFixer(boundary or Boundary(root), config, options.unsafe_fixes, options.min_severity).plan(wanted)
        own = {key: change for key, change in plan.changes.items() if _is_at(os.path.join(root, key), path)}
        if options.diff:
            for line in diff_lines(FixPlan(own), wants_color(None, options.color)):
                echo(line + "\n")
            return FINDINGS if own else CLEAN
        for _, data in own.values():
            boundary = Overlay(root, {path: data})
        _write(data)
    score = options.score or bool(options.report) or config.fail_under > 0
    facts = score or options.check_urls
    as_of = options.as_of or date.today()
    result = run(discovery, config, as_of, options.jobs, not options.no_cache, facts, boundary=boundary)
    report = as_report(result, config)
    if score:
        from skill_health.lint.scores import ScoringRun, score_result

        checked = ScoringRun((path,), discovery, config, as_of, options.jobs, not options.no_cache, boundary=boundary)
        report = report._replace(scores=score_result(result, checked))
    return finish_report(report, result, config, options, boundary, err=options.fix)


def _is_at(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _write(data: bytes) -> None:
    sys.stdout.flush()
    with suppress(AttributeError):  # a stream of text alone, as tests have
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
