"""`skill-health serve`: the page on this machine, rebuilt when something changes."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN

if TYPE_CHECKING:
    from skill_health.page.serving.draft_pages import DraftPages


@click.command(short_help="Show the page on this machine, rebuilt when something changes.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, help="Port on 127.0.0.1; 0 means any free one (8000)."
)
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--title", metavar="TEXT", help="Title of the page (the name of the repository, else Skill health).")
@click.option("--open", "open_", is_flag=True, help="Open it in the browser, too.")
@common_options
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], port: int, open_: bool, **options: Any) -> int:
    """Serve the page of `report` on 127.0.0.1, and to no other machine, until Ctrl-C.

    It is rebuilt, and reloads itself, when a skill, a registry, a task, the configuration, a history or a report
    changes. Below /drafts are the drafts that wait for a decision; nothing is written but what is decided there.
    """
    from skill_health.page.request import PageOptions
    from skill_health.page.serving.server import Server
    from skill_health.page.serving.site import site
    from skill_health.text.terminal import echo

    given = PageOptions(**options)
    named = ctx.get_parameter_source("as_of") is not click.core.ParameterSource.DEFAULT

    def day() -> date:
        """The day that was given, else today: a server may run past midnight."""
        return given.as_of if named else date.today()

    def drafts() -> DraftPages:
        """The pages of drafts; what they need is loaded when one is asked for."""
        from skill_health.page.serving.draft_pages import DraftPages

        return DraftPages(paths, given.config_file)

    live, folder = site(paths, given, day)
    with Server(live, folder, port, drafts=drafts) as server:
        live.refresh(strict=True)
        echo(f"{server.url} shows the page; press Ctrl-C to stop\n")
        if sys.stdout is not None:
            sys.stdout.flush()
        if open_:
            from webbrowser import open_new_tab

            open_new_tab(server.url)
        server.serve_forever()
    return CLEAN
