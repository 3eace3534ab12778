"""What `skill-health lint` does, apart from reading its command line: the hook gets here without any framework."""

import os
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from skill_health import formats
from skill_health.core.config import Config
from skill_health.core.console import echo, wants_color
from skill_health.core.errors import CLEAN, FINDINGS, UsageError
from skill_health.formats._api import Report
from skill_health.rules._api import Severity

BASELINE = "skill-health-baseline.json"


class LintOptions(NamedTuple):
    """The options of `lint`, as its help describes them; None leaves a setting to the configuration."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    force_exclude: bool = False
    changed: str | None = None
    format_: str = "text"
    output: str | None = None
    color: str = "auto"
    score: bool = False
    report: str | None = None
    statistics: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    baseline: str | None = None
    write_baseline: str | None = None
    grow_baseline: bool = False
    fail_on: str | None = None
    fail_under: float | None = None
    check_urls: bool = False
    config_file: str | None = None
    profile: str | None = None
    as_of: date | None = None
    jobs: int = 0
    no_cache: bool = False


def flags_only(arguments: Sequence[str]) -> tuple[tuple[str, ...], LintOptions] | None:
    """The paths and options of a command line that has no option with a value, as hooks call it; else None."""
    switches = {"--" + n.replace("_", "-"): n for n, v in LintOptions()._asdict().items() if v is False}
    paths = tuple(a for a in arguments if not a.startswith("-"))
    given = [a for a in arguments if a.startswith("-")]
    if not all(a in switches for a in given):
        return None
    return paths, LintOptions()._replace(**{switches[a]: True for a in given})  # type: ignore[arg-type]


def run_lint(paths: Sequence[str], options: LintOptions) -> int:
    """Check what the paths name (default: here), print the report, and return the exit code."""
    from skill_health.lint import configure
    from skill_health.named import checkable

    paths = tuple(paths) or (".",)
    known_format(options.format_)
    root, config = configure(paths, options.config_file, _overrides(options))
    if options.changed:
        from skill_health.changed import changed_paths

        paths = changed_paths(root, options.changed, paths)
        if not paths:
            echo("no skill has changed\n", err=True)
            return CLEAN
    paths = checkable(paths, root, config, options.force_exclude)
    if not paths:
        echo("nothing to check: no named file is part of a skill or a registry\n", err=True)
        return CLEAN
    if options.fix or options.diff:
        from skill_health.fix_command import fix

        plan = fix(paths, root, config, options.unsafe_fixes, options.diff, options.color)
        if options.diff:
            return FINDINGS if plan.changes or plan.renames else CLEAN
    return _report(paths, root, config, options)


def _overrides(options: LintOptions) -> dict[str, object]:
    keys = ("select", "extend_select", "ignore", "profile", "fail_on", "fail_under", "baseline")
    overrides = {key: getattr(options, key) for key in keys if getattr(options, key) not in (None, ())}
    if "select" in overrides:
        # What is asked for by name on the command line is all that is asked for.
        overrides.setdefault("extend_select", ())
    return overrides


def _report(paths: Sequence[str], root: str, config: Config, options: LintOptions) -> int:
    from skill_health.lint import lint

    score = options.score or bool(options.report) or config.fail_under > 0
    as_of = options.as_of or date.today()
    report, result = lint(paths, root, config, as_of, options.jobs, not options.no_cache, score or options.check_urls)
    if options.check_urls:
        from skill_health.url_report import with_urls

        report = with_urls(report, result, config)
    if config.baseline or options.write_baseline is not None or os.path.exists(os.path.join(root, BASELINE)):
        from skill_health.baseline import with_baseline

        report = with_baseline(report, root, config, options.write_baseline, options.grow_baseline)
    if options.report:
        from skill_health.core.files import write_text
        from skill_health.snapshot import snapshot

        write_text(options.report, snapshot(report, result))
    shown = report._replace(statistics=options.statistics, scores=report.scores if score else None)
    write_report(shown, options.format_, options.output, options.color)
    mean = report.scores.corpus.mean if report.scores else None
    if mean is not None and mean < config.fail_under:
        echo(f"skill-health: the collection scores {mean:.4f}, below {config.fail_under:g}\n", err=True)
    return verdict(report, config.fail_on, config.fail_under)


def known_format(name: str) -> None:
    """Raise UsageError where there is no such format."""
    if name not in formats.names():
        raise UsageError(f"no format is called {name!r}; there are {', '.join(formats.names())}")


def write_report(report: Report, format_: str, output: str | None = None, color: str = "auto") -> None:
    """Render a report in a format, to a file or to the terminal."""
    text = formats.load(format_).render(report, not output and wants_color(None, color))
    if output:
        from skill_health.core.files import write_text

        write_text(output, text)
    else:
        echo(text)


def verdict(report: Report, fail_on: str, fail_under: float) -> int:
    """0, or 1 where a finding is at least as bad as `fail_on` or the collection scores below `fail_under`."""
    if fail_on != "never" and any(f.severity.rank <= Severity(fail_on).rank for f in report.findings):
        return FINDINGS
    if report.scores is not None and report.scores.corpus.mean is not None and report.scores.corpus.mean < fail_under:
        return FINDINGS
    return CLEAN
