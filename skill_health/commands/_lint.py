"""What `skill-health lint` does, apart from parsing its command line: the hook gets here without any framework."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

from skill_health import formats
from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import CLEAN, FINDINGS, UsageError
from skill_health.core.files import is_there, kind_of, refuse_failing
from skill_health.lint.report import BASELINE, LintReport, fold_clones, judge_report
from skill_health.text.terminal import clean, echo, wants_color

if TYPE_CHECKING:
    from skill_health.lint.pipeline import LintResult


class LintOptions:
    """The options of `lint`, and the only place where they are declared; `commands/lint.py` makes a command line of it.

    Whatever is False by default is a switch; None leaves a setting to the configuration.
    """

    select: Annotated[tuple[str, ...], {"metavar": "CODES", "help": "Run only these rules."}] = ()
    extend_select: Annotated[tuple[str, ...], {"metavar": "CODES", "help": "Run these rules too."}] = ()
    ignore: Annotated[tuple[str, ...], {"metavar": "CODES", "help": "Do not run these rules."}] = ()
    force_exclude: Annotated[bool, {"help": "Apply `exclude` to named paths too, as hooks do."}] = False
    changed: Annotated[
        str | None,
        {
            "is_flag": False,
            "flag_value": "HEAD",
            "metavar": "[REV]",
            "help": "Check only skills that differ from REV (HEAD).",
        },
    ] = None
    new_since: Annotated[
        str | None,
        {"metavar": "REV", "help": "Report only what is worse than where this branch left REV, wherever it is."},
    ] = None
    staged: Annotated[
        bool, {"help": "Report only what the commit being made makes worse, as the hook does; deletions count."}
    ] = False
    stdin_filename: Annotated[
        str | None,
        {"metavar": "PATH", "help": "With - as PATH: the path that standard input is judged at (./SKILL.md)."},
    ] = None
    format_: Annotated[
        str, {"metavar": "NAME", "help": "Format: text, concise, json, sarif, github, gitlab, junit ..."}
    ] = "text"
    output: Annotated[
        str | None, {"metavar": "FILE", "help": "Write the report to a file instead of the terminal."}
    ] = None
    color: Annotated[Literal["auto", "always", "never"], {"help": "Colour the output (auto)."}] = "auto"
    score: Annotated[bool, {"help": "Score each skill and the collection."}] = False
    report: Annotated[
        str | None, {"metavar": "FILE", "help": "Also write the JSON report, with scores, to this file."}
    ] = None
    statistics: Annotated[bool, {"help": "Count findings per rule instead of listing them."}] = False
    fix: Annotated[bool, {"help": "Apply the safe fixes."}] = False
    unsafe_fixes: Annotated[bool, {"help": "With --fix or --diff: include the unsafe fixes."}] = False
    diff: Annotated[bool, {"help": "Show what --fix would change; change nothing."}] = False
    baseline: Annotated[str | None, {"metavar": "FILE", "help": "File of known findings, which are left out."}] = None
    write_baseline: Annotated[
        str | None, {"metavar": "REASON", "help": "Record today's findings in the baseline, with this reason."}
    ] = None
    grow_baseline: Annotated[bool, {"help": "Let --write-baseline add findings, not only drop them."}] = False
    fail_on: Annotated[
        Literal["error", "warning", "info", "never"] | None, {"help": "Exit 1 for findings of this severity or worse."}
    ] = None
    min_severity: Annotated[
        Literal["error", "warning", "info"],
        {"help": "Show and fix only findings of this severity or worse; --fail-on looks at all."},
    ] = "info"
    fail_under: Annotated[
        float | None, {"range": (0, 1), "metavar": "SCORE", "help": "Exit 1 if the collection scores below this."}
    ] = None
    add_ignore: Annotated[
        bool, {"help": "Write comments that silence today's findings into the files, where comments can."}
    ] = False
    watch: Annotated[bool, {"help": "Check again whenever a file of the collection changes, until interrupted."}] = (
        False
    )
    check_urls: Annotated[bool, {"help": "Check that external links still resolve."}] = False
    shard: Annotated[
        str | None,
        {"metavar": "K/N", "help": "Check the K-th of N parts and write it to --output, for `skill-health merge`."},
    ] = None
    merge_sarif: Annotated[
        str | None, {"metavar": "FILE", "help": "Show the results of another scanner too, from its SARIF file."}
    ] = None
    allow_code: Annotated[
        bool, {"help": "Run the Python rules that the configuration names: code of this repository."}
    ] = False
    no_cache: Annotated[bool, {"help": "Neither read nor write the cache."}] = False
    paranoid: Annotated[bool, {"help": "Use the cache, but read every file to see whether it has changed."}] = False
    executor: Annotated[
        str, {"metavar": "NAME", "help": "Who checks skills: local, ray, ray:N (so many workers here) or ray:ADDRESS."}
    ] = "local"
    jobs: Annotated[int, {"range": (0, None), "help": "Worker processes (0: automatic)."}] = 0
    as_of: Annotated[date | None, {"metavar": "DATE", "help": "Judge the age of claims as of this day (today)."}] = None
    profile: Annotated[str | None, {"metavar": "NAME", "help": "Scoring profile: standard, plan or plan-v2.3.0."}] = (
        None
    )
    config_file: Annotated[
        str | None, {"flag": "--config", "metavar": "FILE", "help": "Configuration file instead of the one found."}
    ] = None

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)


def name_flag(option: str) -> str:
    """The option of the command line that fills this attribute."""
    return "--" + option.rstrip("_").replace("_", "-")


def flags_only(arguments: Sequence[str]) -> tuple[tuple[str, ...], LintOptions] | None:
    """The paths and options of a command line that has no option with a value, as hooks call it; else None."""
    switches = {name_flag(name): name for name, default in vars(LintOptions).items() if default is False}
    given = [argument for argument in arguments if argument.startswith("-")]
    if not switches.keys() >= set(given):
        return None
    paths = tuple(argument for argument in arguments if not argument.startswith("-"))
    return paths, LintOptions(**{switches[argument]: True for argument in given})


def run_lint(paths: Sequence[str], options: LintOptions, shards: Sequence[str] = ()) -> int:
    """Check what the paths name (default: here), print the report, and return the exit code.

    What is in the files of `shards` is not checked again.
    """
    known_format(options.format_)
    if "-" in paths or options.stdin_filename:
        if any(path != "-" for path in paths):
            raise UsageError("- reads one file from standard input, and takes no other path besides")
        from skill_health.commands._stdin import lint_stdin

        return lint_stdin(options, _overrides(options))
    paths = tuple(paths) or (".",)
    if options.watch:
        from skill_health.commands._watch import watch

        watch(paths, options, _overrides(options), lambda: _check_paths(paths, options, shards))
    return _check_paths(paths, options, shards)


def _check_paths(paths: tuple[str, ...], options: LintOptions, shards: Sequence[str]) -> int:
    from skill_health.lint.named import checkable
    from skill_health.lint.pipeline import configure

    if options.staged or options.new_since:
        code = _judge_change(paths, options)
        if code is not None:
            return code
    root, config = configure(paths, options.config_file, _overrides(options))
    if options.changed:
        from skill_health.discovery.corpus import discover
        from skill_health.lint.readable import require_readable

        found = discover((root,), config, root)
        require_readable(found.entries, found.unread)
        paths = changed_paths(root, options.changed, paths)
        if not paths:
            echo("no skill has changed\n", err=True)
            return CLEAN
    paths = checkable(paths, root, config, options.force_exclude)
    if not paths:
        echo("nothing to check: none of the named files is part of a skill or a registry\n", err=True)
        return CLEAN
    if options.shard:
        return _check_shard(paths, root, config, options)
    if (options.fix or options.diff) and not options.add_ignore:
        from skill_health.lint.fixing.fixes import fix

        plan = fix(paths, root, config, options.unsafe_fixes, options.diff, options.color, options.min_severity)
        if options.diff:
            if plan.changes or plan.renames:
                return FINDINGS
            echo("skill-health: no fix to show\n", err=True)
            return CLEAN
    if options.executor == LintOptions.executor:
        return _report(paths, root, config, options, shards)
    from skill_health.lint.spread import checked_parts

    with checked_parts(options.executor, paths, root, config) as parts:
        return _report(paths, root, config, options, parts)


# What of a shard its findings depend on; all else is for the run that merges them.
_OF_SHARDS = frozenset(
    ("select", "extend_select", "ignore", "force_exclude", "output", "no_cache", "paranoid", "jobs", "profile",
     "config_file", "shard", "as_of", "color", "allow_code")
)  # fmt: skip


def _check_shard(paths: Sequence[str], root: str, config: Config, options: LintOptions) -> int:
    from skill_health.executors.shards import read_shard_name
    from skill_health.lint.pipeline import run_shard

    given = (name for name in LintOptions.__annotations__ if getattr(options, name) != getattr(LintOptions, name))
    for name in given:
        if name not in _OF_SHARDS:
            raise UsageError(f"{name_flag(name)} is about the whole report: give it to `skill-health merge`")
    shard = read_shard_name(options.shard or "")
    if not options.output:
        raise UsageError("--shard needs --output FILE: what it finds there goes to `skill-health merge`")
    part, whole = run_shard(
        paths, root, config, shard, options.output, options.jobs, not options.no_cache, options.paranoid
    )
    skills = f"{part:,} of {whole:,} skill{'s' * (whole != 1)}"
    echo(f"shard {shard.number}/{shard.total}: {skills} checked, {options.output} written\n", err=True)
    return CLEAN


def _overrides(options: LintOptions) -> dict[str, object]:
    keys = ("allow_code", "select", "extend_select", "ignore", "profile", "fail_on", "fail_under", "baseline")
    overrides = {key: getattr(options, key) for key in keys if getattr(options, key) not in (None, (), False)}
    if "select" in overrides:
        # What is selected on the command line is all that is selected.
        overrides.setdefault("extend_select", ())
    return overrides


def _judge_change(paths: Sequence[str], options: LintOptions) -> int | None:
    """Print what a change makes worse, and return the exit code; None where there is no change to judge, but all."""
    from skill_health.lint.gate.changes import read_since, read_staged
    from skill_health.lint.gate.judge import Gate
    from skill_health.lint.gate.report import gate_lines, gate_report, keep_below, keep_severe
    from skill_health.lint.pipeline import configure, prefix, unrun_code

    alone = ("changed", "fix", "diff", "score", "report", "check_urls", "write_baseline", "fail_under")
    if given := [name_flag(name) for name in alone if getattr(options, name)]:
        raise UsageError(
            f"{given[0]} looks at whole skills, --staged and --new-since at what a change adds: choose one"
        )
    top, config = configure(paths, options.config_file, _overrides(options))
    # A run of pre-commit between two revisions says here which.
    revision = options.new_since or os.environ.get("PRE_COMMIT_FROM_REF", "")
    changes = read_since(top, revision) if revision else read_staged(top)
    if changes is None:
        return None
    code, texts = CLEAN, []
    # The top comes first, by its path.
    roots = [top] if options.config_file else changes.list_roots(top)
    for root in roots:
        if root != top:
            _, config = configure((root,), options.config_file, _overrides(options))
        result = Gate(root, config, options.as_of or date.today(), options.jobs, not options.no_cache).judge(changes)
        for note in unrun_code(config, root):
            echo(f"skill-health: {note}\n", err=True)
        result = keep_below(result, paths, root, [other for other in roots if other != root])
        code = max(code, judge_report(gate_report(result, config.profile, ""), config.fail_on, 0.0))
        result = keep_severe(result, options.min_severity)
        report = gate_report(result, config.profile, prefix(root))._replace(
            statistics=options.statistics, custom=config.custom
        )
        color = not options.output and wants_color(None, options.color)
        if options.format_ == "text" and not options.statistics:
            texts += [f"{line}\n" for line in gate_lines(result, report.prefix, color)]
        elif root == top or report.findings:
            texts.append(formats.load(options.format_).render(report, color))
    _print("".join(texts), options.output)
    return code


def _report(paths: Sequence[str], root: str, config: Config, options: LintOptions, shards: Sequence[str]) -> int:
    from skill_health.lint.pipeline import lint

    score = options.score or bool(options.report) or config.fail_under > 0 or options.write_baseline is not None
    as_of = options.as_of or date.today()
    facts = score or options.check_urls
    report, result = lint(
        paths, root, config, as_of, options.jobs, not options.no_cache, facts, options.paranoid, shards
    )
    if shards and result.checked:
        some = f"{result.checked:,} skill{'s were' if result.checked > 1 else ' was'} not in the shards, or not as now"
        echo(f"{some}, and checked here\n", err=True)
    return finish_report(report, result, config, options)


def finish_report(
    report: LintReport, result: LintResult, config: Config, options: LintOptions, boundary: Boundary | None = None,
    err: bool = False,
) -> int:  # fmt: skip
    """Take off what is known, add what was asked for besides, print the report and return the exit code."""
    root = result.root
    if options.check_urls:
        from skill_health.lint.urls import with_urls

        report = with_urls(report, result, config)
    if options.write_baseline is not None:
        from skill_health.lint.baseline import rewrite_baseline
        from skill_health.lint.readable import require_readable

        require_readable(result.entries, result.unread)
        report = rewrite_baseline(report, root, config, options.write_baseline, options.grow_baseline)
    elif config.baseline or is_there(os.path.join(root, BASELINE)):
        from skill_health.lint.baseline import without_known

        report = without_known(report, root, config)
    if options.report:
        from skill_health.core.files import write_text
        from skill_health.formats._snapshot import render_snapshot

        write_text(options.report, render_snapshot(report, result))
    if options.merge_sarif:
        from skill_health.commands._other_scanners import merge_sarif

        report = merge_sarif(report, options.merge_sarif, root, config)
    if options.add_ignore:
        return _add_ignores(report.at_least(options.min_severity), result, config, options)
    report = fold_clones(report, boundary or Boundary(root))
    shown = report.at_least(options.min_severity)
    if options.format_ == "sarif":
        from skill_health.lint.fixing.fixes import with_fixes

        shown = with_fixes(shown, config, boundary or Boundary(root))
    scored = options.score or options.report or config.fail_under > 0
    shown = shown._replace(
        statistics=options.statistics,
        scores=report.scores if scored else None,
        unsafe=options.unsafe_fixes,
    )
    write_report(shown, options.format_, options.output, options.color, err)
    mean = report.scores.corpus.mean if report.scores else None
    if mean is not None and mean < config.fail_under:
        echo(f"skill-health: the collection scores {mean:.4f}, below {config.fail_under:g}\n", err=True)
    return judge_report(report, config.fail_on, config.fail_under)


def _add_ignores(report: LintReport, result: LintResult, config: Config, options: LintOptions) -> int:
    """Write the comments, say what was written and what no comment can silence; 1 where that fails the run."""
    from skill_health.discovery.corpus import Discovery
    from skill_health.lint.fixing.add_ignore import plan_ignores
    from skill_health.lint.fixing.fixes import diff_lines, write_plan

    discovery = Discovery(result.root, result.entries)
    plan, left = plan_ignores(discovery, config, options.as_of or date.today(), report.findings)
    if options.diff:
        echo("".join(f"{line}\n" for line in diff_lines(plan, wants_color(None, options.color))))
        return FINDINGS if plan.changes else CLEAN
    for note in write_plan(result.root, plan):
        echo(f"skill-health: {clean(note)}\n", err=True)
    count = len(report.findings) - len(left)
    echo(
        f"{count} finding{'s' * (count != 1)} silenced by comments in {len(plan.changes)} file{'s' * (len(plan.changes) != 1)}\n"
    )
    if left:
        echo(f"{len(left)} left that no comment can silence\n")
    return judge_report(report._replace(findings=left), config.fail_on, 0.0)


def known_format(name: str) -> None:
    """Raise UsageError where there is no such format."""
    if name not in formats.names():
        raise UsageError(f"there is no format {name!r}; choose from {', '.join(formats.names())}")


def write_report(
    report: LintReport, format_: str, output: str | None = None, color: str = "auto", err: bool = False
) -> None:
    """Render a report in a format, to a file or to the terminal."""
    stream = sys.stderr if err else sys.stdout
    _print(formats.load(format_).render(report, not output and wants_color(stream, color)), output, err)


def _print(text: str, output: str | None, err: bool = False) -> None:
    if output:
        from skill_health.core.files import write_text

        write_text(output, text)
    else:
        echo(text, err)


def changed_paths(root: str, revision: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The files below `paths` that differ from `revision`, untracked ones included.

    Before the first commit all do. A deleted file, or a link, is replaced by the SKILL.md that it belonged to, if that
    still exists. Raises UsageError outside a git repository, for a revision that git does not know and on a failing
    disk.
    """
    from skill_health.core.boundary import git_top, upward
    from skill_health.core.git import open_repository
    from skill_health.discovery.changes import list_changes

    top = git_top(root)
    if top is None:
        raise UsageError(f"{root} is in no git repository, so nothing can be compared with {revision!r}")
    repository = open_repository(top)
    commit = "" if revision == "HEAD" and not repository.find_head() else repository.resolve_commit(revision)
    changes = set(list_changes(repository, commit))
    # A skill holds what a link in it leads to.
    if links := [path for path, file in repository.list_index().items() if file.is_link]:
        ways = {os.path.realpath(os.path.join(top, way)) for path in changes for way in upward(path) if way}
        changes |= {path for path in links if os.path.realpath(os.path.join(top, path)) in ways}
    found = {os.path.join(top, path) for path in changes}
    wanted = [os.path.realpath(path) for path in paths]
    owners = {path: owner for path in found if (owner := _owner(path, root))}
    inside = (path for path in owners if any(_below(_place_of(path), folder) for folder in wanted))
    return tuple(
        sorted({owners[path] if kind_of(path, links=False) in ("nothing", "link") else path for path in inside})
    )


def _place_of(path: str) -> str:
    """A path without symbolic links on the way to it; where it leads is not asked."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _owner(path: str, root: str) -> str:
    """The SKILL.md of the nearest folder above that has one; "" where there is none within the root."""
    folder = os.path.dirname(path)
    while _below(os.path.realpath(folder), root):
        try:
            names = os.listdir(folder)
        except OSError as error:
            refuse_failing(folder, error)
            names = []
        for name in sorted(names):
            if name.lower() == "skill.md":
                return os.path.join(folder, name)
        if os.path.realpath(folder) == root:
            return ""
        folder = os.path.dirname(folder)
    return ""
