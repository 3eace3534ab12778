"""`skill-health status`: what is known of each skill, and what to run next."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN


@click.command(short_help="Join health, routing and effect in one record per skill.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
@common_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Say whether each skill is sound, found and useful, as far as that is known, and which command to run next.

    Health is checked now; routing and effect are read from the histories of the last runs. A skill that fails a
    question needs no later one. Nothing is run or written.
    """
    from skill_health.lint.pipeline import configure
    from skill_health.status.join import read_status
    from skill_health.text.terminal import echo

    paths = paths or (".",)
    overrides = {"profile": options["profile"]} if options["profile"] else {}
    root, config = configure(paths, options["config_file"], overrides)
    folder = os.path.abspath(options["reports"] or os.path.join(root, config.daily.reports))
    status, digests = read_status(
        paths, root, config, options["as_of"], folder, options["jobs"], not options["no_cache"]
    )
    if options["format_"] == "json":
        from skill_health.status.render import render_records_json as as_json

        echo(as_json(status, digests))
    elif options["format_"] == "md":
        from skill_health.status.render import render_records_markdown as as_markdown

        echo(as_markdown(status))
    else:
        echo(_text(status))
    return CLEAN


def _text(status: Any) -> str:
    from shutil import get_terminal_size

    from skill_health.status.render import render_records_text
    from skill_health.text.terminal import speaks_unicode, wants_color

    return render_records_text(
        status, get_terminal_size((80, 24)).columns, wants_color(), not speaks_unicode(sys.stdout)
    )
