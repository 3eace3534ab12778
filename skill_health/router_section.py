"""The router's part of a drift report: the last measured accuracy of each model, as text and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from skill_health.drift_sections import DriftSection, Item
from skill_health.router_history import ModelRouting, RoutingHistory

TITLE = "Router, the last run of each model"
_NOTE = "Ranking bounds what a description can do; whether a live agent loads the skill is another question."


def routing_sections(routing: RoutingHistory | None) -> Iterator[DriftSection]:
    """One section where there is a history of the router with anything in it."""
    if routing and routing.models:
        yield DriftSection(TITLE, tuple(Item(_sentence(each), tuple(_details(each))) for each in routing.models), _NOTE)


def routing_record(routing: RoutingHistory | None) -> dict[str, Any] | None:
    """The same for other programs; None without a history."""
    if routing is None:
        return None
    models = [
        {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(each).items()}
        | {"coverage": each.coverage}
        for each in routing.models
    ]
    return {"models": models, "problems": list(routing.problems)}


def _sentence(routed: ModelRouting) -> str:
    if routed.top1 is None:
        top1 = "top-1 not known"
    elif routed.low is None or routed.high is None:
        top1 = f"top-1 {routed.top1:.3f} without an interval"
    else:
        top1 = f"top-1 {routed.top1:.3f} [{routed.low:.3f}, {routed.high:.3f}]"
    share = "" if routed.coverage is None else f" (coverage {routed.coverage:.1%})"
    scored = f"{routed.n} of {routed.planned} calls scored{share}"
    return f"{routed.model}: {top1} (n {routed.top1_n}), {scored}, {routed.time[:10]}, run {routed.run_id}"


def _details(routed: ModelRouting) -> Iterator[str]:
    if routed.simulated:
        yield "simulated: no model was asked"
    if routed.trusted is False:
        yield "not to be trusted: the instrument check failed"
    if routed.selection == "sweep":
        yield "over the prompts that a sweep selected only"
    elif routed.selection == "filter":
        yield "over a part of the prompts only"
    if routed.changed:
        yield f"descriptions changed since that run: {', '.join(routed.changed)}"
