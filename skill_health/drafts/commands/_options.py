"""The options that several commands share."""

from __future__ import annotations

import click

from skill_health.bench.command_line import all_of, amount
from skill_health.core.times import time_option
from skill_health.router.commands._options import namesakes_options

skill_options = all_of((
    click.argument("skills", nargs=-1, metavar="[SKILL]..."),
    click.option("--collection", metavar="PATH", help="The collection around the skills (found from them, else here)."),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
    namesakes_options,
))  # fmt: skip
"""Which skills, by name or by the path of their folder."""

model_options = all_of((
    click.option("--model", metavar="PROVIDER:MODEL", help="Have this model write them, as `router models` names it."),
    click.option("--max-calls", "--max-runs", "max_runs", type=click.IntRange(0), metavar="N", help="At most N calls, retries included."),
    click.option(
        "--max-budget-usd", "max_usd", type=click.FloatRange(0), callback=amount, metavar="X",
        help="Cap in US dollars, calls in flight included.",
    ),
    click.option("--unsafe-no-cost-cap", "uncapped", is_flag=True, help="Ask paid models without a cap."),
    click.option("--concurrency", type=click.IntRange(1, 1024), default=16, metavar="N", help="Concurrent calls (16)."),
    click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; ask and write nothing."),
    click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports)."),
    click.option("--resume", "named", metavar="RUN", default="", help="Resume this run of a model and no other."),
    click.option("--no-resume", "anew", is_flag=True, help="Start over, even if the same run is unfinished."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
))  # fmt: skip
"""Who is asked, and for how much money."""

moment_option = click.option(
    "--time", callback=time_option, metavar="ISO", help="Time to record for what is written (now)."
)
"""When it is."""
