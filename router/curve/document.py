"""A curve in words and numbers: one table for each model."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents._record import Figure
from skill_health.documents.router_curve import CurvePoint, RouterCurve
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.numbers import NOTHING, count, quantity, share, with_n


def blocks(curve: RouterCurve) -> Iterator[Block]:
    """The whole document."""
    yield TitleBlock("Routing and the size of the library", 1)
    stages = f"{curve.retriever} leaves {curve.retrieve} skills for each prompt; " if curve.retrieve else ""
    yield Sentence(
        f"{count(curve.prompts, 'prompt')} with a right answer ({curve.null} for which no skill applies); "
        f"{count(curve.kept, 'skill')} that they are about are in every library; {stages}mode {curve.mode}, listing "
        f"{curve.listing}, template {curve.template}, index {curve.index}, seed {curve.seed}."
    )
    for model in curve.models:
        yield TitleBlock(model.model)
        yield Table(_head(curve), [_row(curve, point) for point in model.points])
        if distrusted := [f"{point.size:,}" for point in model.points if point.trusted is False]:
            yield Sentence(f"Not to be trusted: the instrument check failed at {', '.join(distrusted)} skills.", True)
    yield Sentence("Shares in per cent with 95 % intervals over prompts; tokens and dollars are medians of a call.")
    yield Items(curve.notes)


def _head(curve: RouterCurve) -> list[str]:
    stages = ["retrieved", "right, where retrieved"] if curve.retrieve else []
    return [
        "skills", "top-1", "top-1, a skill applies", *stages, "false fire", "tokens of a question (bytes / 4)",
        "tokens read", "US dollars", "in all",
    ]  # fmt: skip


def _row(curve: RouterCurve, point: CurvePoint) -> list[str]:
    stages = []
    if curve.retrieve:
        found = (point.retrieved, point.ranked)
        stages = [with_n(share(each), each) if each else NOTHING for each in found]
    spent = NOTHING if point.spent_usd is None else f"{point.spent_usd:,.4f}"
    return [
        f"{point.size:,}", with_n(share(point.top1), point.top1), with_n(share(point.top1_skill), point.top1_skill),
        *stages, with_n(share(point.false_fire), point.false_fire), _amount(point.question_tokens),
        _amount(point.input_tokens), _amount(point.cost_usd), spent,
    ]  # fmt: skip


def _amount(figure: Figure) -> str:
    return with_n(quantity(figure), figure)
