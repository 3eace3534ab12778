"""`skill-health init`: set up a repository: its settings, and the hook that keeps its skills healthy."""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN


@click.command(short_help="Set up a repository: settings and pre-commit hook.")
@click.argument("path", default=".", metavar="[PATH]")
@click.option("--profile", metavar="NAME", help="Scoring profile to set: standard, plan, plan-v2.3.0 or a .toml file.")
@click.option("--workflow", is_flag=True, help="Write a GitHub workflow too: lint every change, report daily.")
@click.option(
    "--from", "source", metavar="ADDRESS@COMMIT", help="Git repository and full commit to install skill-health from."
)
@click.option("--baseline", is_flag=True, help="Record today's findings as known, so that only new ones count.")
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option(
    "--force", is_flag=True, help="Replace existing files, and add the hook to an existing pre-commit configuration."
)
def command(
    path: str, profile: str | None, workflow: bool, source: str | None, baseline: bool, dry_run: bool, force: bool
) -> int:
    """Write skill-health.toml and the pre-commit hook for the repository that the folder PATH is in (default: here).

    Hook and workflow install skill-health from the repository and commit given by --from, else from those that it was
    installed from; where neither is known, the hook runs what is installed and the workflow fails until you fill it in.
    Skills and registries are looked for first. Existing files are left alone unless --force is given, and nothing
    outside the repository is written.
    """
    from skill_health.init.plan import SetupOptions, carry_out, describe_repository, plan_setup, suggest_commands

    plan = plan_setup(path, SetupOptions(profile, workflow, baseline, force, source))
    # Whoever reads only the first lines (`init | head`) gets all of the files.
    done = list(carry_out(plan, dry_run))
    for line in (*describe_repository(plan), "", *done):
        click.echo(line)
    if all(file.action == "keep" for file in plan.files):
        click.echo("nothing was written")
        if not any(file.add for file in plan.files):
            return CLEAN
    click.echo("\nnext:")
    for line in suggest_commands(plan):
        click.echo(f"  {line}")
    return CLEAN
