"""`skill-health fixtures`: are the registries beside the skills sound, and do they agree with the skills?"""

from __future__ import annotations

from datetime import date
from typing import Any

import click

from skill_health.commands._lint import LintOptions, known_format, write_report
from skill_health.commands.lint import add_options, common_options
from skill_health.core.errors import CLEAN
from skill_health.lint.baseline import without_known
from skill_health.lint.report import judge_report


@click.command(short_help="Check the claims, mechanisms, prompts and tasks beside the skills.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@add_options("format_", "output", "color", "fail_on")
@common_options
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Check every registry of the collection that PATH belongs to (default: the one here).

    Registries are the claims, mechanisms, activation cases, router prompts and tasks that the configuration names.
    Only what the collection-wide rules find in them is reported.
    """
    from skill_health.lint.fixtures import check_fixtures, count
    from skill_health.lint.pipeline import configure, prefix
    from skill_health.registries.records import load_registries
    from skill_health.registries.sources import KINDS
    from skill_health.text.terminal import clean

    options = LintOptions(**given)
    known_format(options.format_)
    overrides = {key: value for key in ("profile", "fail_on") if (value := getattr(options, key)) is not None}
    root, config = configure(paths or (".",), options.config_file, overrides)
    counts = count(load_registries(root, config.sources))
    if not counts:
        looked = ", ".join(pattern for kind in KINDS for pattern in getattr(config.sources, kind)[:1])
        click.echo(clean(f"no registry below {root}: looked for {looked} and the other `sources`"), err=True)
        return CLEAN
    report = check_fixtures(root, config, options.as_of or date.today(), options.jobs, not options.no_cache)
    report = report._replace(prefix=prefix(root), subject=counts)
    report = without_known(report, root, config)
    write_report(report, options.format_, options.output, options.color)
    return judge_report(report, config.fail_on, config.fail_under)
