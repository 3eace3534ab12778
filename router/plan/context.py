"""Does each question fit into its model? A server that cuts a listing off measures something else."""

from __future__ import annotations

import math
from collections.abc import Mapping

from skill_health.bench.prices import PriceTable
from skill_health.core.errors import UsageError
from skill_health.router.plan.forecast import BYTES_PER_TOKEN, UNCALIBRATED, EarlierCalls, max_output
from skill_health.router.plan.plan import OpenModel, RouterPlan
from skill_health.router.routers._load import PROVIDER
from skill_health.router.template import question_size


def check_contexts(plan: RouterPlan, prices: PriceTable, earlier: Mapping[str, EarlierCalls]) -> list[str]:
    """One line on the models whose context is not known.

    Raises UsageError, with both sizes, where the longest question of the plan and the answer to it have more tokens
    than a model takes. Tokens are estimated as forecasts do it.
    """
    size = question_size(plan.template, plan.catalogue.shown, plan.choices.mode)
    longest = max((size(prompt.text) for prompt in plan.prompts), default=0)
    unknown = []
    for model in plan.models:
        if model.choice.kind != PROVIDER:
            continue
        context = _context(model, prices)
        if context is None:
            unknown.append(model.spec)
            continue
        factor = (earlier[model.spec].factor if model.spec in earlier else UNCALIBRATED).mean
        tokens, answer = math.ceil(longest / BYTES_PER_TOKEN * factor), max_output(model)
        if tokens + answer > context:
            raise UsageError(
                f"{model.spec} takes {context:,} tokens, but the longest question has about {tokens:,}, and its answer "
                f"may have {answer:,}: list fewer skills, show them as a host does (--listing), or take another model"
            )
    if not unknown:
        return []
    return [f"context not known, so nobody checked that questions fit: {', '.join(unknown)} (providers.NAME.context)"]


def _context(model: OpenModel, prices: PriceTable) -> int | None:
    choice = model.choice
    if choice.provider and choice.provider.context:
        return choice.provider.context
    protocol = choice.provider.protocol if choice.provider else choice.spec.partition(":")[0]
    return prices.context_of(protocol, choice.spec, choice.model)
