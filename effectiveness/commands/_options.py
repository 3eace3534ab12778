"""The options of runs that start agents, and what is refused or said before one begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import all_of, amount, listed, print_lines
from skill_health.core.errors import UsageError
from skill_health.core.files import here

if TYPE_CHECKING:
    from skill_health.bench.prices import PriceTable
    from skill_health.bench.run.conduct import RunTerms
    from skill_health.bench.run_folder import RunLocation
    from skill_health.effectiveness.plan.plan import AgentModel


class _Positive(click.FloatRange):
    """A number above zero; "nan" and "inf" are none."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises BadParameter."""
        found = super().convert(value, param, ctx)
        return amount(ctx, param, found) if ctx and param else found


SKIP_NAMESAKES = "Of skills with the same name, keep the one that tasks name, else the first (`router.namesakes`)."

tasks_options = all_of((
    click.argument("tasks", nargs=-1, metavar="[TASK]..."),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
    click.option("--skills", "skill_paths", multiple=True, metavar="PATH", help="The collection of skills, if the tasks are not inside it."),
    click.option("--skip-namesakes", is_flag=True, help=SKIP_NAMESAKES),
    click.option("--skip-unfit", is_flag=True, help="Skip tasks that fail the check."),
))  # fmt: skip
"""The tasks, and the skills that are tried on them."""

_WHO = "Who may reach the hosts that tasks declare: scripts (oracles, verifiers), all, gateway (nobody)."
_HOSTS = "Further hosts; for a task that declares all hosts, only these."
network_options = all_of((
    click.option("--network", type=click.Choice(["gateway", "scripts", "all"]), metavar="WHO", help=_WHO),
    click.option("--allow-host", "hosts", multiple=True, callback=listed, metavar="LIST", help=_HOSTS),
))  # fmt: skip
"""What of a network is granted."""

study_options = all_of((
    click.option("--agents", multiple=True, callback=listed, metavar="LIST", help="Agents with models, as `effectiveness agents` names them."),
    click.option("--arms", multiple=True, callback=listed, metavar="LIST", help="Conditions (the first six of the manual, the control always)."),
    click.option("--pairs", multiple=True, callback=listed, metavar="LIST", help="Skills to try alone and together: A+B, or `declared`."),
    click.option("--hint", type=click.Choice(["no", "also", "only"]), help="Arms that name the skills to the agent: also, or only (no)."),
    click.option("--delivery", multiple=True, callback=listed, metavar="LIST", help="How skills reach agents: files, prompt, mcp, compiled (files)."),
    click.option("--reps", type=click.IntRange(1, 1000), metavar="N", help="Replications of each task in each arm (3)."),
    click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the order of trials and of resampling (1)."),
    click.option("--margin", type=click.FloatRange(0, 1), metavar="X", help="Difference of success that still counts as none (0.10)."),
    click.option("--sandbox", metavar="NAME", help="bubblewrap, docker, podman, harbor:PROVIDER, or none (the first that works)."),
    click.option("--weaker-proof", multiple=True, callback=listed, metavar="AGENT", help="Run it although nobody sees its skill list (cursor)."),
    click.option("--timeout", type=_Positive(), metavar="SECONDS", help="Time limit of an agent (what its task allows)."),
    click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports)."),
))  # fmt: skip
"""What is tried, and how."""

spending_options = all_of((
    click.option("--max-runs", type=click.IntRange(0), metavar="N", help="At most N trials, retries included."),
    click.option("--max-budget-usd", type=click.FloatRange(0), callback=amount, metavar="X", help="Cap in US dollars, trials in flight included."),
    click.option("--max-usd-per-trial", type=_Positive(), metavar="X", help="Spend at most X US dollars on one trial (from the price)."),
    click.option("--unsafe-no-cost-cap", is_flag=True, help="Let agents ask paid models without a cap."),
    click.option("--concurrency", type=click.IntRange(1, 256), metavar="N", help="Concurrent trials (4; each server's own limit holds too)."),
    click.option("--dry-run", is_flag=True, help="Say what would be tried and what it would cost; start and write nothing."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
))  # fmt: skip
"""How much, how fast and for how much money."""


def refuse_spending_of(
    models: Iterable[AgentModel], prices: PriceTable, terms: RunTerms, what: str, anyway: bool, agents: int = 1
) -> None:
    """Raise UsageError where agents could spend without a cap, at no known price, or not even for one of `what`.

    Each of these starts so many agents.
    """
    from skill_health.bench.prices import refuse_spending

    asked = [model for model in models if not model.choice.agent.SIMULATED]
    if not anyway:
        capped = terms.max_runs is not None or terms.max_usd is not None
        refuse_spending([(model.spec, model.price) for model in asked], capped, prices)
    dear = max(asked, key=lambda model: model.reserved, default=None)
    if dear and terms.max_usd is not None and dear.reserved * agents > terms.max_usd:
        raise UsageError(
            f"--max-budget-usd {terms.max_usd:g} is less than one {what} of {dear.spec} may cost, "
            f"${dear.reserved * agents:.2f}: give more, or a lower --max-usd-per-{what}"
        )


def warn_before(terms: RunTerms, count: int, usd: float | None, what: str, sandbox: str, place: RunLocation) -> None:
    """Say what of a forecast the caps leave out, what keeps nobody apart, and what is there already."""
    from skill_health.bench.budget import beyond_caps

    print_lines(beyond_caps(count, usd, terms.max_runs, terms.max_usd, f"{what}s"))
    if sandbox == "none":
        print_lines(["warning: no sandbox: agents can read all your files and reach any network"])
    if place.stored is not None:
        print_lines([f"resuming {here(place.folder)}: {len(place.done)} results are there"])
