"""`skill-health effectiveness compare`: what has changed in what skills do, task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skill_health.bench.command_line import comparison_options
from skill_health.core.errors import CLEAN, FINDINGS

if TYPE_CHECKING:
    from skill_health.documents.effect_comparison import EffectComparisonReport


@click.command(short_help="Compare two runs of the same tasks, paired.")
@click.argument("run", metavar="RUN")
@click.argument("baseline", metavar="BASELINE")
@comparison_options
def command(run: str, baseline: str, format_: str, out: str | None, config_file: str | None) -> int:
    """Compare RUN with BASELINE: exit 1 where a skill, or the collection, got significantly worse.

    Both are ids or folders of runs. Tasks that are not the same in both are left out; what else differs is said. Runs
    without a common task, model or pair of arms are not compared.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("effectiveness compare", STATISTICS)
    from skill_health.effectiveness.commands.report import find
    from skill_health.effectiveness.compare.compare import compare
    from skill_health.text.terminal import echo

    found = compare(find(run, out, config_file), find(baseline, out, config_file))
    echo(rendered(found, format_))
    return FINDINGS if found.worse else CLEAN


def rendered(found: EffectComparisonReport, format_: str) -> str:
    """A comparison in one of the formats."""
    import json

    from skill_health.documents._record import record_values
    from skill_health.effectiveness.compare.document import document
    from skill_health.text.blocks import as_markdown, as_text

    if format_ == "json":
        return json.dumps(record_values(found), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    return (as_text if format_ == "text" else as_markdown)(document(found))
