"""`skill-health hosts`: which program loads which skill, and why another does not?"""

from __future__ import annotations

import click

from skill_health.commands.lint import add_options
from skill_health.core.errors import CLEAN, UsageError


@click.command(short_help="Show which host loads which skill, and why not.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--host", "keys", multiple=True, metavar="KEY", help="Show this host only; may be repeated.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="The format."
)
@add_options("config_file")
def command(paths: tuple[str, ...], keys: tuple[str, ...], format_: str, config_file: str | None) -> int:
    """Show what each host makes of each skill of PATH (default: here): it loads, it loads and loses something, or not.

    Hosts are programs that load skills, and the specifications of skills and plugins: those that `hosts` in the
    configuration names, else all. What is known of each, with its source and date, is in docs/hosts.md.
    """
    from skill_health.core.boundary import Boundary
    from skill_health.hosts._load import all_hosts, host, host_keys
    from skill_health.hosts._matrix import build_matrix, matrix_blocks, matrix_json
    from skill_health.lint.check import load_head
    from skill_health.lint.pipeline import configure, find_readable, prefix
    from skill_health.lint.readable import read_entry
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    for key in keys:
        if key not in host_keys():
            raise UsageError(f"there is no host {key[:60]!r}; choose from {', '.join(host_keys())}")
    paths = paths or (".",)
    root, config = configure(paths, config_file, {})
    discovery = find_readable(paths, config, root)
    entries = [entry for entry in discovery.entries if entry.target]
    chosen = tuple(map(host, dict.fromkeys(keys or config.hosts))) or all_hosts()
    matrix = build_matrix([load_head(entry, *read_entry(Boundary(root), entry)) for entry in entries], chosen)
    if format_ == "json":
        echo(matrix_json(matrix))
        return CLEAN
    shown = matrix._replace(skills=tuple((prefix(root) + path, verdicts) for path, verdicts in matrix.skills))
    echo((as_markdown if format_ == "markdown" else as_text)(matrix_blocks(shown)))
    return CLEAN
