"""`skill-health router merge`: the shards of a run, as the one run that they are parts of."""

from __future__ import annotations

import os

import click

from skill_health.bench.command_line import merge_options


@click.command(short_help="Put the shards of a run together, and report.")
@merge_options
def command(shards: tuple[str, ...], out: str | None, config_file: str | None, format_: str) -> int:
    """Put together what `router run --shard K/N` made on several machines: each SHARD is the folder of one part.

    The run that comes of it has the results, the report and the line of the history of one that was made
    whole. Shards of different runs, missing ones and results that are there twice are refused. What has
    no result is asked for by `router run --resume`.
    """
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.router.commands.run import print_outcome
    from skill_health.router.run.conduct import merge

    root, config = configure((os.curdir,), config_file, {})
    return print_outcome(merge(shards, reports_folder(out, root, config)), format_)
