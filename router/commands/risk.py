"""`skill-health router risk`: which skills are likely to lose their requests, without labels and without a model."""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN
from skill_health.router.commands._options import namesakes_options


@click.command(short_help="Say which skills are likely to lose their requests; needs no prompts.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--listing", metavar="HOST", help="What is listed: full, or what this host would show.")
@namesakes_options
@click.option("--all", "whole", is_flag=True, help="Show every skill, not the twenty of highest risk (text).")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(
    paths: tuple[str, ...],
    config_file: str | None,
    listing: str | None,
    namesakes: str | None,
    whole: bool,
    format_: str,
) -> int:
    """Rate each skill by how likely fewer than half of its requests find it, and say what it could do about that.

    The passages of its own body stand in for requests: those that another description answers are counted, and so are
    the telling words of the body that its description lacks. docs/routing.md says how often that is right.
    """
    from skill_health.discovery.hosts import hosts
    from skill_health.documents._record import encode_record
    from skill_health.router.inputs import load_listing
    from skill_health.router.lexicon.fields import DESCRIPTION
    from skill_health.router.risk.assess import assess_risk, risk_text
    from skill_health.text.terminal import echo

    found = load_listing(paths, config_file, listing, namesakes=namesakes, index=DESCRIPTION)
    report = assess_risk(found.catalogue, hosts(found.config.listing), found.notes)
    echo(encode_record(report) if format_ == "json" else risk_text(report, whole))
    return CLEAN
