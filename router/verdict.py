"""What a comparison comes to, in sentences: the losses that fail it, what is certain, and what it cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.router.losses import ALL, ALPHA, COMPUTED
from skill_health.router.routers._load import LOCAL
from skill_health.text.blocks import Block, Sentence, TitleBlock


def verdict(found: Mapping[str, Any]) -> Iterator[Block]:
    """The losses that count, or that there are none, and how to read the rest."""
    limit = f"{found['max_loss']:.3f}"
    yield TitleBlock("Verdict")
    if found["untrusted"]:
        yield Sentence(
            f"Not to be trusted: {', '.join(found['untrusted'])} failed the instrument check in this run.", strong=True
        )
    yield from (Sentence(_loss(lost, limit), strong=True) for lost in found["lost"])
    if not found["lost"]:
        yield Sentence(f"No loss of top-1 beyond {limit} is shown. That does not show that there is none.")
    if certain := [text for model in found["models"] if (text := _certain(model))]:
        yield Sentence(f"Computed, and certain for these prompts if for no others: {'; '.join(certain)}.")
    local = {model["model"] for model in found["models"] if model["kind"] == LOCAL}
    small = [f"{_where(each)} ({each['moved']})" for each in found["powerless"] if each["model"] not in local]
    if small:
        yield Sentence(
            f"Not testable, because top-1 changed on too few independent prompts: {'; '.join(small)}. Read the flips.",
            strong=True,
        )
    if any(group["prompts"] for model in found["models"] for group in model["groups"]):
        yield Sentence(_legend(found))
    yield Sentence(str(found["note"]))


def _loss(lost: Mapping[str, Any], limit: str) -> str:
    if lost["how"] == COMPUTED:
        return (
            f"Loss: {lost['model']} has {lost['lost'] - lost['won']} prompts fewer right ({lost['lost']} lost, {lost['won']} "
            f"won), {lost['by']:.3f} of the {lost['of']} with a right answer, more than {limit}. Its answers are "
            "computed, so that this is no chance."
        )
    return (
        f"Loss: {_where(lost)} loses {lost['by']:.3f} of top-1, more than {limit} ({lost['lost']} worse and {lost['won']} better "
        f"of {lost['of']} prompts, corrected p at most {ALPHA})."
    )


def _where(each: Mapping[str, Any]) -> str:
    return str(each["model"]) if each["group"] == ALL else f"{each['model']}, {each['group']}"


def _certain(model: Mapping[str, Any]) -> str:
    """What a local router lost and won; "" for another model."""
    if model["kind"] != LOCAL:
        return ""
    lost, won = (sum(group[side] for group in model["groups"]) for side in ("worse", "better"))
    return f"{model['model']} {f'{lost} lost, {won} won' if lost or won else 'no change'}"


def _legend(found: Mapping[str, Any]) -> str:
    if all(not group["metrics"]["top1"]["moved"] for model in found["models"] for group in model["groups"]):
        return "Top-1 decides; nothing changed in it."
    return (
        "changed counts independent prompts; p is a sign-flip test's over them, corrected by Holm over models and groups. "
        "Top-1 decides. Fewer than 6 that changed give no interval."
    )
