"""`skill-health status`: what is known of each skill, and what to run next."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN

if TYPE_CHECKING:
    from skill_health.status.render import CollectionStatus


@click.command(short_help="Join health, routing and effect in one record per skill.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
@common_options
def command(
    paths: tuple[str, ...],
    reports: str | None,
    format_: str,
    as_of: date,
    jobs: int,
    no_cache: bool,
    profile: str | None,
    config_file: str | None,
) -> int:
    """Say whether each skill passes, is found and helps, as far as that is known, and which command to run next.

    Health is checked now; risk, routing and effect are read from the histories of the last runs. A skill that fails a
    question needs no later one. Nothing is run or written.
    """
    from skill_health.daily.risks import read_last_rated
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.status.join import read_status
    from skill_health.text.terminal import echo

    paths = paths or (".",)
    root, config = configure(paths, config_file, {"profile": profile} if profile else {})
    folder = reports_folder(reports, root, config)
    status = read_status(paths, root, config, as_of, folder, jobs, not no_cache, *read_last_rated(folder))
    if format_ == "json":
        from skill_health.status.render import render_records_json as as_json

        echo(as_json(status))
    elif format_ == "md":
        from skill_health.status.render import render_records_markdown as as_markdown

        echo(as_markdown(status))
    else:
        echo(_text(status))
    return CLEAN


def _text(status: CollectionStatus) -> str:
    from shutil import get_terminal_size

    from skill_health.status.render import render_records_text
    from skill_health.text.terminal import speaks_unicode, wants_color

    return render_records_text(
        status, get_terminal_size((80, 24)).columns, wants_color(), not speaks_unicode(sys.stdout)
    )
