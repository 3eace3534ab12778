"""`skill-health mcp`: our commands as tools of an agent."""

from __future__ import annotations

import os

import click

from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.extras import require_modules


@click.command(short_help="Serve an agent: lint, explain, fix, route and status as tools.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--allow-fixes", is_flag=True, help="Offer the tool that applies fixes; without it nothing is written.")
def command(folder: str, allow_fixes: bool) -> int:
    """Serve one agent by the Model Context Protocol, over standard input and output, until it closes them.

    The tools are about the skills below DIR (default: here): lint, explain_rule, preview_fix, route_prompt and status,
    and apply_fix with --allow-fixes. A path outside of DIR is refused. No model is asked. docs/mcp.md shows the setup
    of agents.
    """
    from skill_health.core.files import is_folder

    require_modules("the MCP server", ("mcp",))
    if not is_folder(folder):
        raise UsageError(f"{folder} is no folder")
    # Answers name files as they are called from here.
    os.chdir(folder)
    from skill_health.mcp.serving import serve_tools
    from skill_health.mcp.tools import SkillTools

    serve_tools(SkillTools(os.curdir, allow_fixes))
    return CLEAN
