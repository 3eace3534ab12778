"""The options that several commands share, and what they come to with the configuration below them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import click

from router.orders import ORDERS, Orders
from router.records import Mode
from skill_health.core.config import Config, Routing

Function = TypeVar("Function", bound=Callable[..., Any])


def _list(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Values that are given one by one or joined with commas, each once; a comma inside a scripted name is kept."""
    found: list[str] = []
    for part in ",".join(values).split(","):
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        elif part.strip():
            found.append(part.strip())
    return tuple(dict.fromkeys(found))


def _all(options: tuple[Callable[[Function], Function], ...]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


collection_options = _all((
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
    click.option("--prompts", "prompt_files", multiple=True, metavar="FILE", help="Labelled prompts of any known format (the registry's)."),
    click.option("--prompt-ids", multiple=True, callback=_list, metavar="IDS", help="Only these prompts."),
    click.option("--skills", multiple=True, callback=_list, metavar="NAMES", help="Only prompts labelled with these skills; all are listed."),
    click.option("--split", multiple=True, callback=_list, metavar="NAMES", help="Only prompts of these splits, such as test."),
    click.option("--skip-bad", is_flag=True, help="Go on without the records that cannot be read."),
))  # fmt: skip
"""The collection, its prompts and which of them."""

model_options = _all((
    click.option("--models", multiple=True, callback=_list, metavar="LIST", help="Routers and models, as `router models` names them."),
    click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of orders, samples and resampling (1)."),
    click.option("--mode", type=click.Choice(["text", "json_schema"]), help="Ask for JSON in words, or by a schema."),
    click.option("--listing", metavar="HOST", help="What is listed: full, or what this host would show."),
    click.option("--template", metavar="NAME", help="Prompt template: none, plan, or a file."),
    click.option("--index", type=click.Choice(["description", "body"]), help="What local routers read of a skill."),
    click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports)."),
))  # fmt: skip
"""What is asked, and how."""

run_options = _all((
    click.option("--reps", type=click.IntRange(1, 1000), metavar="N", help="Replications of each prompt (3)."),
    click.option("--orders", type=click.Choice(ORDERS), default="cyclic", help="Orders of presentation: balanced, or the plan's shuffle."),
    click.option("--max-runs", type=click.IntRange(0), metavar="N", help="At most so many calls, repeated ones included."),
    click.option("--max-budget-usd", type=click.FloatRange(0), metavar="X", help="At most so many dollars, calls under way included."),
    click.option("--unsafe-no-cost-cap", is_flag=True, help="Ask paid models without a cap."),
    click.option("--concurrency", type=click.IntRange(1, 1024), metavar="N", help="Calls under way at once (each provider's own limit holds too)."),
    click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; ask nothing."),
    click.option("--despite-check", is_flag=True, help="Go on where the instrument check fails for a paid model."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
))  # fmt: skip
"""How much, how fast and for how much money."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a run asks, with the configuration filling in what the command line leaves open."""

    models: tuple[str, ...]
    reps: int
    seed: int
    mode: Mode
    listing: str
    template: str
    index: str
    orders: Orders


def choices(options: Mapping[str, Any], routing: Routing) -> Choices:
    """The settings in force: the command line's, else the configuration's."""

    def pick(name: str, configured: Any) -> Any:
        given = options.get(name)
        return configured if given is None or given == () else given

    return Choices(
        models=tuple(pick("models", routing.models)),
        reps=pick("reps", routing.reps),
        seed=pick("seed", routing.seed),
        mode=cast(Mode, pick("mode", routing.mode)),
        listing=pick("listing", routing.listing),
        template=pick("template", routing.template),
        index=pick("index", routing.indexing),
        orders=cast(Orders, pick("orders", "cyclic")),
    )


def reports_folder(out: str | None, root: str, config: Config) -> str:
    """The absolute path of the folder that reports go to."""
    return os.path.abspath(out) if out else os.path.join(root, config.daily.reports)
