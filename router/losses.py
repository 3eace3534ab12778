"""Which losses of top-1 fail a comparison, and which groups of prompts are too small to show one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.router.routers._load import LOCAL
from skill_health.router.scores.metrics import PRIMARY
from skill_health.stats.multiplicity import holm
from skill_health.stats.power import smallest_p

ALL = "all"
ALPHA = 0.05
SIGNIFICANT, COMPUTED = "significant", "computed"

Model = Mapping[str, Any]


def losses(models: Sequence[Model], max_loss: float, testable: int) -> Iterator[dict[str, Any]]:
    """The losses beyond `max_loss`, one or more for a model; `how` says on what they rest.

    In a group of prompts a loss counts where its corrected p is at most 0.05; `by` is a share of the group.

    What a local router answers is computed: nothing about it is chance, and no test is needed to know what it has lost.
    Its loss counts, too, where the prompts that it lost in all groups, less those that it won, are more than
    `max_loss` of the `testable` prompts that there were to select from. One prompt less in 60 is thus within 2 %,
    and a skill that none of its four prompts finds any more is not.
    """
    for model in models:
        found = list(_significant(model, max_loss))
        yield from found or _computed(model, max_loss, testable)


def _significant(model: Model, max_loss: float) -> Iterator[dict[str, Any]]:
    for group in model["groups"]:
        found = group["metrics"][PRIMARY]["difference"]
        if found["value"] is not None and found.get("p_adjusted", 1.0) <= ALPHA and -found["value"] > max_loss:
            yield {
                "model": model["model"], "group": group["group"], "how": SIGNIFICANT, "by": -found["value"],
                "lost": group["worse"], "won": group["better"], "of": group["prompts"],
            }  # fmt: skip


def _computed(model: Model, max_loss: float, testable: int) -> Iterator[dict[str, Any]]:
    if model["kind"] != LOCAL:
        return
    lost, won = (sum(group[side] for group in model["groups"]) for side in ("worse", "better"))
    if lost - won > max_loss * testable + 1e-9:
        yield {
            "model": model["model"], "group": ALL, "how": COMPUTED, "by": round((lost - won) / testable, 9),
            "lost": lost, "won": won, "of": testable,
        }  # fmt: skip


def powerless(models: Sequence[Model]) -> list[dict[str, Any]]:
    """The groups with losses of which none can be significant, because top-1 changed on too few independent prompts.

    `p` is what the corrected p of the group would be if whatever changed, for all models and groups, had been lost.
    """
    groups = [(model["model"], group) for model in models for group in model["groups"]]
    tested = [(model, group) for model, group in groups if group["metrics"][PRIMARY]["moved"]]
    moved = [group["metrics"][PRIMARY]["moved"] for _, group in tested]
    return [
        {"model": model, "group": group["group"], "moved": n, "p": p}
        for (model, group), n, p in zip(tested, moved, holm([smallest_p(n) for n in moved]), strict=True)
        if p is not None and p > ALPHA and group["worse"]
    ]
