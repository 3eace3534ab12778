"""`skill-health server`: what `lint` finds, in an editor while one types."""

from __future__ import annotations

import click

from skill_health.core.errors import ABORTED, CLEAN
from skill_health.core.extras import require_modules


@click.command(short_help="Serve an editor: findings, fixes and explanations while one types.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Listen on this port of 127.0.0.1, not on standard input and output."
)
@click.option("--stdio", is_flag=True, help="Speak over standard input and output, as without any option.")
def command(port: int | None, stdio: bool) -> int:
    """Serve one editor by the Language Server Protocol, over standard input and output.

    Findings of open files, quick fixes, comments that ignore a finding, pages of rules, and links. Settings are those
    of the nearest skill-health.toml or pyproject.toml, as for `lint`. docs/editor.md shows the setup of editors.
    """
    import gc

    require_modules("the server", ("pygls", "lsprotocol"))
    from skill_health.server.protocol import serve

    gc.enable()
    return CLEAN if serve(None if stdio else port) else ABORTED
