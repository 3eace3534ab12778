"""`skill-health explain CODE`: what a rule reports, why, and how precise it was on real skills."""

from __future__ import annotations

from difflib import get_close_matches

import click

from skill_health.core.errors import UsageError
from skill_health.rules._load import all_rules
from skill_health.rules._page import page


@click.command(short_help="Explain a rule.")
@click.argument("code", metavar="CODE")
def command(code: str) -> int:
    """Explain a rule, by its code or its name."""
    wanted = code.strip()
    for rule in all_rules():
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            click.echo(page(rule), nl=False)
            return 0
    known = [rule.code for rule in all_rules()] + [rule.name for rule in all_rules()]
    close = get_close_matches(
        wanted.upper() if wanted.upper()[:2].isalpha() and wanted[-1:].isdigit() else wanted, known, 1, 0.5
    )
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(f"no rule is called {wanted!r}{hint} (`skill-health rules` lists them)")
