"""`skill-health needs`: what must be there for each skill to work?"""

from __future__ import annotations

import click

from skill_health.commands.lint import add_options
from skill_health.core.errors import CLEAN


@click.command(short_help="Show what each skill needs of its environment.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="What to print."
)
@add_options("config_file")
def command(paths: tuple[str, ...], format_: str, config_file: str | None) -> int:
    """Show which of sixteen categories of needs each skill of PATH (default: here) has, with the lines that say so.

    Programs, MCP servers, network, credentials, a repository, a database, answers of the user and others; then how many
    skills need each. It is read from SKILL.md and what it bundles, without a model, and nothing is run. docs/needs.md
    says what each category means and how often that is right.
    """
    from skill_health.core.forks import processors
    from skill_health.documents._record import encode_record
    from skill_health.lint.pipeline import configure, find_readable, prefix
    from skill_health.needs.collection import needs_of_collection, needs_report
    from skill_health.needs.render import needs_blocks
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    paths = paths or (".",)
    root, config = configure(paths, config_file, {})
    discovery = find_readable(paths, config, root)
    asked = tuple(entry for entry in discovery.entries if entry.target)
    found = needs_of_collection(discovery.root, asked, processors())
    report = needs_report(found)
    if format_ == "json":
        echo(encode_record(report).rstrip("\n"))
    else:
        echo((as_markdown if format_ == "markdown" else as_text)(needs_blocks(report, prefix(root))))
    return CLEAN
