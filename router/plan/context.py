"""Does each question fit into its model? A server that cuts a listing off measures something else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from skill_health.bench.budget import dollars
from skill_health.bench.prices import PriceTable
from skill_health.core.errors import UsageError
from skill_health.discovery.hosts import FULL, NAME_ONLY, OMITTED, TRUNCATED, Host, simulate
from skill_health.router.plan.forecast import (
    BYTES_PER_TOKEN,
    UNCALIBRATED,
    EarlierCalls,
    forecast,
    load_of,
    max_output,
)
from skill_health.router.plan.plan import OpenModel, RouterPlan, question_sizes
from skill_health.router.plan.retrieval import USUAL
from skill_health.router.routers._load import PROVIDER
from skill_health.router.template import question_size

_STATES = {FULL: "whole", TRUNCATED: "cut", NAME_ONLY: "by name only", OMITTED: "not at all"}


def check_contexts(
    plan: RouterPlan, prices: PriceTable, earlier: Mapping[str, EarlierCalls], hosts: Sequence[Host] = ()
) -> list[str]:
    """One line on the models whose context is not known.

    Raises UsageError, with both sizes, where the longest question of the plan and the answer to it have more tokens
    than a model takes; it says what two stages would ask and cost instead, and what each of these hosts would list.
    Tokens are estimated as forecasts do it.
    """
    longest = max(question_sizes(plan).values(), default=0)
    unknown = []
    for model in plan.models:
        if model.choice.kind != PROVIDER:
            continue
        context = _context(model, prices)
        if context is None:
            unknown.append(model.spec)
            continue
        tokens, answer = _tokens(longest, model, earlier), max_output(model)
        if tokens + answer > context:
            ways = [*_stages(plan, model, earlier, context), *_listings(plan, hosts), "or take another model"]
            raise UsageError(
                f"{model.spec} takes {context:,} tokens, but the longest question has about {tokens:,}, and its answer "
                f"may have {answer:,}: {'; '.join(ways)}"
            )
    if not unknown:
        return []
    return [f"context not known, so nobody checked that questions fit: {', '.join(unknown)} (providers.NAME.context)"]


def _tokens(size: float, model: OpenModel, earlier: Mapping[str, EarlierCalls]) -> int:
    factor = (earlier[model.spec].factor if model.spec in earlier else UNCALIBRATED).mean
    return math.ceil(size / BYTES_PER_TOKEN * factor)


def _stages(plan: RouterPlan, model: OpenModel, earlier: Mapping[str, EarlierCalls], context: int) -> list[str]:
    """What two stages would ask and cost, with descriptions of the mean length."""
    if plan.retrieval:
        return [f"show fewer skills than --retrieve {plan.retrieval.k}"]
    listed = len(plan.catalogue.shown)
    if listed <= USUAL:
        return ["list fewer skills"]
    size = question_size(plan.template, plan.catalogue.shown, plan.choices.mode)
    empty = question_size(plan.template, (), plan.choices.mode)
    each = (size("") - empty("")) / listed
    sizes = [round(empty(prompt.text) + each * USUAL) for prompt in plan.prompts]
    tokens = _tokens(max(sizes, default=0), model, earlier)
    if tokens + max_output(model) > context:
        return ["list fewer skills"]
    load = load_of(model, sizes * model.replications, earlier.get(model.spec), model.concurrency)
    told = forecast([load], "")
    return [
        f"show each prompt only what a free router finds (--retrieve {USUAL}: about {tokens:,} tokens a question, "
        f"{dollars(told.usd_low, told.usd_high)} for {load.calls:,} calls)"
    ]


def _listings(plan: RouterPlan, hosts: Sequence[Host]) -> list[str]:
    """How each host would list what this plan lists whole."""
    if plan.choices.listing != FULL or not hosts:
        return []
    pairs = [(skill.listed_as, skill.description) for skill in plan.catalogue.shown]
    found = []
    for host in hosts:
        states = Counter(entry.state for entry in simulate(pairs, host).skills)
        told = ", ".join(f"{states[state]:,} {word}" for state, word in _STATES.items() if states[state])
        found.append(f"{host.key} lists {told}")
    return [f"show what a host does (--listing; {'; '.join(found)})"]


def _context(model: OpenModel, prices: PriceTable) -> int | None:
    choice = model.choice
    if choice.provider and choice.provider.context:
        return choice.provider.context
    protocol = choice.provider.protocol if choice.provider else choice.spec.partition(":")[0]
    return prices.context_of(protocol, choice.spec, choice.model)
