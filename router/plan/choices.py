"""What a run asks: the command line's settings over the configuration's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from skill_health.config.settings import RouterSettings
from skill_health.router.plan.orders import Orders
from skill_health.router.records import Mode


@dataclass(frozen=True, slots=True)
class RouterChoices:
    """What a run asks, with the configuration filling in what the command line leaves open."""

    models: tuple[str, ...]
    reps: int
    seed: int
    mode: Mode
    listing: str
    template: str
    index: str
    orders: Orders


def choices(options: Mapping[str, Any], routing: RouterSettings) -> RouterChoices:
    """The settings in force: the command line's, else the configuration's."""

    def pick(name: str, configured: Any) -> Any:
        given = options.get(name)
        return configured if given is None or given == () else given

    return RouterChoices(
        models=tuple(pick("models", routing.models)),
        reps=pick("reps", routing.reps),
        seed=pick("seed", routing.seed),
        mode=cast(Mode, pick("mode", routing.mode)),
        listing=pick("listing", routing.listing),
        template=pick("template", routing.template),
        index=pick("index", routing.indexing),
        orders=cast(Orders, pick("orders", "cyclic")),
    )
