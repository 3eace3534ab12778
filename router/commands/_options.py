"""The options that several commands share."""

from __future__ import annotations

import click

from skill_health.bench.command_line import all_of, amount, listed
from skill_health.router.plan.orders import ORDERS

namesakes_options = all_of((
    click.option("--skip-namesakes", "namesakes", flag_value="skip", help="Of skills listed by the same name, keep the first (`router.namesakes`)."),
    click.option("--namesakes-by-path", "namesakes", flag_value="path", help="List skills with the same name by folder: folder:name."),
))  # fmt: skip
"""What to do where several skills are listed by one name."""

collection_options = all_of((
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
    click.option("--prompts", "prompt_files", multiple=True, metavar="FILE", help="Labelled prompts of any known format (the registry's)."),
    click.option("--map", "field_map", metavar="FIELDS", help="The fields of the --prompts files: prompt=FIELD,skill=FIELD."),
    click.option("--prompt-ids", multiple=True, callback=listed, metavar="IDS", help="Only these prompts."),
    click.option("--skills", multiple=True, callback=listed, metavar="NAMES", help="Only prompts labelled with these skills; all are listed."),
    click.option("--split", multiple=True, callback=listed, metavar="NAMES", help="Only prompts of these splits, such as test."),
    click.option("--skip-bad", is_flag=True, help="Skip records that cannot be read."),
    namesakes_options,
))  # fmt: skip
"""The collection, its prompts and which of them."""

model_options = all_of((
    click.option("--models", multiple=True, callback=listed, metavar="LIST", help="Routers and models, as `router models` names them."),
    click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of orders, samples and resampling (1)."),
    click.option("--mode", type=click.Choice(["text", "json_schema"]), help="Ask for JSON in the prompt, or by a schema."),
    click.option("--listing", metavar="HOST", help="What is listed: full, or what this host would show."),
    click.option("--template", metavar="NAME", help="Prompt template: none, plan, or a file."),
    click.option(
        "--index", type=click.Choice(["description", "body", "content"]),
        help="What local routers read: what is listed, SKILL.md too, its references too.",
    ),
    click.option("--retrieve", type=click.IntRange(0, 10_000), metavar="K", help="Show each prompt only the K skills that a free router finds."),
    click.option("--retriever", metavar="NAME", help="The free router that finds them (hybrid)."),
    click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports)."),
))  # fmt: skip
"""What is asked, and how."""

run_options = all_of((
    click.option("--reps", type=click.IntRange(1, 1000), metavar="N", help="Replications of each prompt (3)."),
    click.option(
        "--orders", type=click.Choice(ORDERS), default="cyclic",
        help="Orders of presentation: balanced, a few that all share (for caches), or the plan's shuffle.",
    ),
    click.option("--max-runs", type=click.IntRange(0), metavar="N", help="At most N calls, retries included."),
    click.option(
        "--max-budget-usd", type=click.FloatRange(0), callback=amount, metavar="X",
        help="Cap in US dollars, calls in flight included.",
    ),
    click.option("--unsafe-no-cost-cap", is_flag=True, help="Ask paid models without a cap."),
    click.option("--concurrency", type=click.IntRange(1, 1024), metavar="N", help="Concurrent calls (each provider's own limit holds too)."),
    click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; ask nothing."),
    click.option("--despite-check", is_flag=True, help="Continue even if the instrument check fails for a paid model."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
))  # fmt: skip
"""How much, how fast and for how much money."""
