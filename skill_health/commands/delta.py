"""`skill-health delta REV`: what a branch does to the skills."""

from __future__ import annotations

from datetime import date

import click

from skill_health.bench.command_line import listed
from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN


@click.command(short_help="Say what a branch does to the skills, for a pull request.")
@click.argument("revision", metavar="REV")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option(
    "--models", multiple=True, callback=listed, metavar="LIST", help="Routers that are computed here (lexical)."
)
@click.option("--prompts", multiple=True, metavar="FILE", help="Labelled prompts (the registry's).")
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
@click.option("--output", metavar="FILE", help="Write it to a file instead of the terminal.")
@common_options
def command(
    revision: str, paths: tuple[str, ...], reports: str | None, models: tuple[str, ...], prompts: tuple[str, ...],
    format_: str, output: str | None, as_of: date, jobs: int, no_cache: bool, profile: str | None, config_file: str | None,
) -> int:  # fmt: skip
    """Compare the work tree with the commit where this branch left REV: the skills that it touches and nothing else.

    Findings that are new and fixed, tokens of the lists before and after, labelled prompts that routers computed here
    win and lose, and which measurements no longer hold because the skill is another one. No model is asked. The exit
    code is 0 whatever it says: `lint --new-since` and `router hook` are the gates.
    """
    from skill_health.core.files import write_text
    from skill_health.delta.build import ROUTERS, DeltaRequest, compare_states
    from skill_health.delta.render import delta_blocks
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import encode_record
    from skill_health.lint.pipeline import configure
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    paths = paths or (".",)
    root, config = configure(paths, config_file, {"profile": profile} if profile else {})
    folder = reports_folder(reports, root, config)
    request = DeltaRequest(paths, root, config, revision, as_of, folder, models or ROUTERS, prompts, jobs, not no_cache)
    report = compare_states(request)
    render = {"text": as_text, "md": as_markdown}.get(format_)
    text = render(delta_blocks(report)) if render else encode_record(report)
    if output:
        write_text(output, text)
    else:
        echo(text)
    return CLEAN
