"""`skill-health router check`: is the instrument to be trusted, before money is spent on a run?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import amount
from skill_health.core.errors import CLEAN, FINDINGS, INTERRUPTED
from skill_health.router.commands._options import model_options, namesakes_options

if TYPE_CHECKING:
    from skill_health.router.instrument.check import InstrumentCheck
    from skill_health.router.plan.choices import RouterOptions


@click.command(short_help="Plant a skill and requests for none, and see whether models find their way.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option(
    "--prompts",
    "prompt_files",
    multiple=True,
    metavar="FILE",
    help="Labelled prompts; thresholds are chosen on the split train.",
)
@namesakes_options
@model_options
@click.option(
    "--max-budget-usd",
    type=click.FloatRange(0),
    callback=amount,
    metavar="X",
    help="Cap in US dollars, calls in flight included.",
)
@click.option("--unsafe-no-cost-cap", is_flag=True, help="Ask paid models without a cap.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1024),
    default=64,
    metavar="N",
    help="Concurrent calls (each provider's own limit holds too).",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Ask each model six planted questions over the collection: exit 1 where one is not to be trusted.

    Three requests that only a planted skill can answer, and three that no skill is for, go the way of every other
    prompt of a run. `router run` does the same before its first call.
    """
    from skill_health.bench.run.schedule import INTERRUPTED as BY_USER
    from skill_health.core.errors import AbortedError
    from skill_health.documents._record import record_values
    from skill_health.router.instrument.planted import lines, to_record
    from skill_health.router.plan.choices import RouterOptions
    from skill_health.text.terminal import clean, echo

    given = RouterOptions(paths=paths, **options)
    checked = _check(given)
    record = to_record(checked.verdicts)
    if given.format_ == "json":
        echo(
            json.dumps({**record_values(record), "stop": checked.stop}, indent=2, sort_keys=True, ensure_ascii=False)
            + "\n"
        )
    else:
        echo("".join(f"{line}\n" for line in lines(checked.verdicts)))
    if checked.stop == BY_USER:
        return INTERRUPTED
    if checked.stop:
        raise AbortedError(f"the check ended early: {clean(checked.stop)}")
    return CLEAN if all(record.trusted.values()) else FINDINGS


def _check(given: RouterOptions) -> InstrumentCheck:
    """The check that a command line asks for, made. Raises UsageError."""
    import asyncio

    from skill_health.bench.budget import Budget
    from skill_health.bench.prices import price_table
    from skill_health.bench.run.conduct import AT_ONCE
    from skill_health.discovery.hosts import hosts
    from skill_health.discovery.roots import reports_folder
    from skill_health.router.inputs import load_inputs
    from skill_health.router.instrument.check import DirectAsker, ask_world, open_world
    from skill_health.router.plan.choices import choices
    from skill_health.router.plan.context import check_contexts
    from skill_health.router.plan.forecast import forecast_plan, read_earlier, reservations
    from skill_health.router.plan.opening import open_models, refuse_uncapped
    from skill_health.router.routers._load import PROVIDER
    from skill_health.router.splits import TRAIN
    from skill_health.router.template import load_template
    from skill_health.text.terminal import echo

    inputs = load_inputs(
        given.paths, given.config_file, given.prompt_files, given.listing,
        namesakes=given.namesakes, index=given.index, retrieve=given.retrieve,
    )  # fmt: skip
    routing = inputs.config.router
    chosen, prices = choices(given, routing), price_table(routing)
    template = load_template(chosen.template)
    train = [prompt for prompt in inputs.prompts if prompt.split == TRAIN]
    world = open_world(
        inputs.catalogue, chosen, template,
        lambda catalogue: open_models(chosen, routing, catalogue, template, train, prices),
    )  # fmt: skip
    plan, cap = world.plan, given.max_budget_usd
    if not given.unsafe_no_cost_cap:
        refuse_uncapped(plan.models, cap is not None, prices)
    asked = [model.spec for model in plan.models if model.choice.kind == PROVIDER]
    earlier = read_earlier(reports_folder(given.out, inputs.root, inputs.config), asked, chosen.mode) if asked else {}
    if asked:
        notes = check_contexts(plan, prices, earlier, hosts(inputs.config.listing))
        found = forecast_plan(plan, prices.version, earlier, notes, concurrency=given.concurrency)
        echo("".join(f"{line}\n" for line in found.lines()), err=True)
    budget = Budget(None, cap)
    return asyncio.run(
        ask_world(world, DirectAsker(plan, budget, reservations(earlier)).ask, given.concurrency or AT_ONCE)
    )
