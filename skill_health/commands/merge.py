"""`skill-health merge`: what does the whole collection look like, of which each machine checked a part?"""

from __future__ import annotations

from typing import Any

import click

from skill_health.commands._lint import LintOptions, run_lint
from skill_health.commands.lint import add_options

# What asks for other findings than the shards hold, or for no report of them.
_NOT_MERGED = frozenset(
    (
        "changed",
        "new_since",
        "staged",
        "shard",
        "executor",
        "fix",
        "unsafe_fixes",
        "diff",
        "no_cache",
        "paranoid",
        "stdin_filename",
        "watch",
        "add_ignore",
    )
)


@click.command(short_help="Put the shards of a lint run together.")
@click.argument("shards", nargs=-1, required=True, metavar="SHARD...")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="What was checked (here); may be repeated.")
@add_options(*(name for name in LintOptions.__annotations__ if name not in _NOT_MERGED))
def command(shards: tuple[str, ...], paths: tuple[str, ...], **options: Any) -> int:
    """Report what `skill-health lint --shard K/N --output FILE` found on several machines, as one run would.

    It runs in the same state of the repository and with the same settings: the rules about the whole collection run
    here, and a skill that has changed since is checked again.
    """
    return run_lint(paths, LintOptions(**options), shards)
