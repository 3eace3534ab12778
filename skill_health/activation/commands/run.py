"""`skill-health activation run`: give labelled prompts to agents, and see which skill they open first."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import all_of, amount, finish, listed, print_lines
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.times import time_option
from skill_health.effectiveness.commands._options import refuse_spending_of, warn_before
from skill_health.router.commands._options import collection_options

if TYPE_CHECKING:
    from skill_health.activation.plan.inputs import ActivationInputs
    from skill_health.bench.run.conduct import RunOutcome
    from skill_health.documents.router_manifest import FrozenSelection


def _whole_numbers(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    found = [part.strip() for part in ",".join(values).split(",") if part.strip()]
    if bad := [part for part in found if not (part.isascii() and part.isdigit() and 0 < int(part) < 10**6)]:
        raise click.BadParameter(f"{bad[0][:40]!r} is no number of skills")
    return tuple(int(part) for part in found)


_study_options = all_of((
    click.option("--agents", multiple=True, callback=listed, metavar="LIST",
        help="Agents with models, as `effectiveness agents` names them.",
    ),
    click.option("--reps", type=click.IntRange(1, 1000), metavar="N", help="Replications of each prompt (1)."),
    click.option("--turns", type=click.IntRange(1, 100), metavar="N",
        help="Count an agent that has opened no skill after N answers of its model as opening none (4).",
    ),
    click.option("--timeout", type=click.FloatRange(0, 86_400, min_open=True), callback=amount, metavar="SECONDS",
        help="Time limit of a prompt (120).",
    ),
    click.option("--sizes", multiple=True, callback=_whole_numbers, metavar="LIST",
        help="Smaller collections to try as well, by their numbers of skills.",
    ),
    click.option("--delivery", type=click.Choice(["files", "mcp", "compiled"]),
        help="How skills reach agents: as files, or by a server's tools (files).",
    ),
    click.option("--router", "routers", multiple=True, callback=listed, metavar="LIST",
        help="Free routers to rank the same prompts beside it (lexical:tfidf).",
    ),
    click.option("--listing", metavar="HOST", help="What routers rank: full, or what this host would show."),
    click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of orders and smaller collections (1)."),
    click.option("--sandbox", metavar="NAME", help="bubblewrap, docker, podman, harbor:PROVIDER, or none (the first that works)."),
    click.option("--weaker-proof", multiple=True, callback=listed, metavar="AGENT",
        help="Run it although nobody sees its skill list (cursor).",
    ),
    click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports)."),
))  # fmt: skip
_spending_options = all_of((
    click.option("--max-runs", type=click.IntRange(0), metavar="N", help="At most N requests, retries included."),
    click.option("--max-budget-usd", type=click.FloatRange(0), callback=amount, metavar="X",
        help="Cap in US dollars, calls in flight included.",
    ),
    click.option("--max-usd-per-request", type=click.FloatRange(0, min_open=True), callback=amount, metavar="X",
        help="Spend at most X US dollars on one request (from the price).",
    ),
    click.option("--unsafe-no-cost-cap", is_flag=True, help="Let agents ask paid models without a cap."),
    click.option("--concurrency", type=click.IntRange(1, 256), metavar="N",
        help="Concurrent agents (4; each server's own limit holds too).",
    ),
    click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; start and write nothing."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
))  # fmt: skip


@click.command(short_help="Give labelled prompts to agents, and see which skill they open first.")
@collection_options
@_study_options
@_spending_options
@click.option("--resume", "named", metavar="RUN", default="", help="Resume this run and no other.")
@click.option("--no-resume", is_flag=True, help="Start over, even if the same run is unfinished.")
@click.option("--time", callback=time_option, metavar="ISO", help="Time to record for the run (now).")
@click.option(
    "--format", "format_", type=click.Choice(["text", "md", "json", "csv", "junit"]), default="text",
    help="How to print the report.",
)  # fmt: skip
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Give labelled prompts to agents with all skills staged, each until it opens its first skill, and report.

    Prompts are of every format that the router reads, near misses and prompts for no skill among them. A run that
    was stopped resumes when the same command is given again. Exit 1 where an agent does not see the skills
    that it should, 3 where requests are left.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    # The modules below import them: first it is said that they are missing.
    require_modules("activation run", (*STATISTICS, "httpx", "h11"))
    from skill_health.activation.plan.inputs import load_activation_inputs, read_choices
    from skill_health.activation.plan.prepare import AT_ONCE, prepare
    from skill_health.activation.run.conduct import ActivationRunOptions, conduct
    from skill_health.discovery.roots import reports_folder
    from skill_health.router.prompts._load import refuse_bad_records

    if options["named"] and options["no_resume"]:
        raise click.UsageError("--resume and --no-resume exclude each other")
    inputs = load_activation_inputs(
        paths, options["config_file"], options["prompt_files"], options["listing"], field_map=options["field_map"],
        prompt_ids=options["prompt_ids"], skills=options["skills"], splits=options["split"],
        namesakes=options["namesakes"],
    )  # fmt: skip
    print_lines(refuse_bad_records(inputs.problems, options["skip_bad"]))
    print_lines(inputs.notes)
    chosen = read_choices(options, inputs.config.effectiveness)
    if not chosen.agents:
        raise UsageError(
            "no agent is named: give --agents, such as --agents claude-code:MODEL (see `effectiveness agents`)"
        )
    at_once = options["concurrency"] or AT_ONCE
    prepared = prepare(
        inputs,
        chosen,
        _selection(inputs, options),
        reports_folder(options["out"], inputs.root, inputs.config),
        options["time"] or datetime.now(UTC),
        named=options["named"],
        anew=options["no_resume"],
        keyless=options["dry_run"],
        concurrency=at_once,
    )
    print_lines(prepared.forecast.lines())
    if options["dry_run"]:
        print_lines(["dry run: no agent was started, nothing was written"])
        return CLEAN
    terms = ActivationRunOptions(options["max_runs"], options["max_budget_usd"], at_once, quiet=options["quiet"])
    plan, told = prepared.plan, prepared.forecast
    refuse_spending_of(plan.models, prepared.prices, terms, "request", options["unsafe_no_cost_cap"])
    warn_before(terms, told.calls, told.usd_low, "request", plan.sandbox.name, prepared.place)
    return _end(conduct(prepared, terms, sys.stderr), options["format_"])


def _selection(inputs: ActivationInputs, options: dict[str, Any]) -> FrozenSelection:
    from skill_health.documents.router_manifest import FrozenSelection
    from skill_health.text.terminal import clean

    prompt_ids, skills, split = (tuple(map(clean, options[name])) for name in ("prompt_ids", "skills", "split"))
    if not (prompt_ids or skills or split):
        return FrozenSelection(kind="all")
    return FrozenSelection(
        kind="filter", of=inputs.total, prompt_ids=prompt_ids or None, skills=skills or None, split=split or None
    )


def _end(ended: RunOutcome, format_: str) -> int:
    text, color = "", False
    if ended.report is not None and sys.stdout is not None:
        from shutil import get_terminal_size

        from skill_health.activation.reports import load
        from skill_health.bench.report_formats import RenderOptions
        from skill_health.text.terminal import wants_color

        color = wants_color() and format_ == "text"
        text = load(format_).render(ended.report, RenderOptions(color, get_terminal_size((100, 24)).columns))
    return finish(ended, text, color, "requests", "requests without an outcome that counts")
